"""The style of all pictures, their scales and ticks, and room for what is written."""

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.scale import InvertedLogTransform, LogScale, LogTransform
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, ResultError, blaming
from asyncdp_sim.core.files import file_bytes, unreadable
from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import number
from asyncdp_sim.scenario import Participants

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
                placed = spread([text.get_position()[1] for text in names], gap)
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
    """Return heights ≥ 0 moved as little as needed to lie ``gap`` apart, in the same order.

    Neighbours that are too close form a group, centred on the mean of its members' heights.
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))  # room that those below take
    groups: list[list[float]] = []
    for height in (np.asarray(heights)[order] - steps).tolist():
        groups.append([height])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    result = np.empty(len(heights))
    means = [fmean(group) for group in groups for _ in group]
    result[order] = steps + np.maximum(means, 0.0)
    return result.tolist()


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


OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BLUE, VERMILION, GREEN = OKABE_ITO[:3]
LIGHT_BLUE = "#7fb8d8"
DARK_BLUE = "#00304d"
MARKERS = ("o", "s", "^", "D", "v", "P")
THEORY = "#000000"
BAND = "#999999"
GRAY = "#666666"
"""Of keys that stand for lines of any colour."""

_SHEET_OF_ALL = Path(__file__).with_name("pictures.mplstyle")
_OWN = dict(mpl.rc_params_from_file(_SHEET_OF_ALL, use_default_template=False))
DPI = 180
LEGIBLE = 4.5  # contrast of small text

# Settings of the machine rather than of the picture; also those that need a screen.
_LEFT_ALONE = ("backend", "interactive", "toolbar", "tk.", "webagg.", "keymap.", "docstring.")


_SHEET: ContextVar[dict[Any, Any] | None] = ContextVar("sheet", default=None)


@contextmanager
def style_sheet(file: Path | None) -> Iterator[None]:
    """Let a matplotlib style sheet, if there is one, change the style of what is drawn meanwhile.

    Raises
    ------
    ResultError
        If the file is no style sheet.
    """
    chosen = None
    if file is not None:
        with blaming(file):
            chosen = _settings(file)
    token = _SHEET.set(chosen)
    try:
        yield
    finally:
        _SHEET.reset(token)


def _settings(file: Path) -> dict[Any, Any]:
    """Return the settings of a style sheet; matplotlib itself passes over unknown ones."""
    remedy = "allowed is a matplotlib style sheet: lines such as font.family: serif"
    try:
        lines = file_bytes(file).decode().splitlines()
        for line in lines:
            key = line.partition("#")[0].partition(":")[0].strip()
            if key not in {"", *mpl.rcParams}:
                raise ValueError(f"the setting {key!r}")
        return dict(mpl.rc_params_from_file(file, fail_on_error=True, use_default_template=False))
    except (OSError, UnicodeDecodeError) as error:
        cause, remedy = repr(str(file)), f"{unreadable(error)}; {remedy}"
    except ValueError as error:
        cause = str(error)
    raise ResultError([Fault("", cause, remedy)])


@contextmanager
def style(share: float = 1.0) -> Iterator[None]:
    """Apply the style of all figures, and a style sheet that was chosen; restore all afterwards.

    Letters are as large as on a page of ``share`` its width, and legible.
    """
    settings: dict[Any, Any] = {
        key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith(_LEFT_ALONE)
    }
    sizes = {key: max(LEAST_POINTS, share * _OWN[key]) for key in _OWN if key.endswith("size")}
    settings |= _OWN | sizes | {"lines.markersize": 6 * share**0.25, "savefig.dpi": DPI}
    with mpl.rc_context(settings | (_SHEET.get() or {})), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # of a name: boxes
        yield


def sheet(width: float, height: float) -> Figure:
    """Return an empty figure (sizes in inches), drawn without a screen.

    matplotlib's constrained layout makes room for what is written around axes.
    """
    figure = Figure(figsize=(width, height), layout=Layout())
    FigureCanvasAgg(figure)
    return figure


def colours(count: int) -> Sequence[str]:
    """Return colours that the colour-blind can tell apart; many come in viridis' order.

    Neighbours among many are alike, so that their lines want markers too.
    """
    if count <= len(OKABE_ITO):
        return OKABE_ITO[:count]
    shades = mpl.colormaps["viridis"]
    return [mpl.colors.to_hex(shades(0.85 * step / (count - 1))) for step in range(count)]


def looks(count: int, **same: Any) -> list[dict[str, Any]]:
    """Return a colour and a marker for each of so many lines, and what is the same for all."""
    return [
        {"color": shade, "marker": marker} | same
        for shade, marker in zip(colours(count), cycle(MARKERS), strict=False)
    ]


def contrast(colour: str) -> float:
    """Return a colour's contrast with white, from 1 to 21 (WCAG's ratio of luminances)."""
    shares = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in mpl.colors.to_rgb(colour)
    ]
    luminance = sum(w * share for w, share in zip((0.2126, 0.7152, 0.0722), shares, strict=True))
    return 1.05 / (luminance + 0.05)


def legible(colour: str) -> str:
    """Return a colour as text on white wants it: darker, until its contrast is 4.5."""
    rgb = mpl.colors.to_rgb(colour)
    while contrast(mpl.colors.to_hex(rgb)) < LEGIBLE:
        red, green, blue = rgb
        rgb = 0.95 * red, 0.95 * green, 0.95 * blue
    return str(mpl.colors.to_hex(rgb))


def plain_text(text: str) -> str:
    """Return a text as it is drawn where it is of others, who may mean a dollar by ``$``."""
    return text.replace("$", r"\$")


LOG_LEAST, LOG_MOST = 1e-100, 1e30
"""Ends of what a logarithmic axis shows: beyond, a run has diverged, and hides all that has not.

