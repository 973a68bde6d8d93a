"""Room for what is written: names and numbers that would touch are moved, also in print."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
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
_FORMULA = re.compile(r"\$[^$]*\$")
_SIGNS = re.compile(r"\\[a-zA-Z]+|[^${}_^ \\]")


def broken(text: str, width: float) -> str:
    """Return a text in lines of so many inches, no formula in two of them."""
    formulas = iter(_FORMULA.findall(text))
    unbroken = _FORMULA.sub(lambda found: "\0" * len(_SIGNS.findall(found[0])), text)
    unbroken = unbroken.replace(" = ", "\u00a0=\u00a0")
    letters = max(8, int(72 * width / (LETTER * LEAST_POINTS)))
    lines = textwrap.wrap(unbroken, letters, break_long_words=False, break_on_hyphens=False)
    joined = "\n".join(lines).replace("\u00a0", " ")
    return re.sub("\0+", lambda _: next(formulas), joined)
