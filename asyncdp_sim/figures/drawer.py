"""The one drawer: a declaration says what a picture has, and here, and nowhere else, it is drawn.

A picture has panels, a panel has marks and two sides, and a mark has its numbers, the name that a
legend or the end of its line shows, and its look.
"""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation, Transform

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import number
from asyncdp_sim.figures import style
from asyncdp_sim.scenario import Participants

Kind = Literal[
    "line", "rows", "band", "level", "upright", "span", "strokes", "bars", "steps", "note",
    "arrows", "segments", "boxes",
]  # fmt: skip
BETTER = "(lower is better)"
"""What stands beside ψ on an axis."""
BELOW = "interval-below-axis"
"""Mark of an arrow at the frame."""
LONGEST_AT_END = 18  # letters of a name that fits beside its line; longer ones go on top
GAP = 0.055  # between two names, as a share of the axes' height
KEY = 0.17  # inches of a row of a legend or of a title
KEY_LETTERS, LETTERS = 9, 13.5  # of the key before a name, and in an inch of a legend
LETTER = 0.58  # width of a letter of a title, over its size
LONG = 8  # letters of a tick's label, beyond which it is a name: names tilt, of numbers some go
AXES = 0.7  # of a panel, what its axes have
NARROW = 2.0  # inches that a panel beside another has at least in print
TALL = 1.6  # inches that the tallest axes have at least in print
SPARE = 2.0  # inches more for each panel while its room is measured: without any, it has no axes
PAGE = 9.5  # inches; what is wider is read from the left
_MINUS = re.compile(r"(?<![\w.)])-(?=\d)")
_SIGNS = re.compile(r"\\[a-zA-Z]+|[$\\{}_^]+")


@dataclass(frozen=True, eq=False)
class Layer:
    """Something drawn in a panel.

    Attributes
    ----------
    kind : str
        A ``line`` of values with the ends of their intervals (without a line: dots), or ``rows``,
        which lie on their side; a ``band`` from ``low`` to ``high``; a ``level`` line at y, an
        ``upright`` one at x, a ``span`` of levels; vertical ``strokes``, ``bars``, ``steps``; a
        ``note``, which writes ``name``; ``arrows``, ``segments`` and ``boxes`` with a row of x and
        of y for each, shape (J, 2) and of boxes (J, 4). Without numbers it has a place in the
        legend alone; a ``line`` with y alone has its ``end`` there.
    x, y, low, high : array or float, optional
        Numbers; ends are of y, of rows those of x. What is not finite is left out.
    name : str
        In the legend; empty: in none.
    end : str
        Its name beside the end of a line; in the legend where it is long or panels are many.
    look : mapping
        Colour, marker and the like, as matplotlib has them.
    """

    kind: Kind
    x: Any = None
    y: Any = None
    low: Any = None
    high: Any = None
    name: str = ""
    end: str = ""
    look: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Side:
    """One of a panel's two axes.

    Attributes
    ----------
    name : str
    log : bool
        Whether it is logarithmic.
    limits : pair
        Of the two, None is chosen from what is drawn.
    ticks : sequence of float, optional
        Where there are ticks; absent: matplotlib's. Each has its number, or one of ``labels``.
    owners : Participants, optional
        Who stands at 1 to N.
    manner : str
        ``whole`` numbers, or ``share``: per cent.
    grid : bool
        Whether lines run across the panel at its ticks.
    """

    name: str = ""
    log: bool = False
    limits: tuple[float | None, float | None] = (None, None)
    ticks: Sequence[float] | None = None
    labels: Sequence[str] | None = None
    owners: Participants | None = None
    manner: Literal["", "whole", "share"] = ""
    grid: bool = False

    def in_unit(self, unit: str | None) -> "Side":
        """Return the side with times in a named unit, if they have one."""
        return replace(self, name=in_unit(self.name, unit))


@dataclass(frozen=True, eq=False)
class Panel:
    """Marks on two sides; a ``bare`` one has no axes, and both sides have one scale."""

    marks: Sequence[Layer]
    x: Side
    y: Side
    title: str = ""
    bare: bool = False


