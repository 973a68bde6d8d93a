"""Space–time diagram: the messages between owners and learner in a window of simulated time.

First the marks, which a run's events amount to, each with its kind, place and times; then their
looks; then the diagram.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks, to_units, unit_of
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.layout import MAY_GO
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import FEW_OWNERS, OKABE_ITO, plain_text, sheet, style, time_axis
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import Detail, EventKind
from asyncdp_sim.trace.spans import (
    ANSWER,
    COMPUTING,
    EXCHANGE,
    LOCK,
    OFFLINE,
    QUERY,
    REQUEST,
    WAITING,
    Span,
    spans,
)
from asyncdp_sim.trace.vocabulary import EVENTS

Events = npt.NDArray[np.void]
_KINDS = {kind.name: kind.value for kind in EventKind}
_DETAILS = {detail.name.replace("_", "-"): detail.value for detail in Detail} | {None: 0}


def tables(result: Result, replicate: int | None = None) -> dict[int, Events]:
    """Return the events of every replicate, or of one, by its number.

    Raises
    ------
    ResultError
        If the result kept no events, or its table is damaged, or lacks this replicate.
    """
    names = ("replicate", "tick", "kind", "owner", "message", "attempt", "detail")
    columns = dict(zip(names, result.columns("events", *names), strict=True))
    if replicate is not None:
        rows = columns["replicate"] == replicate
        columns = {name: column[rows] for name, column in columns.items()}
    number = columns.pop("replicate")
    if len(number) == 0:
        which = "" if replicate is None else f" of replicate {replicate}"
        raise not_a_result(result.directory, f"no events{which}")
    rows = np.empty(len(number), dtype=EVENTS)
    for name in ("tick", "owner"):
        rows[name] = columns[name]
    for name in ("message", "attempt"):  # null, which a frame reads as NaN, is none
        rows[name] = np.nan_to_num(columns[name].astype(float))
    try:
        rows["kind"] = [_KINDS[kind] for kind in columns["kind"]]
        rows["detail"] = [
            _DETAILS[detail.replace("_", "-") if isinstance(detail, str) else None]
            for detail in columns["detail"]
        ]
    except KeyError as error:
        raise not_a_result(result.directory, f"an unknown event, {error}") from None
    starts = np.flatnonzero(np.diff(number, prepend=-1) != 0)
    parts = np.split(rows, starts[1:])
    return {int(number[start]): part for start, part in zip(starts, parts, strict=True)}


K = EventKind
DROPPED, UPDATE, TIMEOUT, BROADCAST = "tick dropped", "update", "timeout", "broadcast"
TICK, RETRY, SENSED, SPENT = "tick", "retry", "channel heard busy", "budget spent"
REFUSED, QUEUED, DISCARDED = "request refused", "request queued", "answer discarded"
REQUEST_LOST, QUERY_LOST, ANSWER_LOST = "request lost", "query lost", "answer lost"
COLLIDED, UNACKNOWLEDGED = "answer collided", "acknowledgement lost"

MESSAGES = (
    REQUEST, REFUSED, QUEUED, REQUEST_LOST, QUERY, QUERY_LOST,
    ANSWER, COLLIDED, ANSWER_LOST, DISCARDED,
)  # fmt: skip
"""Marks that go from an owner to the learner, or back."""

ON_LEARNER = (LOCK, UPDATE, TIMEOUT, BROADCAST)
"""Marks on the learner's own line."""

_INSTANTS = {
    K.clock_tick: TICK,
    K.clock_dropped: DROPPED,
    K.update_applied: UPDATE,
    K.timeout: TIMEOUT,
    K.broadcast_sent: BROADCAST,
    K.retry: RETRY,
    K.budget_exhausted: SPENT,
    K.acknowledgement_lost: UNACKNOWLEDGED,
}
_ENDINGS = {
    (REQUEST, K.request_refused): REFUSED,
    (REQUEST, K.request_queued): QUEUED,
    (REQUEST, K.request_lost): REQUEST_LOST,
    (QUERY, K.query_lost): QUERY_LOST,
    (ANSWER, K.answer_collided): COLLIDED,
    (ANSWER, K.answer_lost): ANSWER_LOST,
    (ANSWER, K.answer_discarded): DISCARDED,
}


class DrawnMark(NamedTuple):
    """Something to draw.

    Attributes
    ----------
    what : str
        One of this module's names, or a span's.
    owner, message, attempt : int
        0 is none.
    start, end : int
        In ticks; equal for an instant.
    """

    what: str
    owner: int
    message: int
    attempt: int
    start: int
    end: int


