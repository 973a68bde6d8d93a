"""Damage by owners that lie: ψ at the end against how many of them there are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from asyncdp_sim.figures.kit.numbers import number, wrapped
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Cell, Sweep, not_a_result
from asyncdp_sim.figures.kit.style import (
    MARKERS,
    THEORY,
    colours,
    plain_numbers,
    small_panels,
    style,
)

Array = npt.NDArray[np.float64]
Row = tuple[str, float, int, float, float, float]
OWNERS, FACTOR = "adversary.owners", "adversary.factor"
MOST_SERIES = 8
MOST_PANELS = 4
WIDTH = 44  # letters of a name in the legend
ASIDE = 0.05  # by how much each line stands beside the one before, so that equal ones are seen


@dataclass(frozen=True)
class Varied:
    """The panels of this picture, and the path that sets its lines apart.

    Attributes
    ----------
    factors : tuple of float
        One panel each; empty where the lies' factor is not swept.
    other : str, optional
        What sets the lines apart.
    """

    factors: tuple[float, ...]
    other: str | None


def varied(sweep: Sweep) -> Varied | str:
    """Return what is drawn against the number of liars, or in words why nothing is."""
    values = {p: list(dict.fromkeys(c.values[p] for c in sweep.cells)) for p in sweep.paths}
    values = {path: some for path, some in values.items() if len(some) > 1}
    if len({liars(cell) for cell in sweep.cells if OWNERS in cell.values}) < 2:
        return f"{OWNERS} is not swept over two numbers of owners or more"
    factors = values.pop(FACTOR, [])
    others = [path for path in values if path != OWNERS]
    if len(others) > 1 or len(factors) > MOST_PANELS:
        return f"too much is swept besides {OWNERS}: {', '.join([*others, FACTOR])}"
    if others and len(values[others[0]]) > MOST_SERIES:
        return f"{others[0]} has {len(values[others[0]])} values, more than {MOST_SERIES} lines"
    return Varied(tuple(sorted(map(float, factors))), others[0] if others else None)


def liars(cell: Cell) -> int:
    """Return how many owners lie in a cell; the list stands as JSON text there."""
    given = cell.values[OWNERS]
    return len(json.loads(given) if isinstance(given, str) else given)


def by_liars(sweep: Sweep) -> Picture:
    """Draw the median of ψ after the last update against the number of owners that lie.

    Raises
    ------
    ResultError
        If the sweep has no such number, or a cell's curve is absent or damaged.
    """
    axis = varied(sweep)
    if isinstance(axis, str):
        raise not_a_result(sweep.directory, axis)
    names = list(dict.fromkeys(_name(cell, axis) for cell in sweep.cells))
    shades = colours(len(names))
    each: Sequence[float | None] = axis.factors or (None,)
    with style():
        shown = [wrapped(name, WIDTH) for name in names]
        room = 0.16 * sum(name.count("\n") + 1 for name in shown) / 2 if len(names) > 1 else 0.0
        figure, panels = small_panels(len(each), room + 0.9)
        rows: list[Row] = []
        for axes, factor in zip(panels, each, strict=True):
            cells = [c for c in sweep.cells if factor is None or c.values[FACTOR] == factor]
            for place, (name, shade) in enumerate(zip(names, shades, strict=True)):
                line = sorted((c for c in cells if _name(c, axis) == name), key=liars)
                marker, aside = (MARKERS * 2)[place], ASIDE * (place - (len(names) - 1) / 2)
                rows += _draw(axes, name, factor, line, shade, marker, aside)
            _finish(axes, cells, factor)
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(min(other.get_ylim()[0] for other in panels), top)
        panels[0].set_ylabel("$\\psi$ at the end (median)")
        keys = [_key(*look) for look in zip(shown, shades, MARKERS * 2, strict=False)]
        if len(names) > 1:
            figure.legend(handles=[*keys, _turn_key()], loc="outside upper left", ncols=2)
    return Picture(
        "liars", figure, _table(rows), _CAPTION, label([cell.result for cell in sweep.cells])
    )


_CAPTION = (
    "Median of the relative fitness ψ of the last model against the number of owners that lie, "
    "with 95 % intervals (of fewer than six replicates their whole range); ψ and θ* are of all "
    "owners' records, those of liars too. Dashed: where lies outweigh honest answers, for alike "
    "owners, if every answer is taken. Lines stand a little beside one another."
)


def _draw(
    axes: Axes,
    name: str,
    factor: float | None,
    line: Sequence[Cell],
    shade: str,
    marker: str,
    aside: float,
) -> list[Row]:
    """Draw one line and return its rows; what is not finite is left out."""
    count = [liars(cell) for cell in line]
    psi = [psi_at_end(cell.result) for cell in line]
    value, low, high = np.where(np.isfinite(psi), psi, np.nan).T
    errors = np.nan_to_num(np.abs([value - low, high - value]))
    axes.errorbar(
        np.array(count) + aside, value, yerr=errors, fmt=marker, linestyle="-", color=shade,
        markersize=4, linewidth=1.1, elinewidth=1.2, capsize=2,
    )  # fmt: skip
    said = np.nan if factor is None else factor
    return [(name, said, m, *found) for m, found in zip(count, psi, strict=True)]


def _finish(axes: Axes, cells: Sequence[Cell], factor: float | None) -> None:
    """Scale and name the axes, and mark where lies outweigh honest answers."""
    adversary: Mapping[str, object] = cells[0].result.scenario["adversary"]
    axes.set_yscale("log")
    plain_numbers(axes)
    most = max(liars(cell) for cell in cells)
    turn = cells[0].result.n_owners / (1 + float(str(adversary["factor"])))
    if adversary["kind"] == "flip" and turn <= most:
        axes.axvline(turn, color=THEORY, linestyle="--", linewidth=0.9, zorder=0)
    axes.set_xticks(sorted({liars(cell) for cell in cells}))
    axes.set_xlabel("owners that lie" if factor is None else _said(adversary))
    axes.grid(axis="y")


def _said(adversary: Mapping[str, object]) -> str:
    sign = "−" if adversary["kind"] == "flip" else ""
    return f"owners that send {sign}{number(float(str(adversary['factor'])))} × the answer"


def _name(cell: Cell, axis: Varied) -> str:
    return "" if axis.other is None else cell.label([axis.other])


def _key(name: str, shade: str, marker: str) -> Line2D:
    return Line2D([], [], color=shade, marker=marker, markersize=4, linewidth=1.1, label=name)


def _turn_key() -> Line2D:
    name = "lies outweigh answers"
    return Line2D([], [], color=THEORY, linestyle="--", linewidth=0.9, label=name)


def _table(rows: Sequence[Row]) -> dict[str, Array]:
    names = (
        "series",
        "factor",
        "liars",
        "psi_final_median",
        "psi_final_median_low",
        "psi_final_median_high",
    )
    return {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
