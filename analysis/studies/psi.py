"""Mean ψ over ε or the number of owners, as single entries ask for it."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from analysis.studies.psi_lines import LENDING, PsiSeries, Reference, lines, series_of
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario.paths import VARIANT

EPSILON, OWNERS = "privacy.epsilon", "owners.count"


def hospital_law(epsilon: float) -> float:
    """Return 0.9/ε + 0.6/ε², as figure 10 of Async draws it; n, N and f(θ*) are in both numbers."""
    return 0.9 / epsilon + 0.6 / epsilon**2


HOSPITAL = Reference(
    "0.9/ε + 0.6/ε², as published", "law",
    lambda cell: hospital_law(float(cell.values[EPSILON])),
)  # fmt: skip


def markers(
    sweep: Sweep,
    x: str,
    by: str | None = None,
    *,
    chosen: Sequence[float] | None = None,
    references: Sequence[Reference] = (),
    name: str = "markers",
) -> Picture:
    """Draw mean ψ of a sweep against x; parameters as in ``series_of``, whose errors it raises."""
    found = partial(series_of, x=x, by=by, chosen=chosen, references=references)
    return lines(name, found).picture(sweep)


def alone(cell: Cell) -> float:
    """Return ψ of the median owner's own model, without noise."""
    return float(np.median(cell.result.of_owners("psi_alone")))


def by_noise(sweep: Sweep) -> list[PsiSeries]:
    """Return a series for each noise: variants begin with its name, and end with the owners'."""
    return PsiSeries.grouped(
        sweep.cells,
        lambda cell: str(cell.values[VARIANT]).partition(",")[0],
        lambda cell: float(cell.result.scenario["owners"]["count"]),
        path=OWNERS,
    )


OWN = Reference("own model of the median owner, without noise", "psi_alone", alone)
ASYNC_06 = lines(
    "by-budget", partial(series_of, x=EPSILON, by="owners.records", references=(LENDING,))
)
ASYNC_10 = lines("mean-by-budget", partial(series_of, x=EPSILON, references=(HOSPITAL,)))
CORRELATED_NOISE = lines("correlated-noise", by_noise)
HIDE_THE_OWNER = lines(
    "hide-the-owner", partial(series_of, x=OWNERS, by=VARIANT, references=(OWN,))
)
STUDIES = {
    "async-06": ASYNC_06,
    "async-10": ASYNC_10,
    "correlated-noise": CORRELATED_NOISE,
    "hide-the-owner": HIDE_THE_OWNER,
}
