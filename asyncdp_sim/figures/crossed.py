"""ψ over two or three settings that are crossed: a row, a marker, a panel for each value of one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.figures.axes import (
    BETTER,
    draw_rows,
    key,
    legend,
    log_axis,
    looks,
    wrapped,
)
from asyncdp_sim.figures.outcomes import psi_at_end
from asyncdp_sim.figures.overview import is_number
from asyncdp_sim.figures.style import plain_numbers, sheet
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure, ends
from asyncdp_sim.results import Sweep

MOST = {"rows": 16, "panels": 4, "markers": 6}
APART = 0.56  # from the first marker of a row to its last, in rows
NAME = 30  # letters of a row's or a panel's name in one line
PSI = "psi_final_median"


@dataclass(frozen=True)
class Marked(Series):
    """The cells of one panel that share a marker, each at the place of its row.

    Attributes
    ----------
    panel : str
        In words; empty where two settings are crossed.
    rows_of_all : tuple of str
        The rows in words, from the uppermost.
    crossed : dict of str
        By path: whether it has the rows, the panels or the markers.
    """

    panel: str
    rows_of_all: tuple[str, ...]
    crossed: dict[str, str]


def select(sweep: Sweep) -> list[Marked] | str:
    """Return a series for each panel and marker, or in words why there are none."""
    values = sweep.varying
    if not 2 <= len(values) <= 3 or "run.seed" in values:
        return f"{len(values)} settings are swept, and 2 or 3 can be crossed"
    # The most values have rows, the fewest panels; of two that have as many a number has markers.
    row, *others = sorted(values, key=lambda path: -len(values[path]))
    *panel, marker = sorted(
        others, key=lambda path: (len(values[path]), all(map(is_number, values[path])))
    )
    crossed = {row: "rows", **dict.fromkeys(panel, "panels"), marker: "markers"}
    for path, place in crossed.items():
        if len(values[path]) > MOST[place]:
            return f"{path} has {len(values[path])} values, more than {MOST[place]} {place}"
    rows = tuple(dict.fromkeys(cell.label([row]) for cell in sweep.cells))
    return [
        series
        for name in dict.fromkeys(cell.label(panel) for cell in sweep.cells)
        for series in Marked.grouped(
            [cell for cell in sweep.cells if cell.label(panel) == name],
            lambda cell: cell.label([marker]),
            lambda cell: rows.index(cell.label([row])),
            panel=name,
            rows_of_all=rows,
            crossed=crossed,
        )
    ]


def panels(found: Sequence[Marked], rows: Sequence[Columns]) -> Figure:
    """Draw the median of ψ at the end in all rows, with its interval, on one scale."""
    names = list(dict.fromkeys(series.panel for series in found))
    marks = list(dict.fromkeys(series.name for series in found))
    lines = found[0].rows_of_all
    shift = np.linspace(-APART / 2, APART / 2, len(marks)) if len(marks) > 1 else np.zeros(1)
    look = looks(len(marks), markersize=3.8)
    figure = sheet(7.6, 0.34 * len(lines) + 1.5)
    several = figure.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for series, table in zip(found, rows, strict=True):
        place = marks.index(series.name)
        axes = several[names.index(series.panel)]
        values = ends(table, PSI)
        values = np.where(values > 0, values, np.nan)  # a logarithmic axis has no others
        draw_rows(axes, np.array(series.at) + shift[place], values, **look[place])
    for axes, name in zip(several, names, strict=True):
        axes.set_title(wrapped(name, NAME), fontsize=8)
        axes.set_yticks(range(len(lines)), [wrapped(line, NAME) for line in lines])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"$\\psi$ at the end, median\n{BETTER}")
        axes.grid(axis="x")
        for line in np.arange(len(lines) - 1) + 0.5:
            axes.axhline(line, color="#dddddd", linewidth=0.6, zorder=0)
    log_axis(several[0], "x")
    several[0].set_ylim(len(lines) - 0.5, -0.5)
    plain_numbers(several[0], "x")
    keys = [key(name, linestyle="none", **series) for name, series in zip(marks, look, strict=True)]
    legend(figure, keys, len(keys))
    return figure


def _rows(each: Marked) -> Columns:
    row, *panel, marker = each.crossed
    table: Columns = {row: np.array([each.rows_of_all[place] for place in each.at])}
    table |= {path: np.repeat([each.panel], len(each.at)) for path in panel}
    numbers = each.rows(marker, "place", **{PSI: psi_at_end})
    del numbers["place"]
    return table | numbers


def _caption(found: Sequence[Marked], rows: Sequence[Columns]) -> str:
    places = [f"{path} ({place})" for path, place in found[0].crossed.items()]
    psi = np.concatenate([table[PSI] for table in rows])
    text = (
        f"Median of ψ at the end, for each {', '.join(places[:-1])} and {places[-1]}; "
        "error bars: 95 % intervals over replicates (exact; the whole range of fewer than six "
        "replicates)"
    )
    left = int(np.count_nonzero(~(psi > 0)))
    if left > 0:
        text += f"; {left} of {len(psi)} cells without a positive one are left out"
    return text + "."


FIGURE = SweepFigure("crossed", select, _rows, panels, _caption)
