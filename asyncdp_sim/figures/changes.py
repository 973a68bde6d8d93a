"""Figures that differ between settings of a sweep: against a number, or side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, measured, wrapped
from asyncdp_sim.figures.style import BLUE, WIDE, is_wide, looks
from asyncdp_sim.figures.style import MOST as DIVERGED
from asyncdp_sim.figures.sweep_figure import FIGURES, Series, SweepFigure, ends, is_number, least
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.paths import axis

PSI = "psi_final_median"
MEDIAN = "median ψ at the end"
SEED = "run.seed"
INTERVALS = (
    "error bars: 95 % intervals over replicates (exact{}; the whole range of fewer than six "
    "replicates)"
)
LEAST = 3  # values of the swept number
MOST_SERIES = 8
FEW_SERIES = 5  # of more numbers than that: so many, evenly spread, have a line
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
        if path != SEED and len(swept) >= LEAST and all(map(is_number, swept))
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


def _against(found: Sequence[CellsOfLine], rows: Sequence[Columns]) -> Declaration:
    """Say what matters most against the swept number, a panel each, with 95 % intervals."""
    path, shown = found[0].path, _worth(rows)
    x = np.unique([value for series in found for value in series.at])
    finite = x[np.isfinite(x)]
    wide = bool(finite[0] > 0 and finite[-1] >= WIDE * finite[0])
    low, high = finite[0], finite[-1]
    behind = high * (high / low) ** 0.2 if wide else high + 0.2 * (high - low)
    labels = ["∞" if np.isinf(value) else number(value) for value in x]
    across = Side(
        axis(path), wide, ticks=np.where(np.isfinite(x), x, behind).tolist(), labels=labels
    )
    several = []
    for column in shown:
        lines = list(zip(found, rows, looks(len(found), markersize=4, linewidth=1.1), strict=True))
        if len(found) > 1 and _alike(column, path, rows):
            lines = [(found[0], rows[0], lines[0][2] | SHARED)]
        marks = [
            measured(np.where(np.isfinite(table[path]), table[path], behind), ends(table, column),
                     end=series.name if len(lines) == len(found) > 1 else "", **look)
            for series, table, look in lines
        ]  # fmt: skip
        numbers = np.concatenate([ends(table, column) for table in rows], axis=1)
        several.append(Panel(marks, across, _vertical(column, numbers)))
    height = 1.65 * -(-len(shown) // 2) + 0.8 if len(shown) > 1 else 3.2
    title = least(rows, PSI, MEDIAN, "series", path)
    return Declaration(several, (7.2, height), title)


def _vertical(what: str, numbers: Array) -> Side:
    """Return the axis of a figure: from 0 on, but for wide ones and ψ."""
    wide = is_wide(numbers)
    top = float(numbers[np.isfinite(numbers)].max(initial=0.0))
    from_zero = not wide and what != PSI
    limits = (0.0, 1.08 * top if top > 0 else None) if from_zero else (None, None)
    return Side(FIGURES[what][0], wide, limits, grid=True)


def _worth(rows: Sequence[Columns]) -> list[str]:
    return [column for column in dict.fromkeys((PSI, *FIGURES)) if worth_drawing(column, rows)]


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


def _caption_against(found: Sequence[CellsOfLine], rows: Sequence[Columns]) -> str:
    shown = _worth(rows)
    names = [
        FIGURES[column][0].replace("\n", " ").replace("$\\psi$", "ψ").replace("$", "")
        for column in shown
    ]
    exact = INTERVALS.format(" for the median of ψ")
    text = f"What changes with {found[0].path}: {', '.join(names)}; {exact}"
    if found[0].of:
        text += f"; lines for {found[0].of}"
    if len(found) > 1 and any(_alike(column, found[0].path, rows) for column in shown):
        text += "; gray where all lines coincide"
    ended = np.concatenate([table["time_to_end"] for table in rows])
    missing = int(np.count_nonzero(np.isnan(ended)))
    if missing > 0:
        text += f"; in {missing} of {len(ended)} cells not all replicates reached T"
    left = [column.replace("_", " ") for column in FIGURES if column not in shown]
    if left:
        text += f"; not drawn, because 0, unknown or constant along every line: {', '.join(left)}"
    return text + "."


MEASURED = {column: of for column, (_, of) in FIGURES.items()}
AGAINST = SweepFigure(
    "against", select, lambda line: line.rows("series", line.path, **MEASURED), _against,
    _caption_against,
)  # fmt: skip


SIDE_BY_SIDE = 3
MOST = 24  # rows
NAME = 34  # letters of a setting in one line
CLOSE = 0.05
"""Values that lie within this share of the largest are not drawn."""


def _select_settings(sweep: Sweep) -> list[Series] | str:
    """Return the cells to compare, or in words why they are not compared so."""
    paths = list(sweep.varying)
    if SEED in paths:
        return "seeds are swept"
    if not 2 <= len(sweep.cells) <= MOST:
        return f"{len(sweep.cells)} settings, and 2 to {MOST} can be shown"
    names = [cell.label(paths) for cell in sweep.cells]
    return [Series(name, (0,), (cell,)) for name, cell in zip(names, sweep.cells, strict=True)]


def _beside(found: Sequence[Series], rows: Sequence[Columns]) -> Declaration:
    """Say what differs between settings, with 95 % intervals; what is constant is left out."""
    shown = _apart(rows) or [PSI]
    across = min(SIDE_BY_SIDE, len(shown))
    lines = [wrapped(series.name, NAME, 3) for series in found]
    tallest = max(line.count("\n") + 1 for line in lines)
    height = 0.15 * len(found) * max(2, tallest + 0.2) + 0.55
    places = np.arange(len(found))[::-1]
    side = Side(limits=(-0.6, len(found) - 0.4), ticks=places.tolist(), labels=lines, grid=True)
    look = {"marker": "o", "color": BLUE, "markersize": 5}
    several = []
    for column in shown:
        values = np.concatenate([ends(table, column) for table in rows], axis=1)
        marks = [Layer("rows", values[0], places, values[1], values[2], look=look)]
        several.append(Panel(marks, _across(column, values), side))
    size = (7.2, height * -(-len(shown) // across) + 0.5)
    return Declaration(several, size, least(rows, PSI, MEDIAN, "setting"), across)


def _across(what: str, values: Array) -> Side:
    shown = np.where(values[0] <= DIVERGED, values, np.nan)
    finite, middle = shown[np.isfinite(shown)], shown[0][np.isfinite(shown[0])]
    name = FIGURES[what][0]
    if len(middle) == 0:
        return Side(name, ticks=())
    if is_wide(middle):
        return Side(name, log=True, grid=True)
    limits = (None, None) if what == PSI else (0.0, 1.1 * float(finite.max()))
    return Side(name, limits=limits, grid=True)


def _apart(rows: Sequence[Columns]) -> list[str]:
    """Return the figures that differ between settings, in more than one of which they are known."""
    kept = []
    for column in dict.fromkeys((PSI, *FIGURES)):
        values = np.array([table[column][0] for table in rows])
        finite = values[np.isfinite(values)]
        if len(finite) >= 2 and np.ptp(finite) > CLOSE * np.abs(finite).max():
            kept.append(column)
    return kept


def _caption_settings(found: Sequence[Series], rows: Sequence[Columns]) -> str:
    exact = INTERVALS.format(" for the median of ψ")
    text = f"Figures that differ between {len(found)} settings; {exact}"
    shown = _apart(rows)
    left = [column.replace("_", " ") for column in FIGURES if column not in shown]
    if left:
        text += f"; left out, unknown or less than 5 % apart: {', '.join(left)}"
    return text + "."


SETTINGS = SweepFigure(
    "settings", _select_settings, lambda each: each.rows("setting", "place", **MEASURED), _beside,
    _caption_settings,
)  # fmt: skip


ALL: tuple[SweepFigure[Any], ...] = (AGAINST, SETTINGS)
"""The first that applies is drawn."""
