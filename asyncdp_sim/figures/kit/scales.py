"""Scales and ticks of axes: logarithmic ones that end, plain numbers, owners, times, shares."""

import re
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.scale import InvertedLogTransform, LogScale, LogTransform
from matplotlib.ticker import (
    FuncFormatter,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullLocator,
)

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.style import is_small, plain_text
from asyncdp_sim.scenario import Participants

LEAST, MOST = 1e-100, 1e30
"""Ends of what a logarithmic axis shows: beyond, a run has diverged, and hides all that has not.

The ticks of matplotlib overflow where an axis comes near the largest of floating-point numbers.
"""
AT_END = "beyond-axis"
"""Mark of an arrow at the frame."""
WIDE = 20.0
"""Values that span more than this ratio are on a logarithmic axis."""
FEW_OWNERS = 12  # so many have a tick each on an owners' axis
FEW_IN_PANEL = 8  # so many beside a panel among others, which is low
TILT = 30  # degrees, of names below an axis
TIME_AXIS = "simulated time $t$ (unit: mean time between ticks of a rate-one clock)"
TIME_BESIDE = "simulated time $t$ (units)"  # below one of several panels side by side
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER = re.compile(r"\$\\mathdefault\{10\^\{(-?\d+)\}\}\$")


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


def is_wide(values: npt.NDArray[Any]) -> bool:
    """Return whether finite values are positive, and span so much that an axis is logarithmic."""
    finite = values[np.isfinite(values)]
    return len(finite) > 0 and bool(finite.min() > 0 and finite.max() > WIDE * finite.min())


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


def plain_numbers(axes: Axes, side: Literal["x", "y"] = "y") -> None:
    """Write a log axis' ticks as plain numbers where it spans less than two decades.

    Longer ones have powers of ten, with ticks at twice and five times as much between them.
    """
    low, high = axes.get_ylim() if side == "y" else axes.get_xlim()
    axis = axes.yaxis if side == "y" else axes.xaxis
    if 100 * low <= high:
        axis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))  # each tick takes long to draw
        return
    within = LogLocator(subs=(1.0, 2.0, 5.0)) if 10 * low <= high else MaxNLocator(6)
    axis.set_major_locator(within)
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_locator(NullLocator())


def number_ticks(axis: Axis, places: Iterable[float]) -> None:
    """Put a tick with its number at each of these places of an axis, and no other."""
    ordered = sorted(set(places))
    axis.set_ticks(ordered, list(map(number, ordered)))
    axis.set_minor_locator(NullLocator())


def owner_ticks(axis_of: Axes, side: str, owners: Participants) -> None:
    """Put owners on their axis: names, or numbers, of a few; of many 1 and round numbers."""
    axis = axis_of.yaxis if side == "y" else axis_of.xaxis
    n_owners = len(owners.numbers)
    low = side == "y" and is_small(axis_of) and len(owners.names) == 0
    if n_owners <= (FEW_IN_PANEL if low else FEW_OWNERS):
        axis.set_ticks(range(1, n_owners + 1), [plain_text(name) for name in owners.labels])
        if side == "x" and len(owners.names) > 0:
            axis.set_tick_params(labelrotation=TILT)
        return
    round_ones = MaxNLocator(integer=True, nbins=8, steps=[1, 2, 5, 10]).tick_values(0, n_owners)
    axis.set_ticks([1, *(int(owner) for owner in round_ones if 1 < owner <= n_owners)])


def time_axis(unit: str | None, *, small: bool = False) -> str:
    """Return the name of an axis of time in a named unit or none, shorter where axes are small."""
    return in_unit(TIME_BESIDE, unit) if unit is not None or small else TIME_AXIS


def per_cent(share: float, _: object = None) -> str:
    """Return a share as a tick shows it."""
    return f"{100 * share:.3g} %"
