"""Convergence: ψ(θ_L,k) over updates and over time (Async, figures 3 and 8)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.units import unit_of
from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures.axes import (
    BETTER,
    LONGEST_AT_END,
    columns,
    end_labels,
    key,
    legend,
    log_axis,
    scale,
    wrapped,
)
from asyncdp_sim.figures.picture import Picture, label, row_labels
from asyncdp_sim.figures.style import (
    BLUE,
    MARKERS,
    canvas,
    colours,
    plain_numbers,
    style,
    time_axis,
)
from asyncdp_sim.results import Result

INSTANTS = 400
DIVERGED = 1e200
WIDE = 20.0  # lines whose ends differ by more than this ratio are on a logarithmic axis
MOST_BANDS = 7  # with more lines, bands would hide one another; with these, if most overlap
FEW_BANDS = 4
MARKS = 7  # markers along each line
FITNESS = {"POLAR": "relative sub-optimality"}
"""What a paper calls ψ, where not relative fitness, by the first word of a scenario's source."""
USUAL = "relative fitness"
QUARTILES = (0.25, 0.5, 0.75)
Quartiles = tuple[Array, Array]
"""A grid, and quartiles of a figure on it, shape (G,) and (3, G)."""


@dataclass(frozen=True)
class CurveLine:
    """One line of the figure.

    Attributes
    ----------
    result : Result
    name : str
        What sets it apart, such as ``ε = 0.1``; empty where it stands alone.
    published : float, optional
        ψ that a paper reports after the last update, drawn as a marker.
    """

    result: Result
    name: str = ""
    published: float | None = None


def by_update(lines: Sequence[CurveLine], *, why: str = "") -> Picture:
    """Draw median and quartiles of ψ(θ_L,k) against k, one colour per line.

    Parameters
    ----------
    lines : sequence of CurveLine
    why : str
        Why published points lie elsewhere than the lines, in a few words.

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    shown = "ψ = f(θ)/f(θ*) − 1 of the central model after update k"
    return _drawn("convergence-by-update", lines, "k", "update $k$", shown, why)


def by_time(lines: Sequence[CurveLine], *, why: str = "") -> Picture:
    """Draw median and quartiles of ψ against simulated time; every replicate is a step function.

    Parameters as in :func:`by_update`.

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    shown = (
        "ψ of the central model against simulated time; each replicate is a step function of time"
    )
    unit = unit_of(line.result.manifest["scenario"] for line in lines)
    return _drawn("convergence-by-time", lines, "time", time_axis(unit), shown, why)


def quartiles(
    result: Result, axis: str, since: float | None = None, *, of: str = "relative_fitness"
) -> Quartiles:
    """Return a grid of k or of times, and the quartiles over replicates of ψ on it.

    A replicate keeps its last value from its last update on.

    Parameters
    ----------
    result : Result
    axis : str
        "k" (every recorded k) or "time" (400 instants up to the end of the longest replicate).
    since : float, optional
        The first instant; the instants are in geometric progression then. From 0 by default.
    of : str
        Another column of the curve than ψ.

    Returns
    -------
    array (G,), array (3, G)
    """
    replicate, at, psi = result.columns("curve", "replicate", axis, of)
    if axis == "k":
        grid = np.unique(at)
    elif since is None:
        grid = np.linspace(0.0, at.max(), INSTANTS)
    else:
        grid = np.geomspace(since, at.max(), INSTANTS)
        grid[-1] = at.max()  # whatever rounding made of it
    starts = np.flatnonzero(np.diff(replicate, prepend=-1) != 0)
    steps = zip(np.split(at, starts[1:]), np.split(psi, starts[1:]), strict=True)
    values = np.stack([stepped(when, levels, grid) for when, levels in steps])
    # Quantiles interpolate, so an infinity would spoil a finite neighbour: count as very large.
    bounded = np.where(np.isnan(values), DIVERGED, np.minimum(values, DIVERGED))
    quantiles = np.quantile(bounded, QUARTILES, axis=0)
    return grid, np.where(quantiles > DIVERGED / 1e6, np.inf, quantiles)


def stepped(at: npt.NDArray[Any], values: Array, grid: npt.NDArray[Any]) -> Array:
    """Return a right-continuous step function (jumps at ascending ``at``) on a grid ≥ at[0]."""
    return np.asarray(values[np.searchsorted(at, grid, side="right") - 1])


