"""Overview of a sweep: time, throughput, fairness, losses and ψ against the swept number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.axes import (
    LONGEST_AT_END,
    columns,
    draw_line,
    end_labels,
    key,
    legend,
    log_axis,
    looks,
    scale,
    wrapped,
)
from asyncdp_sim.figures.outcomes import FIGURES
from asyncdp_sim.figures.style import small_panels
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure, ends
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.labels import axis

PSI = "psi_final_median"
LEAST = 3  # values of the swept number
MOST_SERIES = 8
FEW_SERIES = 5  # of more numbers than that: so many, evenly spread, have a line
WIDE = 20.0  # values that span more than this ratio are on a logarithmic axis
SHARED = {"color": "#444444", "marker": "."}  # of a line that stands for all series


@dataclass(frozen=True)
class CellsOfLine(Series):
    """The cells that share a line, in ascending order of the swept number at ``path``.

    Attributes
    ----------
    path : str
    of : str
        Of how many lines this is one, in words, where some are left out.
    """

    path: str
    of: str


def select(sweep: Sweep) -> list[CellsOfLine] | str:
    """Return the lines against the swept number, or in words why there is none.

    It is the one with the most values.
    """
    values = sweep.varying
    if len(values) > 2:
        return f"{len(values)} paths are swept, and one or two can be shown"
    able = [
        path
        for path, swept in values.items()
        if path != "run.seed" and len(swept) >= LEAST and all(map(is_number, swept))
    ]
    if len(able) == 0:
        return f"no number is swept over {LEAST} values or more"
    path = max(able, key=lambda each: len(values[each]))
    rest = [other for other in values if other != path]
    cells, of = sweep.cells, ""
    for other in rest:
        ordered = values[other]
        if len(ordered) <= MOST_SERIES:
            continue
        if not all(map(is_number, ordered)):
            return f"{other} has {len(ordered)} values, more than {MOST_SERIES} lines"
        step, ordered = (len(ordered) - 1) / (FEW_SERIES - 1), sorted(ordered)
        shown = {ordered[round(step * n)] for n in range(FEW_SERIES)}
        cells = tuple(cell for cell in cells if cell.values[other] in shown)
        of = f"{len(shown)} of {len(ordered)} values of {other}"
    return CellsOfLine.grouped(
        cells, lambda c: c.label(rest), lambda c: float(c.values[path]), path=path, of=of
    )


def panels(found: Sequence[CellsOfLine], rows: Sequence[Columns]) -> Figure:
    """Draw small panels of what matters most against the swept number, with 95 % intervals."""
    path, shown = found[0].path, _shown(rows)
    lines = looks(len(found), markersize=4, linewidth=1.1)
    names = [wrapped(series.name) for series in found]
    at_ends = len(found) > 1 and len(shown) == 1 and max(map(len, names)) <= LONGEST_AT_END
    keyed = len(found) > 1 and not at_ends
    room = 0.16 * sum(name.count("\n") + 1 for name in names) if keyed else 0.0
    height = 1.65 * -(-len(shown) // 2) + 0.8 if len(shown) > 1 else 3.2
    figure, several = small_panels(len(shown), 7.2, height + room)
    x = np.unique([number for series in found for number in series.at])
    for axes, column in zip(several, shown, strict=True):
        drawn = list(zip(rows, lines, strict=True))
        if len(found) > 1 and _alike(column, path, rows):
            drawn = [(rows[0], lines[0] | SHARED)]
        for table, look in drawn:
            draw_line(axes, _places(table[path], x), ends(table, column), **look)
        _vertical(axes, column, _all(column, rows))
        _horizontal(axes, x)
    for axes in several[-2:]:
        axes.set_xlabel(axis(path))
    if at_ends:
        last = [float(table[shown[0]][-1]) for table in rows]
        tones, signs = ([str(look[part]) for look in lines] for part in ("color", "marker"))
        end_labels(several[0], last, names, tones, signs)
    elif keyed:
        keys = [key(name, **look) for name, look in zip(names, lines, strict=True)]
        legend(figure, keys, columns(names))
    return figure


def _shown(rows: Sequence[Columns]) -> list[str]:
    return [column for column in dict.fromkeys((PSI, *FIGURES)) if worth_drawing(column, rows)]


def _all(what: str, rows: Sequence[Columns]) -> Array:
    """Return a figure and the ends of its interval in all cells of all lines, shape (3, J)."""
    return np.concatenate([ends(table, what) for table in rows], axis=1)


def _vertical(axes: Axes, what: str, numbers: Array) -> None:
    """Scale the axis of a figure: from 0 on, but for wide ones and ψ."""
    finite = numbers[np.isfinite(numbers)]
    wide = len(finite) > 0 and finite.min() > 0 and finite.max() > WIDE * finite.min()
    scale(axes, "y" if wide else "", ylabel=FIGURES[what][0])
    if not wide and what != PSI:
        top = float(finite.max(initial=0.0))
        axes.set_ylim(0, 1.08 * top if top > 0 else None)


def _horizontal(axes: Axes, x: Array) -> None:
    """Scale the axis of the swept number, and put ∞ at its end if it takes that value."""
    if _is_wide(x[np.isfinite(x)]):
        log_axis(axes, "x")
    axes.set_xticks(_places(x, x), ["∞" if np.isinf(value) else number(value) for value in x])
    axes.xaxis.set_minor_formatter(NullFormatter())


def _places(some: Array, x: Array) -> Array:
    """Return places of numbers on an axis of the numbers x; ∞ is one step after the largest."""
    finite = x[np.isfinite(x)]
    low, high = finite[0], finite[-1]
    behind = high * (high / low) ** 0.2 if _is_wide(finite) else high + 0.2 * (high - low)
    return np.where(np.isfinite(some), some, behind)


def _is_wide(finite: Array) -> bool:
    return bool(finite[0] > 0 and finite[-1] >= WIDE * finite[0])


def worth_drawing(what: str, rows: Sequence[Columns]) -> bool:
    """Return whether a figure is known, not 0 in all cells, and changes along some line."""
    values = [table[what] for table in rows]
    every = np.concatenate(values)
    finite = every[np.isfinite(every)]
    if what == PSI:
        return len(finite) > 0
    return bool(finite.any()) and not all(np.ptp(line) == 0 for line in values)


def _alike(what: str, path: str, rows: Sequence[Columns]) -> bool:
    """Return whether all lines of a figure coincide."""
    return all(
        np.array_equal(table[path], rows[0][path])
        and np.array_equal(ends(table, what), ends(rows[0], what), equal_nan=True)
        for table in rows
    )


def is_number(value: Any) -> bool:
    """Return whether a swept value is a number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _rows(line: CellsOfLine) -> Columns:
    """Return what is drawn of one line: a row for every number."""
    return line.rows("series", line.path, **{column: of for column, (_, of) in FIGURES.items()})


def _caption(found: Sequence[CellsOfLine], rows: Sequence[Columns]) -> str:
    shown = _shown(rows)
    names = [
        FIGURES[column][0].replace("\n", " ").replace("$\\psi$", "ψ").replace("$", "")
        for column in shown
    ]
    text = (
        f"What changes with {found[0].path}: {', '.join(names)}; error "
        "bars: 95 % intervals over replicates (exact for the median of ψ; the whole range of "
        "fewer than six replicates)"
    )
    if found[0].of:
        text += f"; lines for {found[0].of}"
    if len(found) > 1 and any(_alike(column, found[0].path, rows) for column in shown):
        text += "; gray where all lines coincide"
    ended = _all("time_to_end", rows)[0]
    missing = int(np.count_nonzero(np.isnan(ended)))
    if missing > 0:
        text += f"; in {missing} of {len(ended)} cells not all replicates reached T"
    left = [column.replace("_", " ") for column in FIGURES if column not in shown]
    if left:
        text += f"; not drawn, because 0, unknown or constant along every line: {', '.join(left)}"
    return text + "."


FIGURE = SweepFigure("against", select, _rows, panels, _caption)