def marks(events: Events, end_tick: int) -> list[DrawnMark]:
    """Return all that one replicate's events amount to, in the order of beginning."""
    drawn = [_lasting(span) for span in spans(events, end_tick) if span.name != EXCHANGE]
    drawn = [mark for mark in drawn if mark.end > mark.start or mark.what in MESSAGES]
    for tick, kind, owner, message, attempt, detail in events.tolist():
        if kind in _INSTANTS:
            name = _INSTANTS[kind]
            if name == RETRY and detail == Detail.channel_busy:
                name = SENSED
            drawn.append(DrawnMark(name, owner, message, attempt, tick, tick))
    return sorted(drawn, key=lambda mark: (mark.start, mark.end))


def within(found: Sequence[DrawnMark], start: int, end: int) -> list[DrawnMark]:
    """Return the marks that touch the window [start, end), lasting ones cut by it included."""
    return [mark for mark in found if mark.start < end and mark.end >= start]


def most_active(found: Sequence[DrawnMark], most: int, owners: Sequence[int]) -> list[int]:
    """Return the owners to show: all if they are few, else those with most marks, in order."""
    if len(owners) <= most:
        return list(owners)
    count = Counter(mark.owner for mark in found if mark.owner > 0 and mark.what != OFFLINE)
    ranked = sorted(count, key=lambda owner: (-count[owner], owner))
    return sorted(ranked[:most]) if ranked else list(owners[:most])


def of_owners(found: Sequence[DrawnMark], owners: Collection[int]) -> list[DrawnMark]:
    """Return these owners' marks, and all that happens on the learner's own line."""
    return [m for m in found if m.owner in owners or m.what in ON_LEARNER]


def _lasting(span: Span) -> DrawnMark:
    name = span.name if span.ending is None else _ENDINGS.get((span.name, span.ending), span.name)
    return DrawnMark(name, span.owner, span.message, span.attempt, span.start, span.end)


BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = OKABE_ITO[:6]
BLACK, DARK, GRAY = "#000000", "#555555", "#aaaaaa"

BROKEN = 0.5
"""How many rows above its owner's line a message breaks off which does not arrive."""
BARRIER = 0.32
"""Where a message ends that the learner turns away: just below its line."""


@dataclass(frozen=True)
class Arrow:
    """Look of a message.

    Attributes
    ----------
    colour : str
    marker : str, optional
        What it ends in, instead of a head.
    down : bool
        Whether it comes from the learner.
    broken : bool
        Whether it does not arrive.
    """

    colour: str
    marker: str | None = None
    down: bool = False
    broken: bool = False

    def sign(self) -> dict[str, Any]:
        """Return how the mark at its end is drawn."""
        return _sign(self.marker or "", self.colour, hollow=self.marker in ("o", "s"))

    def key(self) -> dict[str, Any]:
        """Return how a legend shows it."""
        if self.marker is None:
            return {"marker": "v" if self.down else "^", "markersize": 5, "linewidth": 1.0}
        shape = self.sign() | {"linestyle": "-", "linewidth": 1.0}
        shape.pop("color")
        return shape | ({"marker": "|"} if self.marker == "_" else {})


def _sign(marker: str, colour: str, size: float = 6.0, *, hollow: bool = False) -> dict[str, Any]:
    face = "white" if hollow else colour
    thin = {"markeredgewidth": 1.2 if hollow or marker == "_" else 0.5, "linestyle": "none"}
    edge = colour if hollow or marker == "_" else "white"
    return {"marker": marker, "markersize": size, "markerfacecolor": face,
            "markeredgecolor": edge, "color": colour, "zorder": 6} | thin  # fmt: skip


ARROWS = {
    REQUEST: Arrow(SKY),
    REFUSED: Arrow(ORANGE, "_"),
    QUEUED: Arrow(SKY, "o"),
    REQUEST_LOST: Arrow(PURPLE, "D", broken=True),
    QUERY: Arrow(BLUE, down=True),
    QUERY_LOST: Arrow(PURPLE, "v", down=True, broken=True),
    ANSWER: Arrow(GREEN),
    COLLIDED: Arrow(VERMILION, "X", broken=True),
    ANSWER_LOST: Arrow(PURPLE, "o", broken=True),
    DISCARDED: Arrow(DARK, "s"),
}
"""Messages."""

ON_AIR = {ANSWER, COLLIDED, ANSWER_LOST, DISCARDED}
"""Messages that hold a shared channel, shown on their owner's line meanwhile."""

BARS = {LOCK: "#c4c4c4", COMPUTING: "#f3d08a", WAITING: "#bfe2f7"}
"""What lasts, on a line."""

