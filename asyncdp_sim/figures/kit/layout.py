"""Room around axes for what is written there, measured as it will be drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.transforms import BboxBase

Array = npt.NDArray[np.float64]

PAD = 3 / 72
"""Inches between what is written and whatever is next to it."""
GUESS = (0.55, 0.45, 0.1, 0.25)
"""Inches left, below, right and above, as most axes need them: measuring begins with these."""
MOST, CLOSE = 4, 0.005
"""Times that a figure is measured at most, and inches by which margins may be off in the end."""
LEAST = 0.02
"""Share of the figure that all axes have at least, side by side or one above another."""


class _Margins(NamedTuple):
    """Inches around the cells of a grid, by column (left, right) and by row (below, above)."""

    left: Array
    below: Array
    right: Array
    above: Array


class MeasuredLayout(LayoutEngine):
    """A layout of axes in one grid, under legends outside and above a label of the whole figure.

    matplotlib's constrained layout measures everything twice, since ticks hang on the size of axes,
    and that is half as much work as drawing. Here a second time comes only where ticks did change,
    or where names stand beside points: the narrower the axes, the further these reach out of them.
    """

    _adjust_compatible = False
    _colorbar_gridspec = False

    def execute(self, fig: Figure) -> None:
        """Move the axes of a figure so that there is room for all that is written around them."""
        several = [axes for axes in fig.axes if axes.get_subplotspec() is not None]
        if len(several) == 0:
            return
        below, above = _bands(fig)
        margins, fixed = _guess(several[0]), not any(map(_has_names_of_points, several))
        _place(fig, several, margins, below, above)
        for _ in range(MOST):
            ticks, before = _ticks(several), margins
            margins = _measured(fig, several)
            _place(fig, several, margins, below, above)
            if _ticks(several) == ticks and (fixed or _differ(before, margins) < CLOSE):
                return


def _bands(figure: Figure) -> tuple[float, float]:
    """Return the inches of the label below everything, and of the tallest legend above."""
    below = 0.0
    for text in figure.texts:
        if text.get_text() != "" and text.get_text() == figure.get_supxlabel():
            text.set_y(PAD / figure.get_figheight())
            below = _inches(figure, text.get_window_extent()).height + 2 * PAD
    tall = [_inches(figure, each.get_window_extent()).height for each in figure.legends]
    return below, max((height + 2 * PAD for height in tall), default=0.0)


def _inches(figure: Figure, box: BboxBase) -> BboxBase:
    return box.transformed(figure.dpi_scale_trans.inverted())


def _guess(axes: Axes) -> _Margins:
    """Return margins as most axes need them, in a grid as that of these axes."""
    rows, columns = axes.get_gridspec().get_geometry()  # type: ignore[union-attr]
    left, below, right, above = GUESS
    across, down = np.ones(columns), np.ones(rows)
    return _Margins(left * across, below * down, right * across, above * down)


def _measured(figure: Figure, several: Sequence[Axes]) -> _Margins:
    """Return the room that is written on around axes where they are now, and some between."""
    found = _Margins(*(np.full_like(each, PAD) for each in _guess(several[0])))
    whole = _inches(figure, figure.bbox)
    for axes in several:
        place, tight = axes.get_subplotspec(), axes.get_tightbbox(for_layout_only=True)
        if place is None or tight is None:
            continue
        inner = axes.get_position(original=True)
        box, row, column = _inches(figure, tight), place.rowspan, place.colspan
        sides = (
            (found.left, column.start, inner.x0 * whole.width - box.x0),
            (found.below, row.stop - 1, inner.y0 * whole.height - box.y0),
            (found.right, column.stop - 1, box.x1 - inner.x1 * whole.width),
            (found.above, row.start, box.y1 - inner.y1 * whole.height),
        )
        for margin, at, room in sides:
            margin[at] = max(margin[at], room + PAD)
    return found


def _place(
    figure: Figure, several: Sequence[Axes], margins: _Margins, below: float, above: float
) -> None:
    """Move axes to their cells: what margins leave is shared as the grid's ratios say."""
    width, height = figure.get_size_inches()
    grid = several[0].get_gridspec()
    across = grid.get_width_ratios()  # type: ignore[union-attr]
    down = grid.get_height_ratios()  # type: ignore[union-attr]
    x0, x1 = _cells(margins.left / width, margins.right / width, across)
    # Rows are numbered from above.
    bands = (margins.above / height, margins.below / height)
    y1, y0 = _cells(*bands, down, above / height, below / height)
    for axes in several:
        place = axes.get_subplotspec()
        if place is not None:
            row, column = place.rowspan, place.colspan
            left, right = x0[column.start], x1[column.stop - 1]
            top, bottom = 1 - y1[row.start], 1 - y0[row.stop - 1]
            axes.set_position((left, bottom, right - left, top - bottom))
            axes.set_in_layout(True)  # which a position by hand would end


def _cells(
    before: Array,
    after: Array,
    ratios: npt.ArrayLike | None,
    first: float = 0.0,
    last: float = 0.0,
) -> tuple[Array, Array]:
    """Return where cells begin and end, shares of the figure, within margins and two bands."""
    shares = np.ones(len(before)) if ratios is None else np.asarray(ratios, dtype=float)
    free = max(1 - first - last - before.sum() - after.sum(), LEAST)
    sizes = free * shares / shares.sum()
    ends = first + np.cumsum(before + sizes + after) - after
    return ends - sizes, ends


def _ticks(several: Sequence[Axes]) -> list[list[float]]:
    return [
        axis.get_majorticklocs().tolist() for axes in several for axis in (axes.xaxis, axes.yaxis)
    ]


def _has_names_of_points(axes: Axes) -> bool:
    return any(text.get_transform() != axes.transAxes for text in axes.texts)


def _differ(one: _Margins, other: _Margins) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))
