"""Pictures that answer a single entry's own question, beyond the common ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.collusion import FIGURE as COLLUSION
from asyncdp_sim.figures.kit.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.kit.style import looks
from asyncdp_sim.figures.psi_lines import PsiSeries, lines, series_of
from asyncdp_sim.figures.references import HOSPITAL, LENDING, Reference
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario.paths import VARIANT

EPSILON, OWNERS = "privacy.epsilon", "owners.count"


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


COSTS = {"joules": "energy of all owners (J)", "time": "time (units)"}


@dataclass(frozen=True)
class ProtocolSeries(Series):
    """A protocol's runs, from the shortest to the longest.

    Attributes
    ----------
    best : frozenset of int
        The cells, of all protocols, that no other beats.
    """

    best: frozenset[int]


def _by_protocol(sweep: Sweep) -> list[ProtocolSeries] | str:
    """Return a line for each protocol, by what stands before the comma of a variant's name."""
    powered = all("joules" in cell.result.summary for cell in sweep.cells)
    if sweep.paths != (VARIANT,) or not powered:
        return "a sweep that is none of variants with [energy]"
    kept = frontier(costs(sweep.cells))
    return ProtocolSeries.grouped(
        sweep.cells,
        lambda cell: cell.label([VARIANT]).rpartition(", ")[0],
        lambda cell: cell.number,
        best=frozenset(cell.number for cell, is_it in zip(sweep.cells, kept, strict=True) if is_it),
    )


def costs(cells: Sequence[Cell]) -> Array:
    """Return joules, time and median ψ of each cell, shape (3, J)."""
    found = [cell.result.summary for cell in cells]
    return np.array(
        [[s["joules"], s["simulated_time"], s["psi_final"]["median"]] for s in found], dtype=float
    ).T


def frontier(figures: Array) -> Bools:
    """Return which points (columns) no other beats: as good in all rows, better in one."""
    one, other = figures[:, :, None], figures[:, None, :]
    beaten = np.all(other <= one, axis=0) & np.any(other < one, axis=0)
    return np.asarray(~np.any(beaten, axis=1))


def _costs(line: ProtocolSeries) -> Columns:
    columns = dict(zip(("joules", "time", "psi_final_median"), costs(line.cells), strict=True))
    best = np.array([number in line.best for number in line.at])
    return line.rows("line", "cell") | columns | {"frontier": best}


def _energy(found: Sequence[ProtocolSeries], rows: Sequence[Columns]) -> Declaration:
    """Say ψ at the end against joules and against time; filled points are on the frontier."""
    several, beaten = [], {"markerfacecolor": "white", "linestyle": ""}
    for cost, named in COSTS.items():
        marks = []
        drawn = looks(len(found), markersize=6.0, linewidth=1.2)
        for line, table, look in zip(found, rows, drawn, strict=True):
            x, y, left = table[cost], table["psi_final_median"], ~table["frontier"]
            marks += [Layer("line", x, y, name=line.name, look=look),
                      Layer("line", x[left], y[left], look=look | beaten)]  # fmt: skip
        gray = {"color": "0.4", "marker": "o", "markersize": 6.0} | beaten
        marks.append(Layer("line", name="beaten in ψ, J and time", look=gray))
        psi = f"$\\psi$ at the end, median\n{BETTER}"
        several.append(Panel(marks, Side(named, log=True), Side(psi, log=True, grid=True)))
    return Declaration(several, (7.6, 3.5), shared="y", columns=4)


def _caption_energy(found: Sequence[ProtocolSeries], rows: Sequence[Columns]) -> str:
    longest = "; ".join(
        f"{line.name} {number(table['joules'][-1])} J, {number(table['time'][-1])} units, "
        f"ψ {number(table['psi_final_median'][-1])}"
        for line, table in zip(found, rows, strict=True)
    )
    return (
        "ψ at the end (median over replicates) against the energy of all owners (left) and against "
        "time (right), for more and more answers at the same ε. Filled markers: no other setting "
        f"is better in ψ, energy and time at once. The longest runs: {longest}."
    )


ENERGY = SweepFigure("energy-frontier", _by_protocol, _costs, _energy, _caption_energy)
STUDIES: Mapping[str, SweepFigure[Any]] = {
    "async-06": ASYNC_06,
    "async-10": ASYNC_10,
    "correlated-noise": CORRELATED_NOISE,
    "hide-the-owner": HIDE_THE_OWNER,
    "joules-against-accuracy": ENERGY,
    "owner-learner-collude": COLLUSION,
}
"""By the entry's name."""
IN_CLONE = (
    "bias-of-absence", "collab-06", "collab-11", "privacy-over-distance", "steps-against-staleness",
    "whom-to-ask", "wifi-contention",
)  # fmt: skip
"""Entries whose picture stands in ``analysis.studies``, which is not installed."""