STROKES = {TICK: (BLACK, 0.2), DROPPED: (GRAY, 0.12)}
"""Short strokes across a line: colour and half length."""

SIGNS = {
    UPDATE: _sign("o", BLACK, 5.5),
    TIMEOUT: _sign("D", VERMILION, 5.5, hollow=True),
    BROADCAST: _sign("s", BLUE, 5.5),
    RETRY: _sign(">", ORANGE, 6.0, hollow=True),
    SENSED: _sign("s", ORANGE, 5.5, hollow=True),
    SPENT: _sign("*", BLACK, 9.0),
    UNACKNOWLEDGED: _sign("P", PURPLE, 6.5),
}
"""Instants."""

LABELS = {
    TICK: "clock tick",
    DROPPED: "tick dropped",
    REQUEST: "request",
    REFUSED: "request refused",
    QUEUED: "request queued",
    WAITING: "waits for its turn",
    REQUEST_LOST: "request lost",
    SENSED: "channel heard busy",
    RETRY: "tries again later",
    BROADCAST: "query to all",
    QUERY: "query",
    QUERY_LOST: "query lost",
    COMPUTING: "computes, waits to send",
    ANSWER: "answer",
    COLLIDED: "answer collided",
    ANSWER_LOST: "answer lost",
    DISCARDED: "answer discarded",
    UNACKNOWLEDGED: "acknowledgement lost",
    LOCK: "learner locked",
    UPDATE: "update $k$",
    TIMEOUT: "learner's timeout",
    SPENT: "budget spent",
    OFFLINE: "owner offline",
}
"""Names in the legend, in its order."""


Segment = tuple[tuple[float, float], tuple[float, float]]
INCHES_PER_NUMBER = 0.28


