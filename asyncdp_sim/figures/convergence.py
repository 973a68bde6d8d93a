"""Curves: ψ over updates and over time (Async, figures 3 and 8), compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.units import in_unit, unit_of
from asyncdp_sim.core.words import agreed, number, numbers
from asyncdp_sim.figures import picture as pictures
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import CAPTIONS, Picture, label, row_labels
from asyncdp_sim.figures.style import BLUE, GRAY, THEORY, WIDE, looks, plain_text, time_axis
from asyncdp_sim.results import Result
from asyncdp_sim.scenario import leaves
from asyncdp_sim.scenario.paths import words

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


def by_update(lines: Sequence[CurveLine]) -> Picture:
    """Draw median and quartiles of ψ(θ_L,k) against k, one colour per line.

    Parameters
    ----------
    lines : sequence of CurveLine

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    shown = "ψ = f(θ)/f(θ*) − 1 of the central model after update k"
    return _drawn("convergence-by-update", lines, "k", "update $k$", shown)


def by_time(lines: Sequence[CurveLine]) -> Picture:
    """Draw median and quartiles of ψ against simulated time; every replicate is a step function.

    Parameters as in :func:`by_update`.

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    shown = "ψ of the central model against simulated time; each replicate is a step function"
    unit = unit_of(line.result.manifest["scenario"] for line in lines)
    return _drawn("convergence-by-time", lines, "time", time_axis(unit), f"{shown} of time")


def quartiles(result: Result, axis: str, since: float | None = None) -> Quartiles:
    """Return a grid of k or of times, and the quartiles over replicates of ψ on it.

    A replicate keeps its last value from its last update on.

    Parameters
    ----------
    result : Result
    axis : str
        "k" (every recorded k) or "time" (400 instants up to the end of the longest replicate).
    since : float, optional
        The first instant; the instants are in geometric progression then. From 0 by default.

    Returns
    -------
    array (G,), array (3, G)
    """
    replicate, at, psi = result.columns("curve", "replicate", axis, "relative_fitness")
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
) -> list[Layer]:
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
    few, marks = banded(found), list[Layer]()
    for place, ((grid, (low, middle, high)), look) in enumerate(zip(found, looks, strict=True)):
        if few:
            band = {"color": look["color"], "alpha": 0.25}
            marks.append(Layer("band", grid, None, low, high, look=band))
        shares = np.arange(place / len(found), MARKS) / MARKS
        least = grid[min(1, len(grid) - 1)]
        even = least * (grid[-1] / least) ** shares if log else grid[-1] * shares
        often = np.unique(np.searchsorted(grid, even)).tolist()
        line = {"linewidth": 1.5 if few else 1, "markersize": 4.5, "markevery": often, **look}
        marks.append(Layer("line", grid, middle, end=ends[place], look=line))
    return marks


def explained(found: Sequence[Quartiles], name: str = "median", shade: str = GRAY) -> list[Layer]:
    """Return what says in the legend what line and band are."""
    keys = [Layer("line", name=name, look={"color": shade})]
    band = {"color": shade, "alpha": 0.25}
    return keys + [Layer("band", name="25–75 %", look=band)] * (banded(found) and name != ONE)


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


def _drawn(name: str, lines: Sequence[CurveLine], axis: str, across: str, shown: str) -> Picture:
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
            marks.append(Layer("line", grid[-1:], np.array([line.published]),
                              look=DIAMOND | {"markeredgecolor": look["color"]}))  # fmt: skip
    count = numbers(float(len(line.result.replicates)) for line in lines)
    median = ONE if count == "1" else f"median of {count} replicates"
    marks += explained(curves, median, BLUE if alone else GRAY)
    if published:
        diamond = DIAMOND | {"markeredgecolor": GRAY}
        marks.append(Layer("line", name="published, last update", look=diamond))
    model = r"\theta_{L,k}" if axis == "k" else r"\theta_L"
    fitness = rf"{fitness_of(lines)} $\psi({model})$" + f"\n{BETTER}"
    end = max(grid[-1] for grid, _ in curves)
    limits = (since or 0, end if end > 0 else 1)  # of results without updates there is a point
    panel = Panel(marks, Side(across, since is not None, limits), Side(fitness, True, grid=True))
    unit = unit_of(line.result.manifest["scenario"] for line in lines)
    drawn = Declaration([panel], (6.5, 3.8), in_unit(ending(table, axis, "ψ"), unit))
    caption = f"{of} {fitness_of(lines)} {shown}"
    if since is not None:
        caption += f", on a logarithmic axis from {axis[0]} = {number(since)} on"
    caption += "; after its last update a replicate keeps its value"
    caption += "; diamonds: published end points." if published else "."
    return Picture(name, drawn, table, caption, label(results))


def ending(table: Columns, axis: str, called: str, of: str = "relative_fitness") -> str:
    """Return in a sentence where the medians of a table of quartiles end: the least, the largest.

    Parameters
    ----------
    table : Columns
    axis : str
        "k" or "time".
    called : str
        The figure in words.
    of : str
        Its column without "_median".
    """
    ends = {str(name): row for row, name in enumerate(table["line"])}  # the last row of each line
    last = {name: float(table[f"{of}_median"][row]) for name, row in ends.items()}
    best, worst = min(last, key=lambda n: last[n]), max(last, key=lambda n: last[n])
    reached = number(float(table[axis][ends[best]]))
    after = agreed(f"After {reached} {'updates' if axis == 'k' else 'units'}")
    if len(last) == 1:
        low, high = (float(table[f"{of}_{end}"][ends[best]]) for end in ("q25", "q75"))
        if low == high:
            the = "" if called == "ψ" else "the "
            return f"{after} {the}{called} is {number(last[best])}"
        spread = f"half of the runs: {number(low)} to {number(high)}"
        return f"{after} the median {called} is {number(last[best])} ({spread})"
    if last[best] == last[worst]:
        return f"{after} the median {called} is {number(last[best])} for all lines"
    text = f"The median {called} ends lowest for {best}, at {number(last[best])}"
    return f"{text}, and highest for {worst}, at {number(last[worst])}"


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


FEW = 2  # settings that are a result's name
NOTHING = 1e-300  # of a ψ: below, no ratio is taken


def draw_comparison(results: Mapping[str, Result], folder: Path) -> list[Path]:
    """Draw results over each other into a folder; return the paths of the pictures.

    Parameters
    ----------
    results : mapping of Result
        By name, two or more; ratios are to the first.
    folder : Path
        Gets a PNG file and its numbers for each picture, and ``captions.md``.

    Raises
    ------
    ResultError
        If a curve is absent or damaged, or the folder cannot be written to.
    """
    shown = [(picture, list(results.values())) for picture in comparison(results)]
    pictures.write(folder / "captions.md", pictures.captions_page(shown, []).encode())
    return [pictures.save(picture, folder) for picture, _ in shown]


def comparison(results: Mapping[str, Result]) -> list[Picture]:
    """Draw results over each other; the ratio of ψ where replicates are paired.

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    lines = named(results)
    drawn = [by_update(lines)]
    if any(line.result.summary["simulated_time"] > 0 for line in lines):
        drawn.append(by_time(lines))
    ratio = psi_ratio(lines)
    drawn += [] if ratio is None else [ratio]
    places = dict(zip([line.name for line in lines], map(plain_text, results), strict=True))
    return [_by_place(picture, places) for picture in drawn]


