"""Quantities that differ between settings of a sweep: against a number, or side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures import sweep_figure
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side, measured, wrapped
from asyncdp_sim.figures.picture import CAPTIONS
from asyncdp_sim.figures.style import BLUE, LOG_MOST, WIDE, is_wide, looks
from asyncdp_sim.figures.sweep_figure import QUANTITIES, Series, SweepFigure, ends, is_number
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.paths import axis

PSI = "psi_final_median"
MEDIAN = "median ψ at the end"
SEED = "run.seed"
INTERVALS: str = CAPTIONS["intervals"]
FEWEST_VALUES = 3
"""Fewest values of a swept number that quantities are drawn against."""
MOST_SERIES = 8
"""Most lines in a panel."""
FEW_SERIES = 5
"""Lines of a second swept number with more values than :data:`MOST_SERIES`, evenly spread."""
SHARED = {"color": "#444444", "marker": "."}
"""Look of a line that is drawn once because all lines coincide."""


@dataclass(frozen=True)
class CellsOfLine(Series):
    """The cells that share a line, in ascending order of the swept number at ``path``.

    Attributes
    ----------
    path : str
    selection : str
        The lines that are drawn of how many, in words; empty where all are.
    """

    path: str
    selection: str


def select(sweep: Sweep) -> list[CellsOfLine] | str:
    """Return the lines over one swept number, or in words why none are drawn.

    It is the number with the most values.
    """
    values = sweep.varying
    if len(values) > 2:
        return f"{len(values)} paths are swept, and one or two can be shown"
    numbers = {path: len(swept) for path, swept in values.items() if all(map(is_number, swept))}
    able = [path for path, count in numbers.items() if path != SEED and count >= FEWEST_VALUES]
    if len(able) == 0:
        return f"no number is swept over {FEWEST_VALUES} values or more"
    path = max(able, key=numbers.__getitem__)
    rest = [other for other in values if other != path]
    cells, selection = sweep.cells, ""
    for other in rest:
        ordered = values[other]
        if len(ordered) <= MOST_SERIES:
            continue
        if not all(map(is_number, ordered)):
            return f"{other} has {len(ordered)} values, more than {MOST_SERIES} lines"
        step, ordered = (len(ordered) - 1) / (FEW_SERIES - 1), sorted(ordered)
        shown = {ordered[round(step * n)] for n in range(FEW_SERIES)}
        cells = tuple(cell for cell in cells if cell.values[other] in shown)
        selection = f"{len(shown)} of {len(ordered)} values of {other}"
    of_all = {"path": path, "selection": selection}
    return CellsOfLine.grouped(
        cells, lambda c: c.label(rest), lambda c: float(c.values[path]), **of_all
    )


def _declare_against(drawn: Sequence[CellsOfLine], rows: Sequence[Columns]) -> Declaration:
    """Return a panel of each quantity worth drawing over the swept number, with 95 % intervals."""
    path, shown = drawn[0].path, _shown(rows, worth_drawing)
    x = np.unique([value for series in drawn for value in series.at])
    finite = x[np.isfinite(x)]
    low, high = finite[0], finite[-1]
    wide = bool(low > 0 and high >= WIDE * low)
    # ε = ∞ is drawn beyond the largest finite value
    place_of_infinity = high * (high / low) ** 0.2 if wide else high + 0.2 * (high - low)
    places = np.where(np.isfinite(x), x, place_of_infinity).tolist()
    labels = ["∞" if np.isinf(value) else number(value) for value in x]
    horizontal = Side(axis(path), wide, ticks=places, labels=labels)
    several = []
    for column in shown:
        lines = list(zip(drawn, rows, looks(len(drawn), markersize=4, linewidth=1.1), strict=True))
        if len(drawn) > 1 and _lines_coincide(column, path, rows):
            lines = [(drawn[0], rows[0], lines[0][2] | SHARED)]
        marks = [
            measured(
                np.where(np.isfinite(table[path]), table[path], place_of_infinity),
                ends(table, column),
                end=series.name if len(lines) == len(drawn) > 1 else "",
                **look,
            )
            for series, table, look in lines
        ]
        numbers = np.concatenate([ends(table, column) for table in rows], axis=1)
        several.append(Panel(marks, horizontal, _vertical_axis(column, numbers)))
    height = 1.65 * -(-len(shown) // 2) + 0.8 if len(shown) > 1 else 3.2
    title = sweep_figure.least_in_words(rows, PSI, MEDIAN, "series", path)
    return Declaration(several, (7.2, height), title)


def _vertical_axis(column: str, numbers: Array) -> Side:
    """Return the axis of a quantity: from 0 on, but for wide ones and ψ."""
    wide = is_wide(numbers)
    top = float(numbers[np.isfinite(numbers)].max(initial=0.0))
    from_zero = not wide and column != PSI
    limits = (0.0, 1.08 * top if top > 0 else None) if from_zero else (None, None)
    return Side(QUANTITIES[column][0], wide, limits, grid=True)


def _shown(rows: Sequence[Columns], drawn: Callable[[str, Sequence[Columns]], bool]) -> list[str]:
    """Return the columns of the quantities that are drawn, ψ first; ψ alone if there are none."""
    columns = dict.fromkeys((PSI, *QUANTITIES))
    return [column for column in columns if drawn(column, rows)] or [PSI]


def worth_drawing(column: str, rows: Sequence[Columns]) -> bool:
    """Return whether a quantity changes along some line, or is ψ and known, where it is known."""
    known = [table[column][np.isfinite(table[column])] for table in rows]
    return any(len(np.unique(line)) > (0 if column == PSI else 1) for line in known)


def _lines_coincide(column: str, path: str, rows: Sequence[Columns]) -> bool:
    """Return whether all lines of a quantity coincide."""
    return all(
        np.array_equal(table[path], rows[0][path])
        and np.array_equal(ends(table, column), ends(rows[0], column), equal_nan=True)
        for table in rows
    )


def _caption_against(drawn: Sequence[CellsOfLine], rows: Sequence[Columns]) -> str:
    """Return the caption, with the quantities that are left out and why."""
    shown = _shown(rows, worth_drawing)
    names = [
        QUANTITIES[column][0].replace("\n", " ").replace("$\\psi$", "ψ").replace("$", "")
        for column in shown
    ]
    text = f"What changes with {drawn[0].path}: {', '.join(names)}; {INTERVALS}"
    if drawn[0].selection != "":
        text += f"; lines for {drawn[0].selection}"
    if len(drawn) > 1 and any(_lines_coincide(column, drawn[0].path, rows) for column in shown):
        text += "; gray where all lines coincide"
    ended, psi = (np.concatenate([table[name] for table in rows]) for name in ("time_to_end", PSI))
    diverged = int(np.count_nonzero(np.isinf(psi)))
    if diverged > 0 and PSI in shown:
        text += f"; in {diverged} of {len(psi)} cells ψ is infinite, as the model diverged"
    missing = int(np.count_nonzero(np.isnan(ended)))
    if missing > 0:
        text += f"; in {missing} of {len(ended)} cells not all replicates reached T"
    return text + _left_out(shown, "not drawn, because 0, unknown or constant along every line")


def _left_out(shown: Sequence[str], why: str) -> str:
    """Return the end of a caption: which quantities are not shown, if any, and why."""
    left = [column.replace("_", " ") for column in QUANTITIES if column not in shown]
    return f"; {why}: {', '.join(left)}." if left else "."


MEASURED = {column: estimate for column, (_, estimate) in QUANTITIES.items()}
"""From a result, the estimate of each quantity."""
AGAINST = SweepFigure(
    "against", select, lambda line: line.rows("series", line.path, **MEASURED), _declare_against,
    _caption_against,
)  # fmt: skip


SIDE_BY_SIDE = 3
"""Panels in a row."""
MOST_SETTINGS = 24
"""Most settings that are compared, each a row of a panel."""
NAME = 34
"""Most letters of a setting's name in one line."""
CLOSE = 0.05
"""Quantities whose values are all within this share of the largest are not drawn."""


