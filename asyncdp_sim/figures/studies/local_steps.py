"""The price and the worth of local steps: ψ over time, and over exchanges, at the same ε."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import draw_line, key, legend_above, log_axis, looks, scale
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import sheet, style
from asyncdp_sim.figures.runs.convergence import quartiles
from asyncdp_sim.results import Cell, Sweep, not_a_result
from asyncdp_sim.scenario.paths import VARIANT

Array = npt.NDArray[np.float64]
ALIKE = "data.split.dirichlet"


def local_steps(sweep: Sweep, *, name: str = "local-steps") -> Picture:
    """Draw ψ against time where owners are least alike, and at the end against exchanges.

    Parameters
    ----------
    sweep : Sweep
        Of variants that divide the same number of gradients into other numbers of exchanges, and
        of how alike owners are.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        If it is another one.
    """
    groups = _groups(sweep)
    rows: dict[str, list[Any]] = {each: [] for each in ("panel", "line", "x", "low", "y", "high")}
    with style():
        figure = sheet(7.6, 3.8)
        learned, ended = figure.subplots(1, 2)
        _over_time(learned, rows, groups[min(groups)])
        _at_the_end(ended, rows, groups)
        for axes in (learned, ended):
            axes.grid(axis="y")
    table = {column: np.array(values) for column, values in rows.items()}
    said = label([cell.result for cell in sweep.cells])
    return Picture(name, figure, table, _caption(groups), said)


def _groups(sweep: Sweep) -> dict[float, list[Cell]]:
    """Return the cells of each α, which all take the same number of gradients."""
    if set(sweep.paths) != {ALIKE, VARIANT}:
        raise not_a_result(sweep.directory, f"a sweep of variants and of {ALIKE}")
    groups: dict[float, list[Cell]] = {}
    for cell in sweep.cells:
        groups.setdefault(float(cell.values[ALIKE]), []).append(cell)
    if len({_local(cell) * _exchanges(cell) for cell in sweep.cells}) > 1:
        raise not_a_result(sweep.directory, "variants that all take as many gradients")
    return groups


def _local(cell: Cell) -> int:
    return int(cell.result.scenario["algorithm"].get("local_steps", 1))


def _exchanges(cell: Cell) -> int:
    return int(cell.result.scenario["run"]["updates"])


def _over_time(axes: Axes, rows: dict[str, list[Any]], cells: Sequence[Cell]) -> None:
    drawn = looks(len(cells), markersize=4.0)
    for cell, look in zip(cells, drawn, strict=True):
        time, psi = quartiles(cell.result, "time", 0.5)
        bare = {each: value for each, value in look.items() if each != "marker"}
        axes.plot(time, psi[1], **bare)
        axes.plot(time[-1:], psi[1, -1:], **look)
        _row(rows, "time", cell.label([VARIANT]), time, *psi)
    log_axis(axes, "x")
    scale(axes, ylabel="relative fitness $\\psi$")
    axes.set_xlabel("time (units)")
    keys = [key(cell.label([VARIANT]), **look) for cell, look in zip(cells, drawn, strict=True)]
    legend_above(axes, keys, 3)


def _at_the_end(axes: Axes, rows: dict[str, list[Any]], groups: dict[float, list[Cell]]) -> None:
    drawn = looks(len(groups), markersize=5.0)
    for (alike, cells), look in zip(groups.items(), drawn, strict=True):
        count = np.array([_exchanges(cell) for cell in cells], dtype=float)
        low, middle, high = _ends(cells)
        draw_line(axes, count, np.stack([middle, low, high]), **look)
        _row(rows, "end", _alike(alike), count, low, middle, high)
    log_axis(axes, "x")
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("$\\psi$ at the end")
    axes.set_xlabel("exchanges with each owner, $T$")
    legend_above(axes, [key(_alike(a), **look) for a, look in zip(groups, drawn, strict=True)], 2)


def _alike(alpha: float) -> str:
    return f"alike (α = {alpha:g})" if alpha >= 1e3 else f"unlike (α = {alpha:g})"


def _ends(cells: Sequence[Cell]) -> Array:
    """Return the quartiles of ψ at the end, shape (3, J)."""
    return np.array([quartiles(cell.result, "k")[1][:, -1] for cell in cells]).T


def _row(rows: dict[str, list[Any]], panel: str, line: str, *columns: Any) -> None:
    rows["panel"] += [panel] * len(columns[0])
    rows["line"] += [line] * len(columns[0])
    for name, values in zip(("x", "low", "y", "high"), columns, strict=True):
        rows[name] += np.asarray(values, dtype=float).tolist()


def _caption(groups: dict[float, list[Cell]]) -> str:
    cells = groups[min(groups)]
    total, ends = _local(cells[0]) * _exchanges(cells[0]), _ends(cells)[1].tolist()
    said = "; ".join(
        f"{cell.label([VARIANT])}: {number(end)}" for cell, end in zip(cells, ends, strict=True)
    )
    return (
        f"{total} noisy gradients of each owner, E in each exchange, with the same noise at the "
        f"same ε. Left: median ψ over time, owners least alike (α = {min(groups):g}). Right: ψ at "
        "the end against the number of exchanges, median and 25–75 % over replicates. At the end, "
        f"least alike: {said}."
    )


__all__ = ["local_steps"]