def draw_quartiles(
    axes: Axes,
    found: Sequence[Quartiles],
    shades: Sequence[str],
    marks: Sequence[str | None] | None = None,
) -> None:
    """Draw each line's median, with its marker, and its band where there are few lines."""
    few = banded(found)
    signs = line_marks(len(found)) if marks is None else marks
    log = axes.get_xscale() == "log"
    for place, ((grid, (low, middle, high)), shade) in enumerate(zip(found, shades, strict=True)):
        if few:
            axes.fill_between(grid, low, high, color=shade, alpha=0.25, linewidth=0)
        shares = np.arange(place / len(found), MARKS) / MARKS
        least = grid[min(1, len(grid) - 1)]
        even = least * (grid[-1] / least) ** shares if log else grid[-1] * shares
        often = np.unique(np.searchsorted(grid, even)).tolist()
        look: dict[str, Any] = {"marker": signs[place], "markersize": 4.5, "markevery": often}
        axes.plot(grid, middle, color=shade, linewidth=1.5 if few else 1, **look)


def banded(found: Sequence[Quartiles]) -> bool:
    """Return whether bands are drawn: of few lines, or of some whose last bands lie apart."""
    low, high = np.array([levels[[0, 2], -1] for _, levels in found]).T
    met = (low[:, None] < high) & (low < high[:, None])
    apart = 2 * (met.sum() - len(found)) <= len(found) * (len(found) - 1)
    return len(found) <= FEW_BANDS or (len(found) <= MOST_BANDS and bool(apart))


def medians(*panels: Sequence[Quartiles]) -> str:
    """Return what is drawn in some panel, as a caption begins."""
    return "Median (line) and 25–75 % band" if any(map(banded, panels)) else "Median"


def line_marks(count: int) -> list[str | None]:
    """Return a marker for each line, because colour alone is not enough; none for one line."""
    if count == 1:
        return [None]
    return [MARKERS[place % len(MARKERS)] for place in range(count)]


def quartile_rows(lines: Sequence[CurveLine], axis: str, **found: Sequence[Quartiles]) -> Columns:
    """Return the names of lines, the grid of each, and quartiles of figures by name, as columns."""
    grids = [grid for grid, _ in next(iter(found.values()))]
    names = np.repeat([line.name for line in lines], list(map(len, grids)))
    table: Columns = {"line": names, axis: np.concatenate(grids)}
    for name, curves in found.items():
        values = np.concatenate([levels for _, levels in curves], axis=1)
        table |= dict(zip((f"{name}_q25", f"{name}_median", f"{name}_q75"), values, strict=True))
    return table | row_labels([[line.result] for line in lines], list(map(len, grids)))


def _drawn(
    name: str, lines: Sequence[CurveLine], axis: str, across: str, shown: str, why: str
) -> Picture:
    alone = len(lines) == 1 and lines[0].name == ""
    since = _first_shown(lines, axis)
    every = [quartiles(line.result, axis, since) for line in lines]
    table = quartile_rows(lines, axis, relative_fitness=every)
    results = [line.result for line in lines]
    lines, curves = _distinct(lines, every)
    of = f"{medians(curves)} of the"
    if all(len(line.result.replicates) <= 1 for line in lines):
        of = "One replicate's"
    caption = f"{of} {fitness_of(lines)} {shown}"
    shades = colours(len(lines))
    with style():
        wordy = max(len(line.name) for line in lines) > LONGEST_AT_END
        names = [wrapped(line.name) for line in lines]
        rows = sum(name.count("\n") + 1 for name in names) // columns(names) if wordy else 0
        figure, axes = canvas(height=3.8 + 0.2 * rows)
        log_axis(axes, "y" if since is None else "xy")
        draw_quartiles(axes, curves, shades)
        ends = [(grid[-1], values[1, -1]) for grid, values in curves]
        for line, (end, _), shade in zip(lines, ends, shades, strict=True):
            if line.published is not None:
                axes.plot(end, line.published, clip_on=False, zorder=5, **_diamond(shade))
        published = any(line.published is not None for line in lines)
        if since is not None:
            caption += f", on a logarithmic axis from {axis[0]} = {number(since)} on"
        axes.set_xlim(since or 0, max(end for end, _ in ends))
        if since is not None:
            plain_numbers(axes, "x")
        model = r"\theta_{L,k}" if axis == "k" else r"\theta_L"
        scale(axes, xlabel=across, ylabel=rf"{fitness_of(lines)} $\psi({model})$" + f"\n{BETTER}")
        if not alone and not wordy:
            names, heights = [line.name for line in lines], [psi for _, psi in ends]
            end_labels(axes, heights, names, shades, line_marks(len(lines)))
        diamond = "published end (see caption)" if why else "published, last update"
        _explain(figure, lines, shades if wordy else (), diamond, bands=banded(curves))
    caption += "; after its last update a replicate keeps its value"
    caption += "; diamonds: published end points" * published
    caption += f". Published points: {why}." if why and published else "."
    return Picture(name, figure, table, caption, label(results))