def _select_settings(sweep: Sweep) -> list[Series] | str:
    """Return the cells to compare, or in words why they are not compared so."""
    paths = list(sweep.varying)
    if SEED in paths:
        return "seeds are swept"
    if not 2 <= len(sweep.cells) <= MOST_SETTINGS:
        return f"{len(sweep.cells)} settings, and 2 to {MOST_SETTINGS} can be shown"
    names = [cell.label(paths) for cell in sweep.cells]
    return [Series(name, (0,), (cell,)) for name, cell in zip(names, sweep.cells, strict=True)]


def _declare_settings(drawn: Sequence[Series], rows: Sequence[Columns]) -> Declaration:
    """Return a panel of each quantity that differs between settings, with 95 % intervals."""
    shown = _shown(rows, _differs)
    across = min(SIDE_BY_SIDE, len(shown))
    lines = [wrapped(series.name, NAME, 3) for series in drawn]
    tallest = max(line.count("\n") + 1 for line in lines)
    height = 0.15 * len(drawn) * max(2, tallest + 0.2) + 0.55
    places = np.arange(len(drawn))[::-1]
    side = Side(limits=(-0.6, len(drawn) - 0.4), ticks=places.tolist(), labels=lines, grid=True)
    look = {"marker": "o", "color": BLUE, "markersize": 5}
    several = []
    for column in shown:
        values = np.concatenate([ends(table, column) for table in rows], axis=1)
        marks = [Layer("rows", values[0], places, values[1], values[2], look=look)]
        several.append(Panel(marks, _horizontal_axis(column, values), side))
    title = sweep_figure.least_in_words(rows, PSI, MEDIAN, "setting")
    return Declaration(several, (7.2, height * -(-len(shown) // across) + 0.5), title, across)


def _horizontal_axis(column: str, values: Array) -> Side:
    """Return the axis of a quantity, values (3, settings) with ends; diverged ones set no limit."""
    shown = np.where(values[0] <= LOG_MOST, values, np.nan)
    finite, middle = shown[np.isfinite(shown)], shown[0][np.isfinite(shown[0])]
    name = QUANTITIES[column][0]
    if len(middle) == 0:
        return Side(name, ticks=())
    if is_wide(middle):
        return Side(name, log=True, grid=True)
    limits = (None, None) if column == PSI else (0.0, 1.1 * float(finite.max()))
    return Side(name, limits=limits, grid=True)


def _differs(column: str, rows: Sequence[Columns]) -> bool:
    """Return whether a quantity is known in more than one setting, and differs between them."""
    values = np.array([table[column][0] for table in rows])
    known, finite = values[~np.isnan(values)], values[np.isfinite(values)]
    if 0 < len(finite) < len(known):  # models of some settings alone diverge
        return True
    return len(finite) >= 2 and bool(np.ptp(finite) > CLOSE * np.abs(finite).max())


def _caption_settings(drawn: Sequence[Series], rows: Sequence[Columns]) -> str:
    """Return the caption, with the quantities that are left out and why."""
    shown = _shown(rows, _differs)
    text = f"Quantities that differ between {len(drawn)} settings"
    if not _differs(shown[0], rows):
        text = f"No quantity differs by 5 % between {len(drawn)} settings: {MEDIAN} is drawn"
    apart = _left_out(shown, "left out, unknown or less than 5 % apart")
    return f"{text}; {INTERVALS}{apart}"


SETTINGS = SweepFigure(
    "settings", _select_settings, lambda each: each.rows("setting", "place", **MEASURED),
    _declare_settings, _caption_settings,
)  # fmt: skip


ALL: tuple[SweepFigure[Any], ...] = (AGAINST, SETTINGS)
"""The first that applies is drawn."""
