"""Axes, their lines and what is written beside them: scales, strokes, legends, names at ends."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.scale import InvertedLogTransform, LogScale, LogTransform
from matplotlib.ticker import LogFormatterSciNotation, NullFormatter
from matplotlib.transforms import ScaledTranslation, Transform

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.layout import LINE_END, lifted, spread
from asyncdp_sim.figures.style import MARKERS, colours, legible, plain_numbers

MOST_LISTED = 4
ACROSS = 84  # letters of a legend that have room side by side


def lettered(text: str) -> str:
    """Return a text whose ``n_i`` has its index low, as in the papers."""
    return text.replace("n_i", "nᵢ")


def wrapped(text: str, width: int = ACROSS, most: int = 2) -> str:
    """Return a text in lines of so many letters; one that needs more lines is cut, and says so."""
    text = lettered(text)
    lines = textwrap.wrap(text, width)
    if len(lines) > most:
        lines = textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    return "\n".join(lines)


def columns(names: Sequence[str]) -> int:
    """Return in how many columns of a legend these names fit, five at most."""
    longest = max(len(line) for name in names for line in name.split("\n"))
    return max(1, min(len(names), 5, 90 // (longest + 6)))


def listed(texts: Sequence[str], between: str = ", ") -> str:
    """Return distinct texts side by side; of many the first and the last, and how many."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= MOST_LISTED:
        return between.join(distinct)
    return f"{distinct[0]} … {distinct[-1]} ({len(distinct)} in all)"


LEAST, MOST = 1e-100, 1e30
"""Ends of what a logarithmic axis shows: beyond, a run has diverged, and hides all that has not.

The ticks of matplotlib overflow where an axis comes near the largest of floating-point numbers.
"""
AT_END = "beyond-axis"
"""Mark of an arrow at the frame."""
_POWER = re.compile(r"\$\\mathdefault\{10\^\{(-?\d+)\}\}\$")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def log_axis(axes: Axes, sides: str = "y") -> None:
    """Make an axis logarithmic, ``x``, ``y`` or both: here, and nowhere else, figures do that."""
    for side in sides:
        axes.set(**{f"{side}scale": _Framed()})


def leaves_frame(figure: Figure) -> bool:
    """Return whether a figure has numbers beyond the end of its logarithmic axes."""
    return any(
        any(line.get_gid() == AT_END for line in axes.lines)
        or (axes.get_xscale() == "log" and axes.dataLim.x1 > MOST)
        or (axes.get_yscale() == "log" and axes.dataLim.y1 > MOST)
        for axes in figure.axes
    )


def draw_rows(axes: Axes, places: npt.NDArray[Any], values: npt.NDArray[Any], **look: Any) -> None:
    """Draw estimates and their intervals, shape (3, J), in rows at these places.

    What has diverged is an arrow at the right end of its row.
    """
    diverged = values[0] > MOST
    value, low, high = np.where(np.isfinite(values) & ~diverged, values, np.nan)
    drawn = {"fmt": look.pop("marker"), "elinewidth": 1.1, "capsize": 2, **look}
    points, *_ = axes.errorbar(value, places, xerr=strokes(value, low, high), **drawn)
    points.set_clip_on(False)  # whole at the end of the axis; strokes may leave it
    if diverged.any():
        arrow = {"gid": AT_END, "marker": ">", "linestyle": "none", "clip_on": False, **look}
        ends = np.ones(np.count_nonzero(diverged))
        axes.plot(ends, places[diverged], transform=axes.get_yaxis_transform(), **arrow)


class _Framed(LogScale):
    """A logarithmic scale whose axis has its ends between ``LEAST`` and ``MOST``."""

    def __init__(self) -> None:
        super().__init__(None)  # the axis, which newer versions need not be told
        self._transform = _Log(10)

    def limit_range_for_scale(self, vmin: float, vmax: float, minpos: float) -> tuple[float, float]:
        low, high = super().limit_range_for_scale(vmin, vmax, minpos)
        return max(low, LEAST), min(high, MOST)

    def set_default_locators_and_formatters(self, axis: Axis) -> None:
        super().set_default_locators_and_formatters(axis)
        axis.set_major_formatter(_Powers(self.base))


