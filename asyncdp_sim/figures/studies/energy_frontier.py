"""The price of accuracy in joules and in time: who gets how close for how much, at the same ε."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from asyncdp_sim.core.arrays import Array, Bools, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.axes import BETTER, key, legend, looks, scale
from asyncdp_sim.figures.style import sheet
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario.paths import VARIANT

COSTS = {"joules": "energy of all owners (J)", "time": "time (units)"}
BEATEN: dict[str, Any] = {
    "color": "0.4", "marker": "o", "markersize": 6.0, "markerfacecolor": "white", "linestyle": "",
}  # fmt: skip


@dataclass(frozen=True)
class ProtocolSeries(Series):
    """A protocol's runs, from the shortest to the longest.

    Attributes
    ----------
    best : frozenset of int
        The cells, of all protocols, that no other beats.
    """

    best: frozenset[int]


def select(sweep: Sweep) -> list[ProtocolSeries] | str:
    """Return a line for each protocol, by what stands before the comma of a variant's name."""
    powered = all("joules" in cell.result.summary for cell in sweep.cells)
    if sweep.paths != (VARIANT,) or not powered:
        return "a sweep that is none of variants with [energy]"
    kept = frontier(figures(sweep.cells))
    return ProtocolSeries.grouped(
        sweep.cells,
        lambda cell: cell.label([VARIANT]).rpartition(", ")[0],
        lambda cell: cell.number,
        best=frozenset(cell.number for cell, is_it in zip(sweep.cells, kept, strict=True) if is_it),
    )


def figures(cells: Sequence[Cell]) -> Array:
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


def _rows(line: ProtocolSeries) -> Columns:
    columns = dict(zip(("joules", "time", "psi_final_median"), figures(line.cells), strict=True))
    best = np.array([number in line.best for number in line.at])
    return line.rows("line", "cell") | columns | {"frontier": best}


def panels(found: Sequence[ProtocolSeries], rows: Sequence[Columns]) -> Figure:
    """Draw ψ at the end against joules and against time; filled points are on the frontier."""
    figure = sheet(7.6, 3.7)
    drawn = looks(len(found), markersize=6.0)
    both = figure.subplots(1, 2, sharey=True)
    for axes, (cost, named) in zip(both, COSTS.items(), strict=True):
        for table, look in zip(rows, drawn, strict=True):
            axes.plot(table[cost], table["psi_final_median"], color=look["color"], linewidth=1.2)
            for face, shown in (
                (look["color"], table["frontier"]), ("white", ~table["frontier"])
            ):  # fmt: skip
                axes.plot(
                    table[cost][shown], table["psi_final_median"][shown], linestyle="", **look,
                    markerfacecolor=face,
                )  # fmt: skip
        scale(axes, "xy", xlabel=named)
    both[0].set_ylabel(f"$\\psi$ at the end, median\n{BETTER}")
    keys = [key(line.name, **look) for line, look in zip(found, drawn, strict=True)]
    legend(figure, [*keys, key("beaten in ψ, J and time", **BEATEN)], 4)
    return figure


def _caption(found: Sequence[ProtocolSeries], rows: Sequence[Columns]) -> str:
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


FIGURE = SweepFigure("energy-frontier", select, _rows, panels, _caption)
