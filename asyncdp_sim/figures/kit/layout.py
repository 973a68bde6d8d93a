"""Room for what is written: names and numbers that would touch are moved, also in print."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

LINE_END = "line-end"
"""Mark of a name at the end of a line, and of its marker."""
MAY_GO = "may-go"
"""Mark of numbers of which some are left out where they would touch."""


class Layout(ConstrainedLayoutEngine):
    """Constrained layout, in which neither names at the ends of lines nor tick labels touch."""

    def __init__(self) -> None:
        super().__init__()
        self._hidden: list[Text] = []

    def execute(self, fig: Figure) -> None:
        """Lay a figure out."""
        for text in self._hidden:  # of another size, which had less room
            text.set_visible(True)
        super().execute(fig)
        self._hidden = []
        for axes in fig.axes:
            names = [text for text in axes.texts if text.get_gid() == LINE_END]
            marks = [line for line in axes.lines if line.get_gid() == LINE_END]
            if names:
                gap = max(text.get_window_extent().height for text in names) / axes.bbox.height
                placed = lifted(spread([text.get_position()[1] for text in names], gap), gap)
                for text, height in zip(names, placed, strict=True):
                    text.set_y(height)
                for mark, height in zip(marks, placed, strict=False):
                    mark.set_ydata([height])
            across, up = _labels(axes.xaxis), _labels(axes.yaxis)
            numbered = [text for text in axes.texts if text.get_gid() == MAY_GO]
            owners = [text for text in up if text.get_text().isdigit()]
            self._hidden += _thin(across) + _thin(owners, room=0.0) + _thin(numbered)


def _labels(axis: Axis) -> list[Text]:
    """Return the tick labels within an axis' ends."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


def _thin(texts: Sequence[Text], room: float = 0.25) -> list[Text]:
    """Hide every level text that touches the last one before it that is shown, and return them.

    Between texts remains ``room``, as a share of the size of their letters.
    """
    last: Bbox | None = None
    hidden = []
    for text in texts:
        if text.get_visible() and text.get_rotation() == 0:
            box = text.get_window_extent().padded(room * float(text.get_fontsize()))
            if last is not None and last.overlaps(box):
                text.set_visible(False)
                hidden.append(text)
            else:
                last = box
    return hidden


