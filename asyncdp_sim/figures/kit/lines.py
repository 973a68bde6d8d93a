"""Lines of a figure: their looks, intervals as strokes, scales around them, and the legend."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from asyncdp_sim.figures.kit.log_axis import log_axis
from asyncdp_sim.figures.kit.numbers import number
from asyncdp_sim.figures.kit.style import MARKERS, colours, plain_numbers

BELOW = "interval-below-axis"
"""Mark of an arrow at the frame."""


def looks(count: int, **same: Any) -> list[dict[str, Any]]:
    """Return a colour and a marker for each of so many lines, and what is the same for all."""
    return [
        {"color": shade, "marker": marker} | same
        for shade, marker in zip(colours(count), cycle(MARKERS), strict=False)
    ]


def key(name: str, **look: Any) -> Line2D:
    """Return what stands in the legend for a line of this look."""
    return Line2D([], [], label=name, **look)


def legend(figure: Figure, keys: Sequence[Artist], ncols: int = 1, *, right: bool = False) -> None:
    """Put the keys above all axes, at the left or the right."""
    place: Literal["outside upper right", "outside upper left"]
    place = "outside upper right" if right else "outside upper left"
    figure.legend(handles=keys, loc=place, ncols=ncols)


def legend_above(axes: Axes, keys: Sequence[Artist], ncols: int = 1) -> None:
    """Put the keys above one of several axes, where they are of these alone."""
    axes.legend(handles=keys, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=ncols)


def strokes(value: Any, low: Any, high: Any) -> npt.NDArray[np.float64]:
    """Return the lengths of error bars, shape (2, J); 0 where an end is not known."""
    return np.nan_to_num(np.abs([value - low, high - value]))


def draw_line(axes: Axes, x: Any, ends: npt.NDArray[np.float64], **look: Any) -> None:
    """Draw values and the ends of their intervals, shape (3, J); what is not finite is left out."""
    value, low, high = np.where(np.isfinite(ends), ends, np.nan)
    axes.errorbar(
        x, value, yerr=strokes(value, low, high), **{"elinewidth": 1.2, "capsize": 2, **look}
    )


def scale(axes: Axes, log: str = "y", **named: str) -> None:
    """Make axes that are drawn on logarithmic in x, y or both, rule them, and name them."""
    log_axis(axes, log)
    axes.set(**named)
    if "y" in log:
        plain_numbers(axes)
        _end_at_frame(axes)
    axes.grid(axis="y")


def reaches_zero(figure: Figure) -> bool:
    """Return whether an interval of a figure ends at the frame, since it reaches 0 or below."""
    return any(line.get_gid() == BELOW for axes in figure.axes for line in axes.lines)


def _end_at_frame(axes: Axes) -> None:
    """Put an arrow at the frame below strokes that reach 0: a logarithmic axis has no place for it.

    The strokes would fall through the axis, as if they ended somewhere below.
    """
    bottom, top = axes.get_ylim()
    for bars in [each for each in axes.containers if isinstance(each, ErrorbarContainer)]:
        for strokes_of in bars.lines[2]:
            ends_at = [ends for ends in strokes_of.get_segments() if len(ends) == 2]
            through = [ends for ends in ends_at if ends[:, 1].min() <= 0 < ends[:, 1].max()]
            for ends in through:
                axes.plot(
                    ends[0, 0], bottom, "v", color=strokes_of.get_color()[0], markersize=5,
                    clip_on=False, gid=BELOW, zorder=5,
                )  # fmt: skip
    axes.set_ylim(bottom, top)


def number_ticks(axes: Axes, places: Iterable[float]) -> None:
    """Put a tick with its number at each of these places of the horizontal axis, and no other."""
    ordered = sorted(set(places))
    axes.set_xticks(ordered, list(map(number, ordered)))
    axes.xaxis.set_minor_formatter(NullFormatter())
