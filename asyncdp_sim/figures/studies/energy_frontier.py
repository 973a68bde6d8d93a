"""The price of accuracy in joules and in time: who gets how close for how much, at the same ε."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import key, legend, looks, scale
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import sheet, style
from asyncdp_sim.results import Cell, Sweep, not_a_result
from asyncdp_sim.scenario.paths import VARIANT

Array = npt.NDArray[np.float64]
COSTS = {"joules": "energy of all owners (J)", "time": "time (units)"}

BEATEN: dict[str, Any] = {
    "color": "0.4", "marker": "o", "markersize": 6.0, "markerfacecolor": "white", "linestyle": "",
}  # fmt: skip


def energy_frontier(sweep: Sweep, *, name: str = "energy-frontier") -> Picture:
    """Draw ψ at the end against joules and against time, one line per protocol.

    Filled points are on the frontier: no other has less of all three.

    Parameters
    ----------
    sweep : Sweep
        Of variants with ``[energy]``, each named by its protocol, a comma, and a length.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        If it is another one.
    """
    groups = _groups(sweep)
    found = {group: _figures(cells) for group, cells in groups.items()}
    best = frontier(np.concatenate(list(found.values()), axis=1))
    drawn = looks(len(groups), markersize=6.0)
    rows: dict[str, list[Any]] = {each: [] for each in ("panel", "line", "x", "y", "frontier")}
    with style():
        figure = sheet(7.6, 3.7)
        both = dict(zip(COSTS, figure.subplots(1, 2, sharey=True), strict=True))
        first = 0
        for (group, numbers), look in zip(found.items(), drawn, strict=True):
            on = best[first : first + numbers.shape[1]]
            first += numbers.shape[1]
            for cost, axes, x in zip(both, both.values(), numbers[:2], strict=True):
                _line(axes, x, numbers[2], on, look)
                _row(rows, cost, group, x, numbers[2], on)
        for cost, axes in both.items():
            scale(axes, "xy", xlabel=COSTS[cost])
        both["joules"].set_ylabel("relative fitness $\\psi$ at the end")
        keys = [key(group, **look) for group, look in zip(found, drawn, strict=True)]
        legend(figure, [*keys, key("beaten in ψ, J and time", **BEATEN)], 4)
    table = {column: np.array(values) for column, values in rows.items()}
    said = label([cell.result for cell in sweep.cells])
    return Picture(name, figure, table, _caption(found, best), said)


def frontier(figures: Array) -> npt.NDArray[np.bool_]:
    """Return which points (columns) no other beats: as good in all rows, better in one."""
    one, other = figures[:, :, None], figures[:, None, :]
    beaten = np.all(other <= one, axis=0) & np.any(other < one, axis=0)
    return np.asarray(~np.any(beaten, axis=1))


def _groups(sweep: Sweep) -> dict[str, list[Cell]]:
    """Return the cells of each protocol, by what stands before the comma of their names."""
    powered = all("joules" in cell.result.summary for cell in sweep.cells)
    if sweep.paths != (VARIANT,) or not powered:
        raise not_a_result(sweep.directory, "a sweep of variants with [energy]")
    groups: dict[str, list[Cell]] = {}
    for cell in sweep.cells:
        groups.setdefault(cell.label([VARIANT]).rpartition(", ")[0], []).append(cell)
    return groups


def _figures(cells: Sequence[Cell]) -> Array:
    """Return joules, time and median ψ of each cell, shape (3, J)."""
    found = [cell.result.summary for cell in cells]
    return np.array(
        [[s["joules"], s["simulated_time"], s["psi_final"]["median"]] for s in found], dtype=float
    ).T


def _line(axes: Axes, x: Array, psi: Array, on: npt.NDArray[np.bool_], look: Any) -> None:
    axes.plot(x, psi, color=look["color"], linewidth=1.2)
    for filled in (True, False):
        face = look["color"] if filled else "white"
        some = on if filled else ~on
        axes.plot(x[some], psi[some], linestyle="", **look, markerfacecolor=face)


def _row(rows: dict[str, list[Any]], panel: str, line: str, *columns: Any) -> None:
    rows["panel"] += [panel] * len(columns[0])
    rows["line"] += [line] * len(columns[0])
    for name, values in zip(("x", "y", "frontier"), columns, strict=True):
        rows[name] += np.asarray(values).tolist()


def _caption(found: dict[str, Array], best: npt.NDArray[np.bool_]) -> str:
    said = "; ".join(
        f"{group} {number(figures[0, -1])} J, {number(figures[1, -1])} units, "
        f"ψ {number(figures[2, -1])}"
        for group, figures in found.items()
    )
    return (
        "ψ at the end (median over replicates) against what it took, for budgets of more and more "
        "answers at the same ε: left in joules of all owners, right in time. Filled: nothing else "
        f"is better in ψ, joules and time at once ({int(best.sum())} of {len(best)}). "
        f"The longest runs: {said}."
    )


__all__ = ["energy_frontier", "frontier"]