The ticks of matplotlib overflow where an axis comes near the largest of floating-point numbers.
"""
AT_END = "beyond-axis"
"""Mark of an arrow at the frame."""
WIDE = 20.0
"""Values that span more than this ratio are on a logarithmic axis."""
FEW_OWNERS = 12  # so many have a tick each on an owners' axis
TILT = 30  # degrees, of names below an axis
UNITS = "(units)"
TICKS_OF_A_CLOCK = "(unit: mean time between ticks of a rate-one clock)"
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
        or (axes.get_xscale() == "log" and axes.dataLim.x1 > LOG_MOST)
        or (axes.get_yscale() == "log" and axes.dataLim.y1 > LOG_MOST)
        for axes in figure.axes
    )


def is_wide(values: npt.NDArray[Any]) -> bool:
    """Return whether finite values are positive, and span so much that an axis is logarithmic."""
    finite = values[np.isfinite(values)]
    return len(finite) > 0 and bool(finite.min() > 0 and finite.max() > WIDE * finite.min())


class _Framed(LogScale):
    """A logarithmic scale whose axis has its ends between ``LOG_LEAST`` and ``LOG_MOST``."""

    def __init__(self) -> None:
        super().__init__(None)  # the axis, which newer versions need not be told
        self._transform = _Log(10)

    def limit_range_for_scale(self, vmin: float, vmax: float, minpos: float) -> tuple[float, float]:
        low, high = super().limit_range_for_scale(vmin, vmax, minpos)
        return max(low, LOG_LEAST), min(high, LOG_MOST)

    def set_default_locators_and_formatters(self, axis: Axis) -> None:
        super().set_default_locators_and_formatters(axis)
        axis.set_major_formatter(_Powers(self.base))


class _Powers(ticker.LogFormatterSciNotation):
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
        bounded = np.clip(np.asarray(values, dtype=float), np.log10(LOG_LEAST), np.log10(LOG_MOST))
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
        axis.set_minor_locator(ticker.LogLocator(subs=(2.0, 5.0)))  # each tick takes long to draw
        return
    within = ticker.LogLocator(subs=(1.0, 2.0, 5.0)) if 10 * low <= high else ticker.MaxNLocator(6)
    axis.set_major_locator(within)
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_locator(ticker.NullLocator())


def owner_ticks(axis_of: Axes, side: str, owners: Participants) -> None:
    """Put owners on their axis: names, or numbers, of a few; of many 1 and round numbers."""
    axis = axis_of.yaxis if side == "y" else axis_of.xaxis
    n_owners = len(owners.numbers)
    if n_owners <= FEW_OWNERS:
        axis.set_ticks(range(1, n_owners + 1), [plain_text(name) for name in owners.labels])
        if side == "x" and len(owners.names) > 0:
            axis.set_tick_params(labelrotation=TILT)
        return
    locator = ticker.MaxNLocator(integer=True, nbins=8, steps=[1, 2, 5, 10])
    round_ones = locator.tick_values(0, n_owners)
    axis.set_ticks([1, *(int(owner) for owner in round_ones if 1 < owner <= n_owners)])


def time_axis(unit: str | None) -> str:
    """Return the name of an axis of time in a named unit or none."""
    axis = f"simulated time $t$ {UNITS}"
    return axis.replace(UNITS, TICKS_OF_A_CLOCK) if unit is None else in_unit(axis, unit)


def per_cent(share: float, _: object = None) -> str:
    """Return a share as a tick shows it."""
    return f"{100 * share:.3g} %"