@contextmanager
def laid_out(figure: Figure, dpi: float) -> Iterator[None]:
    """Lay a figure out once, for a resolution, and keep all where it is meanwhile.

    Asked to save a figure whose layout is still to come, matplotlib draws all of it twice.
    """
    engine, before = figure.get_layout_engine(), figure.dpi
    try:
        figure.set_dpi(dpi)
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine(None)
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.set_dpi(before)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Return heights moved as little as needed to lie ``gap`` apart, in the same order.

    Neighbours that are too close form a group, centred on the mean of its members' heights.
    """
    order = np.argsort(heights, kind="stable")
    groups: list[list[float]] = []
    for height in (heights[i] for i in order):
        groups.append([height])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            last = groups.pop()
            groups[-1] += last
    placed = [_bottom(group, gap) + gap * step for group in groups for step in range(len(group))]
    result = np.empty(len(heights))
    result[order] = placed
    return result.tolist()


def lifted(heights: Sequence[float], gap: float) -> list[float]:
    """Return heights that lie ``gap`` apart with those below the axes moved up, in their order."""
    result, least = list(heights), 0.0
    for place in np.argsort(heights, kind="stable"):
        result[int(place)] = max(result[int(place)], least)
        least = result[int(place)] + gap
    return result


def _bottom(group: list[float], gap: float) -> float:
    return float(np.mean(group)) - gap * (len(group) - 1) / 2


def _top(group: list[float], gap: float) -> float:
    return float(np.mean(group)) + gap * (len(group) - 1) / 2


LEAST_POINTS = 7.0
LETTER = 0.55  # width of a letter, over its size
NARROW = 2.0  # inches that a panel beside another has at least
TALL = 1.6  # inches that the tallest axes have at least
AXES = 0.7  # of a panel, what its axes have
_FORMULA = re.compile(r"\$[^$]*\$")
_SIGNS = re.compile(r"\\[a-zA-Z]+|[^${}_^ \\]")


def fit(figure: Figure, width: float) -> None:
    """Give a figure another width in inches; its letters have 7 points or more.

    What is written is broken into more lines, legends have fewer columns, and panels that would
    be too narrow beside one another stand one above another.
    """
    factor = width / figure.get_figwidth()
    several = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    taller = _stacked(several, width)
    figure.set_size_inches(width, figure.get_figheight() * taller * factor**0.5)
    for text in figure.findobj(lambda artist: isinstance(artist, Text)):
        assert isinstance(text, Text)
        text.set_fontsize(max(LEAST_POINTS, min(1.0, factor) * float(text.get_fontsize())))
    for line in figure.findobj(lambda artist: isinstance(artist, Line2D)):
        assert isinstance(line, Line2D)
        line.set_markersize(min(1.0, factor**0.25) * line.get_markersize())
    for axes in several:
        axes.tick_params(which="both", labelsize=LEAST_POINTS)
        _name(axes, width, figure.get_figheight())
    grown = sum(_narrowed(figure, legend, width) for legend in list(figure.legends))
    for text in figure.texts:
        if text.get_text() == figure.get_supxlabel() != "":
            lines = text.get_text().count("\n")
            text.set_text(_broken(text.get_text(), width))
            grown += (text.get_text().count("\n") - lines) * 1.2 * LEAST_POINTS / 72
    figure.set_size_inches(width, figure.get_figheight() + grown)
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        tallest = max(axes.get_window_extent().height for axes in figure.axes) / figure.dpi
        figure.set_size_inches(width, figure.get_figheight() + max(0.0, TALL - tallest))


def _stacked(several: Sequence[Axes], width: float) -> float:
    """Put panels that are too narrow beside one another into one column, in the order of reading.

    Return by how much there are more rows.
    """
    places = [axes.get_subplotspec() for axes in several]
    grids = {place.get_gridspec() for place in places if place is not None}
    if len(grids) != 1:
        return 1.0
    rows, columns = grids.pop().get_geometry()
    wide = any(place is not None and len(place.colspan) > 1 for place in places)
    bare = not any(axes.axison for axes in several)  # a drawing without ticks can be small
    if wide or bare or columns == 1 or width >= NARROW * columns:
        return 1.0
    grid = several[0].figure.add_gridspec(len(several), 1)
    names = [
        next(filter(None, (other.get_xlabel() for other in several[place::columns])), "")
        for place in range(len(several))
    ]
    for place, axes in enumerate(several):
        row = several[columns * (place // columns)]
        axes.set_ylabel(axes.get_ylabel() or row.get_ylabel())
        axes.set_xlabel("" if names[place : place + 2] == [names[place]] * 2 else names[place])
        axes.tick_params(labelleft=True, labelbottom=True)
        axes.set_title(axes.get_title() or several[place % columns].get_title())
        axes.set_subplotspec(grid[place, 0])
    return len(several) / rows


def _name(axes: Axes, width: float, height: float) -> None:
    """Break titles and names of axes at the ends of what they are of."""
    place = axes.get_subplotspec()
    assert place is not None
    rows, columns = place.get_gridspec().get_geometry()
    across, down = width * len(place.colspan) / columns, height * len(place.rowspan) / rows
    for text, room in ((axes.xaxis.label, across), (axes.yaxis.label, down)):
        lines = [_broken(line, AXES * room) for line in text.get_text().split("\n")]
        text.set_text("\n".join(lines))
    for title in (axes.title, axes._left_title):  # type: ignore[attr-defined]
        if any("\n" in _broken(line, AXES * across) for line in title.get_text().split("\n")):
            title.set_text(_broken(title.get_text(), AXES * across))


def _broken(text: str, width: float) -> str:
    """Return a text in lines of so many inches, no formula in two of them."""
    formulas = iter(_FORMULA.findall(text))
    unbroken = _FORMULA.sub(lambda found: "\0" * len(_SIGNS.findall(found[0])), text)
    unbroken = unbroken.replace(" = ", "\u00a0=\u00a0")
    letters = max(8, int(72 * width / (LETTER * LEAST_POINTS)))
    lines = textwrap.wrap(unbroken, letters, break_long_words=False, break_on_hyphens=False)
    joined = "\n".join(lines).replace("\u00a0", " ")
    return re.sub("\0+", lambda _: next(formulas), joined)


def _narrowed(figure: Figure, legend: Legend, width: float) -> float:
    """Put a legend into as many columns as have room, and return by how many inches it grew."""
    before = legend.get_window_extent().height
    names = [_broken(text.get_text(), AXES * width) for text in legend.get_texts()]
    keys = [handle for handle in legend.legend_handles if handle is not None]
    legend.remove()
    for columns in range(min(4, len(keys)), 0, -1):
        narrowed = figure.legend(
            keys, names, loc="outside upper left", ncols=columns, fontsize=LEAST_POINTS
        )
        box = narrowed.get_window_extent()
        if columns == 1 or box.width <= figure.bbox.width - LEAST_POINTS / 72 * figure.dpi:
            return float(box.height - before) / figure.dpi
        narrowed.remove()
    return 0.0
