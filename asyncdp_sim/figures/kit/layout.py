"""matplotlib's constrained layout, after which numbers that would touch are left out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.transforms import Bbox

MAY_GO = "may-go"
"""Mark of numbers of which some are left out where they would touch."""


class Layout(ConstrainedLayoutEngine):
    """Constrained layout, in which tick labels do not touch."""

    def execute(self, fig: Figure) -> None:
        """Lay a figure out."""
        super().execute(fig)
        for axes in fig.axes:
            low, high = sorted(axes.get_xlim())
            ticks = [tick for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
            _thin([tick.label1 for tick in ticks])
            _thin([text for text in axes.texts if text.get_gid() == MAY_GO])


def _thin(texts: Sequence[Text]) -> None:
    """Hide every level text that touches the last one before it that is shown."""
    last: Bbox | None = None
    for text in texts:
        if text.get_visible() and text.get_rotation() == 0:
            box = text.get_window_extent().padded(0.25 * float(text.get_fontsize()))
            text.set_visible(last is None or not last.overlaps(box))
            last = box if text.get_visible() else last


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