def _distinct(
    lines: Sequence[CurveLine], found: Sequence[Quartiles]
) -> tuple[list[CurveLine], list[Quartiles]]:
    """Return the lines that differ, with their quartiles; what hides another has both names."""
    kept: dict[object, tuple[CurveLine, Quartiles]] = {}
    for line, (grid, values) in zip(lines, found, strict=True):
        identity = grid.tobytes(), values.tobytes(), line.published
        hidden = f"{kept[identity][0].name}; the same: " if identity in kept else ""
        kept[identity] = replace(line, name=f"{hidden}{line.name}"), (grid, values)
    return [line for line, _ in kept.values()], [drawn for _, drawn in kept.values()]


def fitness_of(lines: Sequence[CurveLine]) -> str:
    """Return what ψ is called where these lines come from."""
    origins = {str(line.result.scenario.get("source", "")).partition(",")[0] for line in lines}
    return FITNESS.get(origins.pop(), USUAL) if len(origins) == 1 else USUAL


def _first_shown(lines: Sequence[CurveLine], axis: str) -> float | None:
    """Return where a logarithmic axis of k or of time begins; None where the axis is linear.

    That is the earliest recorded update, but at most three decades before the earliest end.
    """
    ends, earliest = [], []
    for line in lines:
        (at,) = line.result.columns("curve", axis)
        ends.append(float(at.max()))
        earliest += [float(at[at > 0].min())] if ends[-1] > 0 else []
    if min(ends) <= 0 or max(ends) <= WIDE * min(ends):
        return None
    return max(min(earliest), min(ends) / 1e3)


def _explain(
    figure: Figure,
    lines: Sequence[CurveLine],
    named: Sequence[str],
    published: str,
    *,
    bands: bool,
) -> None:
    """Say above the axes what line, band and marker are, and what the colours ``named`` mean.

    Other colours are named where their lines end.
    """
    count = numbers(float(len(line.result.replicates)) for line in lines)
    alone = len(lines) == 1 and lines[0].name == ""
    shade = BLUE if alone else "#666666"
    name = "one replicate" if count == "1" else f"median of {count} replicates"
    marks: list[Artist] = [key(name, color=shade)]
    if count != "1" and bands:
        marks.append(Patch(color=shade, alpha=0.25, linewidth=0, label="25–75 %"))
    if any(line.published is not None for line in lines):
        marks.append(key(published, **_diamond(shade)))
    if len(named) == 0:
        legend(figure, marks, 3, right=True)
        return
    keys, across = line_keys(lines, named)
    legend(figure, [*keys, *marks], across)


def line_keys(lines: Sequence[CurveLine], shades: Sequence[str]) -> tuple[list[Artist], int]:
    """Return keys of lines for a legend, and in how many columns their names fit."""
    names = [wrapped(line.name) for line in lines]
    keys: list[Artist] = [
        key(name, color=shade, marker=sign, markersize=4.5)
        for shade, name, sign in zip(shades, names, line_marks(len(lines)), strict=True)
    ]
    return keys, columns(names)


def _diamond(shade: str) -> dict[str, Any]:
    return {
        "marker": "D", "markersize": 6, "markerfacecolor": "white", "markeredgecolor": shade,
        "markeredgewidth": 1.4, "linestyle": "none",
    }  # fmt: skip