@dataclass(frozen=True, eq=False)
class Declaration:
    """A picture's panels, with its size and its title.

    Attributes
    ----------
    panels : sequence of Panel
    size : pair of float
        Inches; a title and a long legend add their own height.
    title : str
        What is seen, in a sentence.
    across : int
        Panels side by side.
    shared : str
        Sides with the same limits in all panels; a linear one only unless a panel would be small.
    note : str
        Below the picture: what its terms and marks mean.
    """

    panels: Sequence[Panel]
    size: tuple[float, float] = (6.5, 3.6)
    title: str = ""
    across: int = 2
    shared: str = ""
    note: str = ""


def measured(x: Any, ends: Array, *, name: str = "", end: str = "", **look: Any) -> Layer:
    """Return a line of values and their intervals, shape (3, J)."""
    value, low, high = ends
    return Layer("line", x, value, low, high, name, end, look)


def draw(
    said: Declaration, width: float | None = None, foot: str = "", shade: str = style.THEORY
) -> Figure:
    """Draw a declaration.

    Parameters
    ----------
    said : Declaration
    width : float, optional
        Inches at which it is printed, if not as declared. Letters have 7 points or more, names are
        broken into more lines, and panels that would be too narrow stand below one another.
    foot, shade : str
        What is written below, and its colour.
    """
    wide = said.size[0] if width is None else width
    share, across = min(1.0, wide / said.size[0]), min(said.across, len(said.panels))
    rows = -(-len(said.panels) // across)
    if width is not None and wide < NARROW * across and not said.panels[0].bare:
        across = 1
    said = replace(said, across=across, panels=[_smaller(panel, share) for panel in said.panels])
    now = -(-len(said.panels) // across)
    at_ends = len(said.panels) == 1
    at_ends &= all(len(m.end) <= LONGEST_AT_END for panel in said.panels for m in panel.marks)
    with style.style(share):
        keys = _legend(said, wide, at_ends=at_ends)
        names = [str(key.get_label()) for key in keys]
        columns = legend_columns(names, wide * 8 / mpl.rcParams["legend.fontsize"])
        lines = legend_lines(names, columns)
        points = mpl.rcParams["legend.title_fontsize"]
        title = wrapped(said.title, int(72 * wide / (LETTER * points)), 5)
        lines += title.count("\n") + (title != "")
        letters = mpl.rcParams["xtick.labelsize"]
        below = [wrapped(foot, int(72 * inches / (0.55 * letters)), 20)
                 for inches in (said.size[0], wide)]  # fmt: skip
        note = wrapped(said.note, int(72 * wide / (0.55 * letters)), 10)
        more = note.count("\n") + (note != "") + below[1].count("\n") - below[0].count("\n")
        more *= 1.2 * letters / 72
        height = said.size[1] * now / rows * (wide / said.size[0]) ** 0.5
        spare = 0.0 if width is None else SPARE * now
        figure = style.sheet(wide, height + KEY * max(0, lines - 1) + more + spare)
        several = [figure.add_subplot(now, across, n + 1) for n in range(len(said.panels))]
        for axes, panel in zip(several, said.panels, strict=True):
            _draw(axes, panel, AXES * wide / across, AXES * height / now)
        _share(several, said)
        for axes, panel in zip(several, said.panels, strict=True):
            _finish(axes, panel, at_ends=at_ends)
        if keys or title:
            figure.legend(
                handles=keys, loc="outside upper left", ncols=columns, title=title,
                alignment="left",
            )  # fmt: skip
        small: dict[str, Any] = {"ha": "left", "fontsize": letters}
        if note:  # its empty lines keep the room of the label, which has another colour
            room = "\n" * (1 + below[1].count("\n"))
            both = figure.supxlabel(note + room, x=0.01, color=style.THEORY, **small)
            label = Annotation(below[1], (0, 0), xycoords=both, va="bottom", color=shade, **small)
            figure.add_artist(label)
        elif foot:
            figure.supxlabel(below[1], x=0.01, color=shade, **small)
        if width is not None and (engine := figure.get_layout_engine()) is not None:
            engine.execute(figure)
            tallest = max(axes.get_window_extent().height for axes in several) / figure.dpi
            missing = max(0.0, TALL - (tallest - SPARE))
            figure.set_figheight(figure.get_figheight() - spare + missing)
    return figure


def _smaller(panel: Panel, share: float) -> Panel:
    """Return a panel whose markers and letters are those of a page of ``share`` its width."""
    looks = [dict(mark.look) for mark in panel.marks]
    for look in looks:
        if "markersize" in look:
            look["markersize"] *= share**0.25
        if isinstance(look.get("fontsize"), int | float):
            look["fontsize"] = max(style.LEAST_POINTS, share * look["fontsize"])
    marks = [replace(mark, look=look) for mark, look in zip(panel.marks, looks, strict=True)]
    return replace(panel, marks=marks)


def _draw(axes: Axes, panel: Panel, inches: float, upward: float) -> None:
    """Draw the marks of a panel, and set its sides, whose names have so much room."""
    for mark in panel.marks:
        bare = mark.x is None and mark.kind not in ("level", "span")
        if not bare and not (mark.y is None and mark.low is None and mark.kind != "upright"):
            _DRAWN[mark.kind](axes, mark)
    style.log_axis(axes, "x" * panel.x.log + "y" * panel.y.log)
    for side, axis_side, room in (("x", panel.x, inches), ("y", panel.y, upward)):
        axis = axes.xaxis if side == "x" else axes.yaxis
        name = "\n".join(style.broken(line, room) for line in axis_side.name.split("\n"))
        axis.set_label_text(name)
        if axis_side.limits != (None, None):
            axes.set(**{f"{side}lim": axis_side.limits})
        if axis_side.owners is not None:
            style.owner_ticks(axes, side, axis_side.owners)
        ticks, labels = axis_side.ticks, axis_side.labels
        if ticks is not None:
            if labels is None:
                ticks = sorted(set(ticks))
                labels = list(map(number, ticks))
            named = side == "x" and max(map(len, axis_side.labels or ()), default=0) > LONG
            if named and len("  ".join(labels)) > LETTERS * room:
                axis.set_tick_params(labelrotation=style.TILT)
                labels = [text.replace("\n", ", ") for text in labels]
            axis.set_ticks(ticks, labels)
            axis.set_minor_locator(NullLocator())
        if axis_side.manner == "whole":
            axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        elif axis_side.manner == "share":
            axis.set_major_formatter(FuncFormatter(style.per_cent))
        if axis_side.grid:
            axes.grid(axis="x" if side == "x" else "y")
    if inches > AXES * PAGE:
        axes.set_xlabel(axes.get_xlabel(), loc="left")
    if panel.y.labels is not None:
        axes.tick_params(axis="y", length=0)
    if panel.bare:
        axes.set_aspect("equal")
        axes.set_axis_off()
    axes.set_title(wrapped(panel.title, int(15 / AXES * inches), 4), loc="left")


def _share(several: Sequence[Axes], said: Declaration) -> None:
    """Give panels one scale where they share it; names of axes stand at the left and below."""
    for side in said.shared:
        limits = np.array([getattr(axes, f"get_{side}lim")() for axes in several])
        low, high = limits[:, 0].min(), limits[:, 1].max()
        if limits[0, 0] > limits[0, 1]:  # upside down
            low, high = limits[:, 0].max(), limits[:, 1].min()
        log = getattr(several[0], f"get_{side}scale")() == "log"
        if log or high <= style.WIDE * limits[:, 1].min():
            for axes in several:
                axes.set(**{f"{side}lim": (low, high)})
    names = [panel.y.name for panel in said.panels]
    for place, axes in enumerate(several):
        below = place + said.across
        if below < len(several) and said.panels[below].x.name == said.panels[place].x.name:
            axes.set_xlabel("")
        if place % said.across > 0 and names[place] == names[place - 1]:
            axes.set_ylabel("")
        if place % said.across > 0 and said.panels[place].y.labels is not None:
            axes.tick_params(labelleft=False)


def _finish(axes: Axes, panel: Panel, *, at_ends: bool) -> None:
    """Write what depends on the limits: plain numbers, arrows at the frame, names at ends."""
    for side, axis_side in (("x", panel.x), ("y", panel.y)):
        if axis_side.log and axis_side.ticks is None:
            style.plain_numbers(axes, "x" if side == "x" else "y")
    if panel.y.log:
        _end_at_frame(axes)
    ended = [mark for mark in panel.marks if mark.end]
    if ended and at_ends:
        _names_at_ends(axes, ended)


def _seen(key: Line2D | Patch) -> tuple[object, ...]:
    """Return what tells a key from others: its name and its look."""
    if isinstance(key, Patch):
        return key.get_label(), key.get_facecolor()
    return key.get_label(), key.get_color(), key.get_linestyle(), key.get_marker()


def _legend(said: Declaration, wide: float, *, at_ends: bool) -> list[Line2D | Patch]:
    """Return the keys of a legend so wide, each look and name once."""
    inches = AXES * wide * style.LEAST_POINTS / mpl.rcParams["legend.fontsize"]
    most = 2 if wide > NARROW * 2 else 4  # lines of a name
    keys = list[Line2D | Patch]()
    for mark in (mark for panel in said.panels for mark in panel.marks if mark.kind != "note"):
        look = {part: value for part, value in mark.look.items() if part not in NOT_IN_KEY}
        area = mark.kind in ("band", "span", "bars", "boxes")
        for name in (mark.name, "" if at_ends else mark.end):
            rows = lettered(style.broken(name, inches)).split("\n")
            text = "\n".join(rows[:most]) + " …" * (len(rows) > most)
            if name and area:
                keys.append(Patch(label=text, **({"linewidth": 0} | look)))
            elif name:
                keys.append(Line2D([], [], label=text, **look))
    return list({_seen(key): key for key in reversed(keys)}.values())[::-1]


def _line(axes: Axes, mark: Layer) -> None:
    ends = np.array([mark.y, *([mark.y] * 2 if mark.low is None else [mark.low, mark.high])])
    value, low, high = np.where(np.isfinite(ends), ends, np.nan)
    if mark.low is None:
        axes.plot(mark.x, value, **mark.look)
        return
    look = {"elinewidth": 1.2, "capsize": 2, **mark.look}
    axes.errorbar(mark.x, value, yerr=strokes(value, low, high), **look)


def _rows(axes: Axes, mark: Layer) -> None:
    """Draw estimates and their intervals in rows; what has diverged is an arrow at the right."""
    values = np.array([mark.x, mark.low, mark.high])
    places, look = np.asarray(mark.y), dict(mark.look)
    diverged = values[0] > style.LOG_MOST
    value, low, high = np.where(np.isfinite(values) & ~diverged, values, np.nan)
    drawn = {"fmt": look.pop("marker"), "elinewidth": 1.1, "capsize": 2, **look}
    points, *_ = axes.errorbar(value, places, xerr=strokes(value, low, high), **drawn)
    points.set_clip_on(False)  # whole at the end of the axis; strokes may leave it
    if diverged.any():
        arrow = {"gid": style.AT_END, "marker": ">", "linestyle": "none", "clip_on": False, **look}
        ends = np.ones(np.count_nonzero(diverged))
        axes.plot(ends, places[diverged], transform=axes.get_yaxis_transform(), **arrow)


def _note(axes: Axes, mark: Layer) -> None:
    look: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "va": "center"}
    axes.annotate(mark.name, (mark.x, mark.y), **({"xytext": (6, 0)} | look | dict(mark.look)))


_DRAWN: Mapping[Kind, Callable[[Axes, Layer], object]] = {
    "line": _line,
    "rows": _rows,
    "band": lambda axes, m: axes.fill_between(m.x, m.low, m.high, **{"linewidth": 0, **m.look}),
    "level": lambda axes, m: axes.axhline(m.y, **m.look),
    "upright": lambda axes, m: axes.axvline(m.x, **m.look),
    "span": lambda axes, m: axes.axhspan(m.low, m.high, **{"linewidth": 0, **m.look}),
    "strokes": lambda axes, m: axes.vlines(m.x, m.low, m.high, **m.look),
    "bars": lambda axes, m: axes.bar(m.x, m.y, **m.look),
    "steps": lambda axes, m: axes.step(m.x, m.y, where="post", **m.look),
    "note": _note,
    "arrows": lambda axes, m: axes.quiver(
        m.x[:, 0], m.y[:, 0], np.diff(m.x)[:, 0], np.diff(m.y)[:, 0], angles="xy", scale=1,
        scale_units="xy", units="inches", width=0.012, headwidth=6, headlength=7,
        headaxislength=6.5, minlength=0, **m.look,
    ),
    "segments": lambda axes, m: axes.add_collection(
        LineCollection(list(np.stack([m.x, m.y], axis=2)), **m.look), autolim=False
    ),
    "boxes": lambda axes, m: axes.add_collection(
        PolyCollection(list(np.stack([m.x, m.y], axis=2)), **m.look), autolim=False
    ),
}  # fmt: skip
NOT_IN_KEY = ("markevery", "clip_on", "zorder", "width", "elinewidth", "capsize")


def strokes(value: Any, low: Any, high: Any) -> Array:
    """Return the lengths of error bars, shape (2, J); 0 where an end is not known."""
    return np.nan_to_num(np.abs([value - low, high - value]))


def reaches_zero(said: Declaration) -> bool:
    """Return whether an interval ends at the frame, since it reaches 0 or below."""
    return any(
        panel.y.log and mark.kind == "line" and mark.low is not None
        and bool(np.any((np.asarray(mark.low) <= 0) & (np.asarray(mark.high) > 0)))
        for panel in said.panels for mark in panel.marks
    )  # fmt: skip


def _end_at_frame(axes: Axes) -> None:
    """Put an arrow at the frame below strokes that reach 0: a logarithmic axis has no place for it.

    The strokes would fall through the axis, as if they ended somewhere below.
    """
    bottom, top = axes.get_ylim()
    bars = [bar for bar in axes.containers if isinstance(bar, ErrorbarContainer)]
    for strokes_of in (line for bar in bars for line in bar.lines[2]):
        ends_at = [ends for ends in strokes_of.get_segments() if len(ends) == 2]
        for ends in ends_at:
            if ends[:, 1].min() <= 0 < ends[:, 1].max():
                axes.plot(
                    ends[0, 0], bottom, "v", color=strokes_of.get_color()[0], markersize=5,
                    clip_on=False, gid=BELOW, zorder=5,
                )  # fmt: skip
    axes.set_ylim(bottom, top)


def lettered(text: str) -> str:
    """Return a text whose ``n_i`` has its index low, as in the papers, and minus signs."""
    return _MINUS.sub("−", text.replace("n_i", "nᵢ"))


def wrapped(text: str, width: int, most: int = 2) -> str:
    """Return a text in lines of so many letters; one that needs more lines is cut, and says so."""
    text = lettered(text).replace(" %", "\u00a0%").replace(" = ", "\u00a0=\u00a0")
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width)]
    if len(lines) > most:
        lines = textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    return "\n".join(lines).replace("\u00a0", " ")