def named(results: Mapping[str, Result]) -> list[CurveLine]:
    """Return a line for each result, named by the settings in which all differ where these are few.

    Else by the given names.
    """
    first, *rest = (dict(leaves(result.scenario)) for result in results.values())
    fields = dict.fromkeys(path for other in rest for path in (*first, *other))
    apart = [path for path in fields if any(first.get(path) != o.get(path) for o in rest)]
    names = [
        ", ".join(words(path, settings[path]) for path in apart if path in settings)
        for settings in (first, *rest)
    ]
    if len(apart) > FEW or len(set(names)) < len(names):
        names = list(map(plain_text, results))
    return [CurveLine(result, name) for result, name in zip(results.values(), names, strict=True)]


def _by_place(picture: Picture, places: Mapping[str, str]) -> Picture:
    """Return a picture whose table has the names of directories; its caption maps them to results.

    Parameters
    ----------
    picture : Picture
    places : mapping
        From the names of lines to those of directories.
    """
    table = {**picture.table, "line": np.array([places[name] for name in picture.table["line"]])}
    which = ", ".join(f"{name} ({place})" for name, place in places.items() if name != place)
    text = f"{picture.caption} Results: {which}." if which else picture.caption
    return replace(picture, table=table, caption=text)


def psi_ratio(lines: Sequence[CurveLine]) -> Picture | None:
    """Draw ψ of results over that of the first one, within the replicates that both have.

    None where no result has updates and replicates in common with the first, of one seed.
    """
    first, *rest = lines
    ratios = [_ratio(first.result, line.result) for line in rest]
    quartiles = [ratio for ratio in ratios if ratio is not None]
    if len(quartiles) == 0:
        return None
    kept = [ratio is not None for ratio in ratios]
    drawn = list(compress(rest, kept))
    looks = list(compress(line_looks(len(lines))[1:], kept))  # as where curves lie over each other
    marks = quartile_marks(quartiles, [line.name for line in drawn], looks)
    level = {"color": THEORY, "linewidth": 0.8, "linestyle": "--"}
    equal = f"as good as {first.name}"
    marks += [Layer("level", y=1.0, name=equal, look=level), *explained(quartiles)]
    across = Side("update $k$", limits=(0, max(grid[-1] for grid, _ in quartiles)))
    named = rf"$\psi$ over that of {first.name} (below 1: better)"
    panel = Panel(marks, across, Side(named, log=True, grid=True))
    table = quartile_rows(drawn, "k", ratio=quartiles)
    title = ending(table, "k", f"ratio to ψ of {first.name}", "ratio")
    declared = Declaration([panel], (6.5, 3.4), title)
    caption = CAPTIONS["psi-ratio"].format(medians=medians(quartiles), first=first.name)
    return Picture("psi-ratio", declared, table, caption, label([line.result for line in lines]))


def _ratio(first: Result, second: Result) -> Quartiles | None:
    """Return the k that both recorded, and quartiles of the ratio at them; None if all are 0."""
    if first.manifest["seed"] != second.manifest["seed"]:
        return None
    ours, theirs = (
        result.frame("curve").set_index(["replicate", "k"])["relative_fitness"]
        for result in (first, second)
    )
    both = ours.to_frame("first").join(theirs.to_frame("second"), how="inner")
    both = both[(both["first"] > NOTHING) & (both["second"] > NOTHING)]
    both = both[np.isfinite(both).all(axis=1)]
    by_k = (both["second"] / both["first"]).groupby("k").quantile(QUARTILES).unstack()
    ks = by_k.index.to_numpy()
    return (ks, by_k.to_numpy().T) if ks.any() else None
