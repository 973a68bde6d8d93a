"""Space–time diagram: the messages between owners and learner in a window of simulated time.

First the marks, which a run's events amount to, each with its kind, place and times; then their
looks; then the diagram.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Columns, Ints
from asyncdp_sim.core.units import TICKS_PER_UNIT, in_unit, to_ticks, to_units, unit_of
from asyncdp_sim.core.words import agreed, number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import FEW_OWNERS, MAY_GO, OKABE_ITO, plain_text, time_axis
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


def events_of(result: Result, replicate: int) -> Events:
    """Return the events of a replicate.

    Raises
    ------
    ResultError
        If the result kept no events, or its table is damaged, or lacks this replicate.
    """
    names = ("replicate", "tick", "kind", "owner", "message", "attempt", "detail")
    columns = dict(zip(names, result.columns("events", *names), strict=True))
    chosen = columns["replicate"] == replicate
    if not chosen.any():
        raise not_a_result(result.directory, f"no events of replicate {replicate}")
    columns = {name: column[chosen] for name, column in columns.items()}
    rows = np.empty(np.count_nonzero(chosen), dtype=EVENTS)
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
    return rows


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
        line = {"color": self.colour, "linestyle": "-", "linewidth": 1.0}
        if self.marker is None:
            return line | {"marker": "v" if self.down else "^", "markersize": 5}
        return self.sign() | line | ({"marker": "|"} if self.marker == "_" else {})


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


INCHES_PER_NUMBER = 0.28


@dataclass(frozen=True)
class Scene:
    """The learner's line on top and one line per owner below, in a window of time.

    Attributes
    ----------
    row : mapping
        From the numbers of owners to their lines, from the top and from 1 on.
    window : tuple of int
        [start, end) in ticks.
    airtime : int, optional
        For how many ticks an answer is on air, where a channel is shared.
    room : float
        Time units that a number above an update takes.
    """

    row: Mapping[int, int]
    window: tuple[int, int]
    airtime: int | None
    room: float

    def layers(self, found: Sequence[DrawnMark], first_k: int) -> list[Layer]:
        """Return the marks of the window as layers; its first update is number ``first_k``."""
        by_kind: dict[str, list[DrawnMark]] = {}
        for mark in found:
            by_kind.setdefault(mark.what, []).append(mark)
        drawn = self._lines(by_kind.get(OFFLINE, []))
        for kind, marks in by_kind.items():
            x, y = to_units(_column(marks, "start")), np.array([self._home(mark) for mark in marks])
            if kind in BARS:
                drawn.append(self._bars(marks, BARS[kind], 0.24 if kind == LOCK else 0.11))
            elif kind in ARROWS:
                drawn += self._messages(kind, marks)
            elif kind in STROKES:
                colour, half = STROKES[kind]
                look: dict[str, Any] = {"color": colour, "linewidth": 1.0, "zorder": 5}
                drawn.append(Layer("strokes", x, None, y - half, y + half, look=look))
            elif kind in SIGNS:
                drawn.append(Layer("line", x, y, look=SIGNS[kind]))
        travelling = {query.message for query in by_kind.get(QUERY, [])}
        sent = [mark for mark in by_kind.get(BROADCAST, []) if mark.message not in travelling]
        if len(sent) > 0:  # queries that take no time
            look = {"color": ARROWS[QUERY].colour, "linewidth": 0.9, "zorder": 3}
            x, foot = to_units(_column(sent, "start")), np.full(len(sent), len(self.row) + 0.4)
            drawn.append(Layer("strokes", x, None, 0 * foot, foot, look=look))
        drawn += self._numbers(by_kind.get(UPDATE, []), first_k)
        drawn += [_key(kind) for kind in LABELS if kind in by_kind]
        if self.airtime is not None and by_kind.keys() & ON_AIR:
            shade = {"facecolor": ARROWS[ANSWER].colour}
            drawn.append(Layer("boxes", name="on air, by how it ends", look=shade))
        return drawn

    def _home(self, mark: DrawnMark) -> float:
        return 0.0 if mark.what in ON_LEARNER else float(self.row[mark.owner])

    def _lines(self, absent: Iterable[DrawnMark]) -> list[Layer]:
        """Return the learner's line, and each owner's, dotted while it is offline."""
        start, end = self.window
        away: dict[int, list[tuple[int, int]]] = {owner: [] for owner in self.row}
        for mark in absent:
            away[mark.owner].append((mark.start, mark.end))
        present, gone = [(start, end, 0)], list[tuple[int, int, int]]()
        for owner, row in self.row.items():
            since = start
            for left, back in away[owner]:
                present.append((since, max(left, since), row))
                gone.append((left, back, row))
                since = back
            present.append((since, max(end, since), row))
        solid: dict[str, Any] = {"color": DARK, "linewidth": 0.7, "zorder": 1}
        dotted: dict[str, Any] = solid | {"color": GRAY, "linestyle": (0, (1, 3))}
        return [
            Layer("segments", to_units(part[:, :2]), part[:, [2, 2]].astype(float), look=look)
            for part, look in ((np.array(lines).reshape(-1, 3), look)
                               for lines, look in ((present, solid), (gone, dotted)))
        ]  # fmt: skip

    def _messages(self, what: str, some: Sequence[DrawnMark]) -> list[Layer]:
        look = ARROWS[what]
        row = np.array([self.row[mark.owner] for mark in some], dtype=float)
        origin, goal = np.zeros(len(some)) if look.down else row, 0 * row
        if look.broken:
            goal = row - BROKEN
        elif look.marker is not None:
            goal = np.full(len(some), BARRIER)
        elif look.down:
            goal = row
        times = to_units(np.stack([_column(some, "start"), _column(some, "end")], axis=1))
        rows = np.stack([origin, goal], axis=1)
        if look.marker is None:
            drawn = [Layer("arrows", times, rows, look={"color": look.colour, "zorder": 4})]
        else:
            line = {"color": look.colour, "linewidth": 0.9, "zorder": 4}
            drawn = [Layer("segments", times, rows, look=line),
                     Layer("line", times[:, 1], goal, look=look.sign())]  # fmt: skip
        if self.airtime is not None and what in ON_AIR:
            on_air = [m._replace(end=min(m.end, m.start + self.airtime)) for m in some]
            drawn.append(self._bars(on_air, look.colour, 0.11))
        return drawn

    def _bars(self, some: Sequence[DrawnMark], colour: str, half: float) -> Layer:
        left, right = (to_units(_column(some, end)) for end in ("start", "end"))
        y = np.array([self._home(mark) for mark in some])[:, None]
        corners = y + half * np.array([-1.0, -1.0, 1.0, 1.0])
        look = {"facecolor": colour, "edgecolor": "none", "zorder": 2}
        return Layer("boxes", np.stack([left, right, right, left], axis=1), corners, look=look)

    def _numbers(self, updates: Sequence[DrawnMark], first_k: int) -> Iterator[Layer]:
        """Yield k above updates, as many as have room."""
        free = float(to_units(self.window[0])) - self.room
        look = {"xytext": (0, 0), "ha": "center", "va": "bottom", "gid": MAY_GO}
        for k, mark in enumerate(updates, start=first_k):
            x = float(to_units(mark.start))
            if x >= free:
                yield Layer("note", x, -0.34, name=f"{k}", look=look)
                free = x + self.room * max(1, len(str(k)) / 3)


def _column(some: Sequence[DrawnMark], name: str) -> Ints:
    return np.array([getattr(mark, name) for mark in some], dtype=np.int64)


def _key(what: str) -> Layer:
    """Return what a legend shows of a kind of mark."""
    if what in BARS:
        return Layer("boxes", name=LABELS[what], look={"facecolor": BARS[what]})
    look = SIGNS.get(what, {})
    if what in ARROWS:
        look = ARROWS[what].key()
    elif what in STROKES:
        colour, _ = STROKES[what]
        look = {"linestyle": "none", "marker": "|", "markersize": 8, "color": colour}
    elif what == OFFLINE:
        look = {"color": GRAY, "linestyle": (0, (1, 3))}
    return Layer("line", name=LABELS[what], look=look)


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
    table = events_of(result, chosen) if happened is None else happened
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
    width = PAGE if inches is None else max(PAGE, inches * _sent(rows))
    airtime = result.scenario["channel"].get("airtime")
    learner = isinstance(result.network, Unknown) or result.network.protocol.has_learner
    scene = Scene(
        {owner: row for row, owner in enumerate(shown, start=1)}, (first, last),
        to_ticks(airtime) if isinstance(airtime, int | float) else None,
        float(to_units(last - first)) * INCHES_PER_NUMBER / (width - 1),
    )  # fmt: skip
    before = sum(mark.what == UPDATE and mark.start < first for mark in every)
    named = dict(zip(participants.numbers, participants.labels, strict=True))
    labels = ["learner" if learner else "meetings", *(plain_text(named[owner]) for owner in shown)]
    unit = unit_of([result.manifest["scenario"]])
    across = Side(time_axis(unit), limits=(float(to_units(first)), float(to_units(last))))
    people = Side("owner $i$", limits=(len(shown) + 0.5, -0.7), labels=labels,
                  ticks=range(len(labels)))  # fmt: skip
    panel = Panel(scene.layers(rows, before + 1), across, people)
    drawn = _as_table(rows)
    size = (width, 1.9 + 0.36 * (len(shown) + 1))
    declared = Declaration([panel], size, in_unit(happenings(drawn, last - first), unit))
    caption = _caption(result, chosen, (first, last), shown, learner=learner)
    return Picture("space-time", declared, drawn, caption, label([result]), exact=False)


def _sent(found: Sequence[DrawnMark]) -> int:
    return sum(mark.what in MESSAGES for mark in found)


def happenings(table: Columns, ticks: int) -> str:
    """Return how many messages a window has, how many updates, and how many fail."""
    kinds = table["what"].tolist()
    fails = {REQUEST_LOST, QUERY_LOST, ANSWER_LOST, COLLIDED, REFUSED, DISCARDED}
    lost = sum(kind in fails for kind in kinds)
    text = f"{number(float(to_units(ticks)))} units: {sum(kind in MESSAGES for kind in kinds)} "
    text += f"messages, {kinds.count(UPDATE)} updates"
    return agreed(f"{text}; {lost} messages are lost or refused" if lost else text)


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