def legend_lines(names: Sequence[str], columns: int) -> int:
    """Return the lines of text of a legend, which is filled column by column."""
    parts = [[name.count("\n") for name in part] for part in np.array_split(names, columns)]
    return sum(1 + max(row) for row in zip_longest(*parts, fillvalue=0))


def legend_columns(names: Sequence[str], inches: float) -> int:
    """Return in how many columns of a legend of this width the names fit, five at most."""
    letters = [max(map(len, _SIGNS.sub("", name).split("\n"))) for name in names]
    for columns in range(min(len(names), 5), 1, -1):
        widths = [max(part) for part in np.array_split(letters, columns)]
        if sum(widths) + KEY_LETTERS * columns <= LETTERS * inches:
            return columns
    return 1


def _names_at_ends(axes: Axes, ended: Sequence[Layer]) -> None:
    """Write each line's name, behind its marker, right of the axes at the height of its end."""
    axes.set_ylim(axes.get_ylim())
    to_share = axes.transData + axes.transAxes.inverted()
    last = [float(np.ravel(mark.y)[-1]) for mark in ended]
    heights = [
        float(np.clip(to_share.transform((axes.get_xlim()[1], end))[1], 0, 1))
        if np.isfinite(end) else 1.0
        for end in last
    ]  # fmt: skip
    for height, mark in zip(style.spread(heights, GAP), ended, strict=True):
        colour, sign = str(mark.look.get("color", style.THEORY)), mark.look.get("marker")
        left = 7.0  # points, as markers and letters are alike wide in wide and narrow axes
        if sign is not None:
            look: dict[str, Any] = {"clip_on": False, "gid": style.LINE_END, "color": colour}
            axes.plot(1, height, sign, markersize=4.5, scalex=False, scaley=False,
                      transform=_right_of(axes, left), **look)  # fmt: skip
            left += 6.0
        name = axes.text(1, height, lettered(mark.end), transform=_right_of(axes, left))
        name.set(color=style.legible(colour), va="center", gid=style.LINE_END)
        name.set_fontsize(mpl.rcParams["legend.fontsize"])


def _right_of(axes: Axes, points: float) -> Transform:
    """Return places in shares of the axes, moved to the right by so many points."""
    assert axes.figure is not None
    moved = ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    return axes.transAxes + moved