class Scene:
    """Axes with the learner's line on top and one line per owner below.

    Parameters
    ----------
    axes : Axes
    owners : mapping
        From the numbers of owners to their names, from top to bottom.
    window : tuple of int
        [start, end) in ticks.
    airtime : int, optional
        For how many ticks an answer is on air, where a channel is shared.
    inches : float
        Width of the window.
    has_learner : bool
        Whether the line on top is a learner's; where owners are alone it has their meetings.
    """

    def __init__(
        self,
        axes: Axes,
        owners: Mapping[int, str],
        window: tuple[int, int],
        airtime: int | None,
        inches: float,
        *,
        has_learner: bool = True,
    ) -> None:
        self._axes = axes
        self._row = {owner: row for row, owner in enumerate(owners, start=1)}
        self._window = window
        self._airtime = airtime
        self._inches = inches
        self._seen: set[str] = set()
        axes.set_xlim(*(tick / TICKS_PER_UNIT for tick in window))
        axes.set_ylim(len(owners) + 0.5, -0.7)
        above = "learner" if has_learner else "meetings"
        axes.set_yticks(range(len(owners) + 1), [above, *map(plain_text, owners.values())])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)

    def draw(self, found: Sequence[DrawnMark], first_k: int = 1) -> None:
        """Draw the marks of the window; its first update is number ``first_k``."""
        by_kind: dict[str, list[DrawnMark]] = {}
        for mark in found:
            by_kind.setdefault(mark.what, []).append(mark)
        self._seen = set(by_kind)
        self._lines(by_kind.get(OFFLINE, []))
        for kind, some in by_kind.items():
            x = np.array([_units(mark.start) for mark in some])
            if kind in BARS:
                self._bars(some, BARS[kind], 0.24 if kind == LOCK else 0.11)
            elif kind in ARROWS:
                self._messages(kind, some)
            elif kind in STROKES:
                colour, half = STROKES[kind]
                y = np.array([self._home(mark) for mark in some])
                self._axes.vlines(x, y - half, y + half, color=colour, linewidth=1.0, zorder=5)
            elif kind in SIGNS:
                self._axes.plot(x, [self._home(mark) for mark in some], **SIGNS[kind])
        travelling = {query.message for query in by_kind.get(QUERY, [])}
        sent = by_kind.get(BROADCAST, [])
        at = [_units(mark.start) for mark in sent if mark.message not in travelling]
        look: dict[str, Any] = {"color": ARROWS[QUERY].colour, "linewidth": 0.9, "zorder": 3}
        self._axes.vlines(at, 0.0, len(self._row) + 0.4, **look)  # queries that take no time
        self._numbers(by_kind.get(UPDATE, []), first_k)

    def legend(self) -> list[Artist]:
        """Return a key for each kind of mark that was drawn."""
        keys = [self._key(mark) for mark in LABELS if mark in self._seen]
        if self._airtime is not None and self._seen & ON_AIR:
            keys.append(Patch(facecolor=ARROWS[ANSWER].colour, label="on air, by how it ends"))
        return keys

    def _home(self, mark: DrawnMark) -> float:
        return 0.0 if mark.what in ON_LEARNER else float(self._row[mark.owner])

    def _lines(self, absent: Iterable[DrawnMark]) -> None:
        """Draw the learner's line, and each owner's, dotted while it is offline."""
        start, end = self._window
        away: dict[int, list[tuple[int, int]]] = {owner: [] for owner in self._row}
        for mark in absent:
            away[mark.owner].append((mark.start, mark.end))
        present: list[Segment] = [((_units(start), 0.0), (_units(end), 0.0))]
        gone: list[Segment] = []
        for owner, row in self._row.items():
            since = start
            for left, back in away[owner]:
                present.append(((_units(since), row), (_units(max(left, since)), row)))
                gone.append(((_units(left), row), (_units(back), row)))
                since = back
            present.append(((_units(since), row), (_units(max(end, since)), row)))
        self._put(present, color=DARK, linewidth=0.7, zorder=1)
        self._put(gone, color=GRAY, linewidth=0.7, linestyle=(0, (1, 3)), zorder=1)

    def _messages(self, what: str, some: Sequence[DrawnMark]) -> None:
        look = ARROWS[what]
        start, end = (
            np.array([_units(getattr(m, place)) for m in some]) for place in ("start", "end")
        )
        row = np.array([self._row[mark.owner] for mark in some], dtype=float)
        origin = np.zeros(len(some)) if look.down else row
        goal = row if look.down else np.zeros(len(some))
        if look.broken:
            goal = row - BROKEN
        elif look.marker is not None:
            goal = np.full(len(some), BARRIER)
        if look.marker is None:
            self._axes.quiver(
                start, origin, end - start, goal - origin, angles="xy", scale_units="xy", scale=1,
                units="inches", width=0.012, headwidth=6, headlength=7, headaxislength=6.5,
                minlength=0, color=look.colour, zorder=4,
            )  # fmt: skip
        else:
            tips = zip(zip(start, origin, strict=True), zip(end, goal, strict=True), strict=True)
            self._put(list(tips), color=look.colour, linewidth=0.9, zorder=4)
            self._axes.plot(end, goal, **look.sign())
        if self._airtime is not None and what in ON_AIR:
            on_air = [m._replace(end=min(m.end, m.start + self._airtime)) for m in some]
            self._bars(on_air, look.colour, 0.11)

    def _bars(self, some: Sequence[DrawnMark], colour: str, half: float) -> None:
        corners = []
        for mark in some:
            left, right, y = _units(mark.start), _units(mark.end), self._home(mark)
            box = [(left, y - half), (right, y - half), (right, y + half), (left, y + half)]
            corners.append(box)
        bars = PolyCollection(corners, facecolor=colour, edgecolor="none", zorder=2)
        self._axes.add_collection(bars, autolim=False)

    def _numbers(self, updates: Sequence[DrawnMark], first_k: int) -> None:
        """Write k above updates, as many as have room."""
        start, end = (_units(tick) for tick in self._window)
        room = (end - start) * INCHES_PER_NUMBER / self._inches
        free = start - room
        for k, mark in enumerate(updates, start=first_k):
            x = _units(mark.start)
            if x >= free:
                self._axes.text(x, -0.34, f"{k}", ha="center", va="bottom", fontsize=7, gid=MAY_GO)
                free = x + room * max(1, len(str(k)) / 3)

    def _put(self, segments: Sequence[Any], **look: Any) -> None:
        self._axes.add_collection(LineCollection(segments, **look), autolim=False)

    def _key(self, what: str) -> Artist:
        name, look = LABELS[what], SIGNS.get(what, {})
        if what in BARS:
            return Patch(facecolor=BARS[what], label=name)
        if what in ARROWS:
            look = {"color": ARROWS[what].colour} | ARROWS[what].key()
        elif what in STROKES:
            colour, _ = STROKES[what]
            look = {"linestyle": "none", "marker": "|", "markersize": 8, "color": colour}
        elif what == OFFLINE:
            look = {"color": GRAY, "linestyle": (0, (1, 3))}
        return Line2D([], [], label=name, **look)


def _units(tick: int) -> float:
    return tick / TICKS_PER_UNIT


PAGE = 9.0  # inches
WINDOW = 20.0
MOST_MESSAGES = 60  # more arrows than that hide one another


