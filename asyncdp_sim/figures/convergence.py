"""Convergence: ψ(θ_L,k) over updates and over time (Async, figures 3 and 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.units import unit_of
from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures.drawer import (
    BETTER,
    LONGEST_AT_END,
    Declaration,
    Mark,
    Panel,
    Side,
    draw,
)
from asyncdp_sim.figures.picture import Picture, label, row_labels
from asyncdp_sim.figures.scales import WIDE, time_axis
from asyncdp_sim.figures.style import BLUE, GRAY, looks
from asyncdp_sim.results import Result

INSTANTS = 400
DIVERGED = 1e200
MOST_BANDS = 7  # with more lines, bands would hide one another; with these, if most overlap
FEW_BANDS = 4
MARKS = 7  # markers along each line
FITNESS = {"POLAR": "relative sub-optimality"}
"""What a paper calls ψ, where not relative fitness, by the first word of a scenario's source."""
USUAL = "relative fitness"
QUARTILES = (0.25, 0.5, 0.75)
ONE = "one replicate"
DIAMOND: dict[str, Any] = {
    "marker": "D", "markersize": 6, "markerfacecolor": "white", "markeredgewidth": 1.4,
    "linestyle": "none", "clip_on": False, "zorder": 5,
}  # fmt: skip
Look = Mapping[str, Any]
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


def quartile_marks(
    found: Sequence[Quartiles], ends: Sequence[str], looks: Sequence[Look], *, log: bool = False
) -> list[Mark]:
    """Return each line's median, with its marker, and its band where there are few lines.

    Parameters
    ----------
    found : sequence of Quartiles
    ends : sequence of str
        Names of the lines.
    looks : sequence of mapping
        Colour and marker of each.
    log : bool
        Whether the horizontal axis is logarithmic, along which markers are even.
    """
    few, marks = banded(found), list[Mark]()
    for place, ((grid, (low, middle, high)), look) in enumerate(zip(found, looks, strict=True)):
        if few:
            band = {"color": look["color"], "alpha": 0.25}
            marks.append(Mark("band", grid, None, low, high, look=band))
        shares = np.arange(place / len(found), MARKS) / MARKS
        least = grid[min(1, len(grid) - 1)]
        even = least * (grid[-1] / least) ** shares if log else grid[-1] * shares
        often = np.unique(np.searchsorted(grid, even)).tolist()
        line = {"linewidth": 1.5 if few else 1, "markersize": 4.5, "markevery": often, **look}
        marks.append(Mark("line", grid, middle, end=ends[place], look=line))
    return marks


def explained(found: Sequence[Quartiles], name: str = "median", shade: str = GRAY) -> list[Mark]:
    """Return what says in the legend what line and band are."""
    keys = [Mark("line", name=name, look={"color": shade})]
    band = {"color": shade, "alpha": 0.25}
    return keys + [Mark("band", name="25–75 %", look=band)] * (banded(found) and name != ONE)


def banded(found: Sequence[Quartiles]) -> bool:
    """Return whether bands are drawn: of few lines, or of some whose last bands lie apart."""
    low, high = np.array([levels[[0, 2], -1] for _, levels in found]).T
    met = (low[:, None] < high) & (low < high[:, None])
    apart = 2 * (met.sum() - len(found)) <= len(found) * (len(found) - 1)
    return len(found) <= FEW_BANDS or (len(found) <= MOST_BANDS and bool(apart))


def medians(*panels: Sequence[Quartiles]) -> str:
    """Return what is drawn in some panel, as a caption begins."""
    return "Median (line) and 25–75 % band" if any(map(banded, panels)) else "Median"


def line_looks(count: int) -> list[Look]:
    """Return a colour and a marker for each line, because colour alone is not enough.

    A line alone has no marker.
    """
    return [{"color": BLUE}] if count == 1 else [*looks(count)]


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
        of = ONE[0].upper() + ONE[1:] + "'s"
    looks = line_looks(len(lines))
    marks = quartile_marks(curves, [line.name for line in lines], looks, log=since is not None)
    published = any(line.published is not None for line in lines)
    for line, (grid, _), look in zip(lines, curves, looks, strict=True):
        if line.published is not None:
            marks.append(Mark("line", grid[-1:], np.array([line.published]),
                              look=DIAMOND | {"markeredgecolor": look["color"]}))  # fmt: skip
    count = numbers(float(len(line.result.replicates)) for line in lines)
    said = ONE if count == "1" else f"median of {count} replicates"
    marks += explained(curves, said, BLUE if alone else GRAY)
    if published:
        diamond = "published end (see caption)" if why else "published, last update"
        marks.append(Mark("line", name=diamond, look=DIAMOND | {"markeredgecolor": GRAY}))
    model = r"\theta_{L,k}" if axis == "k" else r"\theta_L"
    fitness = rf"{fitness_of(lines)} $\psi({model})$" + f"\n{BETTER}"
    limits = (since or 0, max(grid[-1] for grid, _ in curves))
    panel = Panel(marks, Side(across, since is not None, limits), Side(fitness, True, grid=True))
    figure = draw(Declaration([panel], (6.5, 3.8), right=not wordy(lines)))
    caption = f"{of} {fitness_of(lines)} {shown}"
    if since is not None:
        caption += f", on a logarithmic axis from {axis[0]} = {number(since)} on"
    caption += "; after its last update a replicate keeps its value"
    caption += "; diamonds: published end points" * published
    caption += f". Published points: {why}." if why and published else "."
    return Picture(name, figure, table, caption, label(results))


def wordy(lines: Sequence[CurveLine]) -> bool:
    """Return whether names of lines are too long to stand beside their ends."""
    return max(len(line.name) for line in lines) > LONGEST_AT_END


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
