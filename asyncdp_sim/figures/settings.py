"""Settings that are no numbers, beside one another: a row for each, a panel for each figure."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from asyncdp_sim.core.arrays import Array, Columns, Ints
from asyncdp_sim.figures.axes import MOST as MOST_SHOWN
from asyncdp_sim.figures.axes import draw_rows, log_axis, wrapped
from asyncdp_sim.figures.outcomes import FIGURES
from asyncdp_sim.figures.overview import PSI, WIDE
from asyncdp_sim.figures.style import BLUE, small_panels
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure, ends
from asyncdp_sim.results import Sweep

ACROSS = 3  # panels side by side
MOST = 16  # rows
NAME = 34  # letters of a setting in one line
CLOSE = 0.05
"""Values that lie within this share of the largest are not drawn."""


def select(sweep: Sweep) -> list[Series] | str:
    """Return the cells to compare, or in words why they are not compared so."""
    paths = list(sweep.varying)
    if "run.seed" in paths:
        return "seeds are swept"
    if not 2 <= len(sweep.cells) <= MOST:
        return f"{len(sweep.cells)} settings, and 2 to {MOST} can be shown"
    names = [cell.label(paths) for cell in sweep.cells]
    return [Series(name, (0,), (cell,)) for name, cell in zip(names, sweep.cells, strict=True)]


def panels(found: Sequence[Series], rows: Sequence[Columns]) -> Figure:
    """Draw what differs between settings, with 95 % intervals; what is constant is left out."""
    shown = _shown(rows) or [PSI]
    across = min(ACROSS, len(shown))
    down = -(-len(shown) // across)
    lines = [wrapped(series.name, NAME, 3) for series in found]
    tallest = max(line.count("\n") + 1 for line in lines)
    height = 0.15 * len(found) * max(2, tallest + 0.2) + 0.55
    figure, several = small_panels(len(shown), 7.2, height * down + 0.5, across)
    places = np.arange(len(found))[::-1]
    for place, (axes, column) in enumerate(zip(several, shown, strict=True)):
        _draw(axes, column, np.concatenate([ends(table, column) for table in rows], axis=1), places)
        axes.set_yticks(places, lines)
        axes.tick_params(labelleft=place % across == 0)
    return figure


def _draw(axes: Axes, what: str, values: Array, places: Ints) -> None:
    draw_rows(axes, places, values, marker="o", color=BLUE, markersize=5)
    finite = values[np.isfinite(values) & (values[0] <= MOST_SHOWN)]
    middle = values[0][np.isfinite(values[0]) & (values[0] <= MOST_SHOWN)]
    if len(middle) == 0:
        axes.set_xticks([])
    elif middle.min() > 0 and middle.max() > WIDE * middle.min():
        log_axis(axes, "x")
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif what != PSI:
        axes.set_xlim(0, 1.1 * finite.max())
    axes.set_ylim(-0.6, len(places) - 0.4)
    axes.grid(axis="both")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(FIGURES[what][0])


def _shown(rows: Sequence[Columns]) -> list[str]:
    return [column for column in dict.fromkeys((PSI, *FIGURES)) if not _close(column, rows)]


def _close(what: str, rows: Sequence[Columns]) -> bool:
    """Return whether a figure hardly differs between settings, or one setting alone has it."""
    values = np.array([table[what][0] for table in rows])
    finite = values[np.isfinite(values)]
    return len(finite) < 2 or bool(np.ptp(finite) <= CLOSE * np.abs(finite).max())


def _rows(each: Series) -> Columns:
    return each.rows("setting", "place", **{name: of for name, (_, of) in FIGURES.items()})


def _caption(found: Sequence[Series], rows: Sequence[Columns]) -> str:
    text = (
        f"Figures that differ between {len(found)} settings; error bars: 95 % intervals over "
        "replicates (exact for the median of ψ; the whole range of fewer than six replicates)"
    )
    shown = _shown(rows)
    left = [column.replace("_", " ") for column in FIGURES if column not in shown]
    if left:
        text += f"; left out, unknown or less than 5 % apart: {', '.join(left)}"
    return text + "."


FIGURE = SweepFigure("settings", select, _rows, panels, _caption)