def diagram(
    result: Result,
    *,
    start: float = 0.0,
    end: float | None = None,
    happened: Events | None = None,
    window: float = WINDOW,
    most: int = MOST_MESSAGES,
    inches: float | None = None,
) -> Picture:
    """Draw every message of a window of the first replicate, owners' lines below the learner's.

    All owners of at most 12 have a line, else the 12 with most to show.

    Parameters
    ----------
    result : Result
        With events, unless they are given.
    start, end : float, optional
        The window [start, end) in time units; by default ``window`` units, or fewer where more
        than ``most`` messages would be drawn or the run is shorter.
    happened : structured array, optional
        The events of this replicate, where the result did not keep them.
    window, most : number
        Time units and messages at which a window without an ``end`` ends.
    inches : float, optional
        Width for each message, for a diagram that is wider than a page; absent, as wide as one.

    Raises
    ------
    ResultError
        If the result kept no events, or none in this window.
    """
    chosen = result.replicates[0]
    table = tables(result, chosen)[chosen] if happened is None else happened
    over = int(table["tick"][-1])
    first = to_ticks(start)
    last = min(to_ticks(start + window), over + 1) if end is None else to_ticks(end)
    until = result.scenario["run"].get("until")
    may_go_on = until is not None and to_ticks(until) > over  # after the last event
    every = marks(table, max(over, last) if may_go_on else over)
    rows = within(every, first, last)
    if len(rows) == 0:
        reason = f"no events in [{number(start)}, {number(last / TICKS_PER_UNIT)})"
        raise not_a_result(result.directory, f"{reason} of replicate {chosen}")
    participants = result.participants
    shown = most_active(rows, FEW_OWNERS, participants.numbers)
    rows = of_owners(rows, shown)
    begins = sorted(m.start for m in rows if m.what in MESSAGES and m.start >= first)
    if end is None and len(begins) > most:
        last = max(begins[most], first + 1)
        rows = within(rows, first, last)
    with style():
        sent = sum(mark.what in MESSAGES for mark in rows)
        width = PAGE if inches is None else max(PAGE, inches * sent)
        figure = sheet(width, 1.9 + 0.36 * (len(shown) + 1))
        axes = figure.add_subplot()
        named = dict(zip(participants.numbers, participants.labels, strict=True))
        called = {owner: named[owner] for owner in shown}
        airtime = result.scenario["channel"].get("airtime")
        on_air = to_ticks(airtime) if isinstance(airtime, int | float) else None
        learner = isinstance(result.network, Unknown) or result.network.protocol.has_learner
        scene = Scene(axes, called, (first, last), on_air, width - 1, has_learner=learner)
        before = sum(mark.what == UPDATE and mark.start < first for mark in every)
        scene.draw(rows, before + 1)
        time = time_axis(unit_of([result.manifest["scenario"]]))
        axes.set_xlabel(time, loc="center" if inches is None else "left")
        axes.set_ylabel("owner $i$")
        figure.legend(handles=scene.legend(), loc="outside upper left", ncols=5)
    caption = _caption(result, chosen, (first, last), shown, learner=learner)
    return Picture("space-time", figure, _as_table(rows), caption, label([result]), exact=False)


def _as_table(found: Sequence[DrawnMark]) -> Columns:
    """Return the marks as columns, times in model units."""
    columns = list(zip(*found, strict=True)) or [()] * len(DrawnMark._fields)
    table: Columns = {
        name: np.array(column) for name, column in zip(DrawnMark._fields, columns, strict=True)
    }
    return table | {name: to_units(table[name]) for name in ("start", "end")}


def _caption(
    result: Result, chosen: int, window: tuple[int, int], shown: Sequence[int], *, learner: bool
) -> str:
    low, high = (number(tick / TICKS_PER_UNIT) for tick in window)
    is_partial = len(shown) < result.n_owners
    which = f", owners {', '.join(map(str, shown))} of {result.n_owners:,}" if is_partial else ""
    when = f"for t in [{low}, {high}) of replicate {chosen}{which}. Time runs to the right"
    if not learner:
        return (
            f"Meetings of owners {when}; each owner has a line. Arrows down from the top line "
            "start a meeting of two owners; arrows up return their results. Numbers at the top "
            "are k."
        )
    locked = " The lock and the updates are those of all owners." if is_partial else ""
    return (
        f"Messages between learner and owners {when}; each owner has a line, and the learner has "
        "the top line. An arrow leads from the sending of a message to its arrival; it is vertical "
        "if the message takes no time. A message that does not arrive ends at its owner's line. "
        f"Numbers above the learner's line are k.{locked}"
    )
