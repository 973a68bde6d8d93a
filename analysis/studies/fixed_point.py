"""Bianchi's fixed point beside a channel at work: how far off it is, over the number of owners."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, Series, SweepFigure, ends, estimates
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario import load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from asyncdp_sim.theory.prediction import Unknown

OWNERS = "owners.count"
GOAL = 1.0
"""Per cent, to which Bianchi's fixed point may be off."""
SETTLED = 0.1
"""Share of the time that is left out at the start."""
EXACT: dict[str, Any] = {
    "linestyle": "none", "marker": "D", "markersize": 9, "markerfacecolor": "none",
    "color": THEORY,
}  # fmt: skip


def rates(result: Result) -> Array:
    """Return the answers that came per time unit in each replicate, once windows have grown, (R,).

    At the start every owner's window is the first one, and more of them collide.
    """
    replicate, time = result.columns("updates", "replicate", "time")
    late = time >= SETTLED * time.max()
    counts = np.bincount(replicate[late])
    return np.asarray(counts[np.unique(replicate)] / ((1 - SETTLED) * time.max()))


def off(result: Result) -> tuple[OutcomeEstimate, float]:
    """Return by how many per cent the fixed point is off: as measured, ± 2 errors, and exactly.

    The last is NaN where the chain of all owners has too many states.
    """
    said = load(result.directory / "scenario.toml")[0]
    asked = said.owners.count, said.network.airtime or 0.0
    about = approximation(said.channel, *asked).success_rate  # type: ignore[arg-type]
    each = rates(result)
    mean, error = each.mean(), each.std(ddof=1) / np.sqrt(len(each))
    exact = predicted(said.network, "throughput")
    known = np.nan if isinstance(exact, Unknown) else exact
    high_by, spread = 100 * (about / mean - 1), 200 * about / mean**2 * error
    return OutcomeEstimate(high_by, high_by - spread, high_by + spread), 100 * (about / known - 1)


def _by_windows(sweep: Sweep) -> list[Series] | str:
    """Return a line for each sort of windows, or why there is none."""
    if set(sweep.paths) != {OWNERS, VARIANT}:
        return f"a sweep of something else than variants and {OWNERS}"
    return Series.grouped(
        sweep.cells, lambda c: str(c.values[VARIANT]), lambda c: int(c.values[OWNERS])
    )


def _errors(line: Series) -> Columns:
    found, exact = zip(*map(off, line.results), strict=True)
    return line.rows("windows", "owners") | estimates("off", found) | {"exact": np.array(exact)}


def _fixed_point(found: Sequence[Series], rows: Sequence[Columns]) -> Declaration:
    """Say by how much the fixed point is too high over N, a line for each sort of windows."""
    marks = [
        Layer("span", low=-GOAL, high=GOAL, name="within 1 %", look={"color": "0.88", "zorder": 0}),
        Layer("level", y=0, look={"color": "0.4", "linewidth": 0.9}),
    ]
    for line, table, look in zip(found, rows, looks(len(found), markersize=5), strict=True):
        name = f"{line.name}, ± 2 standard errors"
        marks.append(measured(table["owners"], ends(table, "off"), name=name, **look))
        exact = "exact, by the chain"
        marks.append(Layer("line", table["owners"], table["exact"], name=exact, look=EXACT))
    places = [owners for line in found for owners in line.at]
    across = Side("owners that always have an answer, $N$", log=True, ticks=places)
    panel = Panel(marks, across, Side("fixed point too high by (%)", grid=True))
    return Declaration([panel], (6.5, 2.8), farthest(rows))


def farthest(rows: Sequence[Columns]) -> str:
    """Return where the fixed point is farthest off, and where it is nearest."""
    off, owners = (np.concatenate([table[name] for table in rows]) for name in ("off", "owners"))
    name = np.concatenate([table["windows"] for table in rows])
    worst, best = int(np.argmax(np.abs(off))), int(np.argmin(np.abs(off)))
    return (
        f"Bianchi's fixed point is {off[worst]:.2g} % too high for {owners[worst]} owners with "
        f"{name[worst]}, and {off[best]:.2g} % for {owners[best]} with {name[best]}"
    )


FIGURE = SweepFigure(
    "fixed-point", _by_windows, _errors, _fixed_point,
    lambda *_: (
        "Error of Bianchi's fixed point: by how much it overestimates the number of answers "
        "without collision, against the number of contending owners. The error is exact where the "
        "Markov chain of all owners' counters is small enough."
    ),
)  # fmt: skip
