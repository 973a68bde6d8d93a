"""Lines of a figure: their looks, intervals as strokes, scales around them, and the legend."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from asyncdp_sim.figures.kit.numbers import number
from asyncdp_sim.figures.kit.style import MARKERS, colours, plain_numbers


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
    axes.set(**{f"{each}scale": "log" for each in log}, **named)
    if "y" in log:
        plain_numbers(axes)
    axes.grid(axis="y")


def number_ticks(axes: Axes, places: Iterable[float]) -> None:
    """Put a tick with its number at each of these places of the horizontal axis, and no other."""
    ordered = sorted(set(places))
    axes.set_xticks(ordered, list(map(number, ordered)))
    axes.xaxis.set_minor_formatter(NullFormatter())