class _Powers(LogFormatterSciNotation):
    """Powers of ten in raised letters: as a formula, each takes as long as a line to draw."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        text = super().__call__(x, pos)
        power = _POWER.fullmatch(text)
        return text if power is None else f"10{power[1].translate(RAISED)}"


class _Log(LogTransform):
    """The decimal logarithm, whose inverse does not overflow."""

    def inverted(self) -> "_Power":
        return _Power(10)


class _Power(InvertedLogTransform):
    """Powers of ten that are finite and positive: margins reach beyond what is drawn."""

    def transform_non_affine(self, values: npt.ArrayLike) -> Array:
        bounded = np.clip(np.asarray(values, dtype=float), np.log10(LEAST), np.log10(MOST))
        powers: Any = super().transform_non_affine(bounded)
        return np.asarray(powers)

    def inverted(self) -> _Log:
        return _Log(10)


BELOW = "interval-below-axis"
"""Mark of an arrow at the frame."""


def looks(count: int, **same: Any) -> list[dict[str, Any]]:
    """Return a colour and a marker for each of so many lines, and what is the same for all."""
    return [
        {"color": shade, "marker": marker} | same
        for shade, marker in zip(colours(count), cycle(MARKERS), strict=False)
    ]


def key(name: str, **look: Any) -> Line2D:
    """Return the legend entry of a line with this look."""
    return Line2D([], [], label=name, **look)


def legend(figure: Figure, keys: Sequence[Artist], ncols: int = 1, *, right: bool = False) -> None:
    """Put the keys above all axes, at the left or the right."""
    place: Literal["outside upper right", "outside upper left"]
    place = "outside upper right" if right else "outside upper left"
    figure.legend(handles=keys, loc=place, ncols=ncols)


def strokes(value: Any, low: Any, high: Any) -> Array:
    """Return the lengths of error bars, shape (2, J); 0 where an end is not known."""
    return np.nan_to_num(np.abs([value - low, high - value]))


def draw_line(axes: Axes, x: Any, ends: Array, **look: Any) -> None:
    """Draw values and the ends of their intervals, shape (3, J); what is not finite is left out."""
    value, low, high = np.where(np.isfinite(ends), ends, np.nan)
    axes.errorbar(
        x, value, yerr=strokes(value, low, high), **{"elinewidth": 1.2, "capsize": 2, **look}
    )


def scale(axes: Axes, log: str = "y", **named: str) -> None:
    """Make axes that are drawn on logarithmic in x, y or both, rule them, and name them."""
    log_axis(axes, log)
    axes.set(**named)
    if "x" in log:
        plain_numbers(axes, "x")
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
    for bars in [
        container for container in axes.containers if isinstance(container, ErrorbarContainer)
    ]:
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


LONGEST_AT_END = 18  # letters of a name that fits beside its line; longer ones go on top
GAP = 0.055  # between two names, as a share of the axes' height
BETTER = "(lower is better)"
"""What stands beside ψ on an axis."""


def end_labels(
    axes: Axes,
    ends: Sequence[float],
    names: Sequence[str],
    colours: Sequence[str],
    marks: Sequence[str | None] | None = None,
) -> None:
    """Write each line's name right of the axes, at the height of its end.

    Parameters
    ----------
    axes : Axes
        All lines drawn; their limits are fixed here.
    ends : sequence of float
        Where each line ends, in data units.
    marks : sequence, optional
        Markers of the lines, which stand before their names.
    """
    axes.set_ylim(axes.get_ylim())
    to_share = axes.transData + axes.transAxes.inverted()
    points = [(axes.get_xlim()[1], end if np.isfinite(end) else np.inf) for end in ends]
    heights = [
        float(np.clip(to_share.transform(point)[1], 0, 1)) if np.isfinite(point[1]) else 1.0
        for point in points
    ]
    signs = [None] * len(names) if marks is None else marks
    placed = lifted(spread(heights, GAP), GAP)
    for height, name, colour, sign in zip(placed, names, colours, signs, strict=True):
        left = 7.0  # points, as markers and letters are alike wide in wide and narrow axes
        if sign is not None:
            look: dict[str, Any] = {"clip_on": False, "gid": LINE_END, "color": colour}
            axes.plot(1, height, sign, markersize=4.5, scalex=False, scaley=False,
                      transform=_right_of(axes, left), **look)  # fmt: skip
            left += 6.0
        axes.text(
            1, height, lettered(name), color=legible(colour), transform=_right_of(axes, left),
            va="center", fontsize=8, gid=LINE_END,
        )  # fmt: skip


def _right_of(axes: Axes, points: float) -> Transform:
    """Return places in shares of the axes, moved to the right by so many points."""
    assert axes.figure is not None
    moved = ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    return axes.transAxes + moved
