"""Space–time diagram: the messages between owners and learner in a window of simulated time.

First the looks of the kinds of marks; then the marks, which a run's events amount to, each with its
kind, place and times; then the diagram.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns, Ints, Table
from asyncdp_sim.core.units import TICKS_PER_UNIT, in_unit, to_ticks, to_units, unit_of
from asyncdp_sim.core.words import agreed, number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import CAPTIONS, Picture, label
from asyncdp_sim.figures.style import FEW_OWNERS, MAY_GO, OKABE_ITO, plain_text, time_axis
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import Detail, EventKind, spans
from asyncdp_sim.trace.vocabulary import EVENTS

_DETAILS = {detail.name.replace("_", "-"): detail.value for detail in Detail} | {None: 0}


def events_of(result: Result, replicate: int) -> Table:
    """Return the events of a replicate; no rows where nothing happened in it.

    Raises
    ------
    ResultError
        If the result kept no events, or its table is damaged.
    """
    names = ("tick", "owner", "message", "attempt", "kind", "detail")
    replicates, *columns = result.columns("events", "replicate", *names)
    chosen = replicates == replicate
    *numbers, kinds, details = (column[chosen] for column in columns)
    rows = np.empty(len(kinds), dtype=EVENTS)
    for name, values in zip(names, numbers, strict=False):
        # null, which a frame reads as NaN, is none
        rows[name] = values if name in ("tick", "owner") else np.nan_to_num(values.astype(float))
    try:
        rows["kind"] = [EventKind[kind] for kind in kinds]
        rows["detail"] = [
            _DETAILS[detail.replace("_", "-") if isinstance(detail, str) else None]
            for detail in details
        ]
    except KeyError as error:
        raise not_a_result(result.directory, f"an unknown event, {error}") from None
    return rows


K = EventKind
DROPPED, UPDATE, TIMEOUT, BROADCAST = "tick dropped", "update", "timeout", "broadcast"
TICK, RETRY, SENSED, SPENT = "tick", "retry", "channel sensed busy", "budget spent"
REFUSED, QUEUED, DISCARDED = "request refused", "request queued", "answer discarded"
REQUEST_LOST, QUERY_LOST, ANSWER_LOST = "request lost", "query lost", "answer lost"
COLLIDED, UNACKNOWLEDGED = "answer collided", "acknowledgement lost"

ON_LEARNER = (spans.LOCK, UPDATE, TIMEOUT, BROADCAST)
"""Marks on the learner's own line."""
ON_AIR = (spans.ANSWER, COLLIDED, ANSWER_LOST, DISCARDED)
"""Messages that hold a shared channel, shown on their owner's line meanwhile."""
FAILED = (REQUEST_LOST, QUERY_LOST, ANSWER_LOST, COLLIDED, REFUSED, DISCARDED)

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
_ENDINGS: Mapping[tuple[str, EventKind | None], str] = {
    (spans.REQUEST, K.request_refused): REFUSED,
    (spans.REQUEST, K.request_queued): QUEUED,
    (spans.REQUEST, K.request_lost): REQUEST_LOST,
    (spans.QUERY, K.query_lost): QUERY_LOST,
    (spans.ANSWER, K.answer_collided): COLLIDED,
    (spans.ANSWER, K.answer_lost): ANSWER_LOST,
    (spans.ANSWER, K.answer_discarded): DISCARDED,
}


@dataclass(frozen=True)
class Look:
    """Look of a kind of mark.

    Attributes
    ----------
    label : str
        Its name in the legend.
    form : str
        A ``message`` between an owner's line and the learner's; a ``bar``, a ``sign`` or a short
        ``stroke`` on a line; or a ``line`` itself.
    colour : str
    size : float
        Of a marker, in points; of a bar or a stroke half its height, in rows.
    marker : str
        The sign, or what a message ends in, instead of a head.
    hollow : bool
        Whether the marker is.
    down : bool
        Whether the message comes from the learner.
    broken : bool
        Whether the message does not arrive.
    """

    label: str
    form: Literal["message", "bar", "stroke", "sign", "line"]
    colour: str
    size: float = 6.0
    marker: str = ""
    hollow: bool = False
    down: bool = False
    broken: bool = False

    def sign(self) -> dict[str, Any]:
        """Return how the marker is drawn."""
        outlined = self.hollow or self.marker == "_"
        return {
            "marker": self.marker, "markersize": self.size, "color": self.colour, "zorder": 6,
            "markerfacecolor": "white" if self.hollow else self.colour,
            "markeredgecolor": self.colour if outlined else "white",
            "markeredgewidth": 1.2 if outlined else 0.5, "linestyle": "none",
        }  # fmt: skip

    def key(self) -> Layer:
        """Return what a legend shows."""
        if self.form == "bar":
            return Layer("boxes", name=self.label, look={"facecolor": self.colour})
        look: dict[str, Any] = {"color": self.colour}
        if self.form == "line":
            look |= {"linestyle": OFF}
        elif self.form == "stroke":
            look |= {"linestyle": "none", "marker": "|", "markersize": 8}
        elif self.marker == "":
            look |= {"linewidth": 1.0, "marker": "v" if self.down else "^", "markersize": 5}
        else:
            look = self.sign()
            if self.form == "message":
                look |= {"linestyle": "-", "linewidth": 1.0}
                look |= {"marker": "|"} if self.marker == "_" else {}
        return Layer("line", name=self.label, look=look)


BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = OKABE_ITO[:6]
BLACK, DARK, GRAY = "#000000", "#555555", "#aaaaaa"
OFF = (0, (1, 3))
"""Line of an owner that is offline."""

LOOKS = {
    TICK: Look("clock tick", "stroke", BLACK, 0.2),
    DROPPED: Look("tick dropped", "stroke", GRAY, 0.12),
    spans.REQUEST: Look("request", "message", SKY),
    REFUSED: Look("request refused", "message", ORANGE, marker="_"),
    QUEUED: Look("request queued", "message", SKY, marker="o", hollow=True),
    spans.WAITING: Look("waits for its turn", "bar", "#bfe2f7", 0.11),
    REQUEST_LOST: Look("request lost", "message", PURPLE, marker="D", broken=True),
    SENSED: Look("channel sensed busy", "sign", ORANGE, 5.5, "s", hollow=True),
    RETRY: Look("tries again later", "sign", ORANGE, 6.0, ">", hollow=True),
    BROADCAST: Look("query to all", "sign", BLUE, 5.5, "s"),
    spans.QUERY: Look("query", "message", BLUE, down=True),
    QUERY_LOST: Look("query lost", "message", PURPLE, marker="v", down=True, broken=True),
    spans.COMPUTING: Look("computes, waits to send", "bar", "#f3d08a", 0.11),
    spans.ANSWER: Look("answer", "message", GREEN),
    COLLIDED: Look("answer collided", "message", VERMILION, marker="X", broken=True),
    ANSWER_LOST: Look("answer lost", "message", PURPLE, marker="o", hollow=True, broken=True),
    DISCARDED: Look("answer discarded", "message", DARK, marker="s", hollow=True),
    UNACKNOWLEDGED: Look("acknowledgement lost", "sign", PURPLE, 6.5, "P"),
    spans.LOCK: Look("learner locked", "bar", "#c4c4c4", 0.24),
    UPDATE: Look("update $k$", "sign", BLACK, 5.5, "o"),
    TIMEOUT: Look("learner's timeout", "sign", VERMILION, 5.5, "D", hollow=True),
    SPENT: Look("budget spent", "sign", BLACK, 9.0, "*"),
    spans.OFFLINE: Look("owner offline", "line", GRAY),
}
"""Of each kind of mark, in the legend's order."""
MESSAGES = [kind for kind, look in LOOKS.items() if look.form == "message"]

MARK = np.dtype(
    [("what", "U24"), *((name, "i8") for name in ("owner", "message", "attempt", "start", "end"))]
)
"""Something to draw: what it is; owner, message and attempt, 0 being none; and its ticks."""


def marks(events: Table, end_tick: int) -> Table:
    """Return all that one replicate's events amount to, in the order of beginning."""
    lasting = [
        (_ENDINGS.get((span.name, span.ending), span.name), *span[1:-1])
        for span in spans.spans(events, end_tick)
        if span.name != spans.EXCHANGE
    ]
    rows = [row for row in lasting if row[-1] > row[-2] or row[0] in MESSAGES]
    for tick, kind, owner, message, attempt, detail in events.tolist():
        if kind in _INSTANTS:
            sensed = kind == K.retry and detail == Detail.channel_busy
            name = SENSED if sensed else _INSTANTS[kind]
            rows.append((name, owner, message, attempt, tick, tick))
    return np.array(sorted(rows, key=lambda row: row[-2:]), dtype=MARK)


def within(rows: Table, start: int, end: int) -> Table:
    """Return the marks that touch the window [start, end), lasting ones cut by it included."""
    return rows[(rows["start"] < end) & (rows["end"] >= start)]


def most_active(rows: Table, most: int, owners: Sequence[int]) -> list[int]:
    """Return the owners to show: all if they are few, else those with most marks, in order."""
    if len(owners) <= most:
        return list(owners)
    active = rows["owner"][(rows["owner"] > 0) & (rows["what"] != spans.OFFLINE)]
    numbers, count = np.unique(active, return_counts=True)
    ranked = numbers[np.argsort(-count, kind="stable")][:most]
    return sorted(ranked.tolist()) or list(owners[:most])


BROKEN = 0.5
"""How many rows above its owner's line a message breaks off which does not arrive."""
BARRIER = 0.32
"""Where a message ends that the learner turns away: just below its line."""
INCHES_PER_NUMBER = 0.28


def _layers(
    rows: Table, line: Mapping[int, int], window: tuple[int, int], airtime: int | None
) -> list[Layer]:
    """Return the marks of a window as layers: owners' lines below the learner's.

    Parameters
    ----------
    rows : structured array
    line : mapping
        From the numbers of owners to their lines, from the top and from 1 on.
    window : tuple of int
        [start, end) in ticks.
    airtime : int, optional
        For how many ticks an answer is on air, where a channel is shared.
    """
    kinds = rows["what"]
    place = np.array([line.get(owner, 0) for owner in rows["owner"].tolist()], dtype=float)
    place[np.isin(kinds, ON_LEARNER)] = 0.0
    drawn = _lines(rows[kinds == spans.OFFLINE], line, window)
    for kind in dict.fromkeys(kinds.tolist()):
        here, look = kinds == kind, LOOKS[kind]
        start, end, y = rows["start"][here], rows["end"][here], place[here]
        x = to_units(start)
        if look.form == "bar":
            drawn.append(_bars(start, end, y, look.colour, look.size))
        elif look.form == "message":
            drawn += _messages(x, to_units(end), y, look)
            if airtime is not None and kind in ON_AIR:
                drawn.append(_bars(start, np.minimum(end, start + airtime), y, look.colour, 0.11))
        elif look.form == "stroke":
            stroke: dict[str, Any] = {"color": look.colour, "linewidth": 1.0, "zorder": 5}
            drawn.append(Layer("strokes", x, None, y - look.size, y + look.size, look=stroke))
        elif look.form == "sign":
            drawn.append(Layer("line", x, y, look=look.sign()))
    travelling = rows["message"][kinds == spans.QUERY]
    sent = rows["start"][(kinds == BROADCAST) & ~np.isin(rows["message"], travelling)]
    if len(sent) > 0:  # queries that take no time
        straight = {"color": LOOKS[spans.QUERY].colour, "linewidth": 0.9, "zorder": 3}
        foot = np.full(len(sent), len(line) + 0.4)
        drawn.append(Layer("strokes", to_units(sent), None, 0 * foot, foot, look=straight))
    return drawn


def _lines(absent: Table, line: Mapping[int, int], window: tuple[int, int]) -> list[Layer]:
    """Return the learner's line, and each owner's, dotted while it is offline."""
    start, end = window
    present, gone = [(start, end, 0)], list[tuple[int, int, int]]()
    for owner, row in line.items():
        since = start
        for left, back in absent[absent["owner"] == owner][["start", "end"]].tolist():
            present.append((since, max(left, since), row))
            gone.append((left, back, row))
            since = back
        present.append((since, max(end, since), row))
    layers = []
    for parts, colour, style in ((present, DARK, "solid"), (gone, GRAY, OFF)):
        look = {"color": colour, "linestyle": style, "linewidth": 0.7, "zorder": 1}
        ends = np.array(parts).reshape(-1, 3)
        rows = ends[:, [2, 2]].astype(float)
        layers.append(Layer("segments", to_units(ends[:, :2]), rows, look=look))
    return layers


def _messages(sent: Array, arrives: Array, row: Array, look: Look) -> list[Layer]:
    """Return messages between the owners' rows and the learner's."""
    origin = 0 * row if look.down else row
    if look.broken:
        goal = row - BROKEN
    elif look.marker:
        goal = np.full(len(row), BARRIER)
    else:
        goal = row if look.down else 0 * row
    times, rows = np.stack([sent, arrives], axis=1), np.stack([origin, goal], axis=1)
    if look.marker == "":
        return [Layer("arrows", times, rows, look={"color": look.colour, "zorder": 4})]
    line = {"color": look.colour, "linewidth": 0.9, "zorder": 4}
    end = Layer("line", arrives, goal, look=look.sign())
    return [Layer("segments", times, rows, look=line), end]


def _bars(start: Ints, end: Ints, row: Array, colour: str, half: float) -> Layer:
    left, right = to_units(start), to_units(end)
    corners = row[:, None] + half * np.array([-1.0, -1.0, 1.0, 1.0])
    look = {"facecolor": colour, "edgecolor": "none", "zorder": 2}
    return Layer("boxes", np.stack([left, right, right, left], axis=1), corners, look=look)


def _numbers(updates: Ints, first_k: int, room: float) -> Iterator[Layer]:
    """Yield k above updates at these ticks, as many as have room: time units for one number."""
    free = -inf
    look = {"xytext": (0, 0), "ha": "center", "va": "bottom", "gid": MAY_GO}
    for k, x in enumerate(to_units(updates).tolist(), start=first_k):
        if x >= free:
            yield Layer("note", x, -0.34, name=f"{k}", look=look)
            free = x + room * max(1, len(str(k)) / 3)


PAGE = 9.0  # inches
WINDOW = 20.0
MOST_MESSAGES = 60  # more arrows than that hide one another


def diagram(
    result: Result,
    *,
    start: float = 0.0,
    end: float | None = None,
    happened: Table | None = None,
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
        The window [start, end) in time units; by default ``window`` units, or up to the end of the
        run where nothing happens in them; fewer where more than ``most`` messages would be drawn or
        the run is shorter.
    happened : structured array, optional
        The events of this replicate, where they are at hand; read by default.
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
    events = events_of(result, chosen) if happened is None else happened
    if len(events) == 0:
        raise not_a_result(result.directory, f"no events of replicate {chosen}")
    over = int(events["tick"][-1])
    first = to_ticks(start)
    last = min(to_ticks(start + window), over + 1) if end is None else to_ticks(end)
    until = result.scenario["run"].get("until")
    may_go_on = until is not None and to_ticks(until) > over  # after the last event
    every = marks(events, max(over, last) if may_go_on else over)
    rows = within(every, first, last)
    if len(rows) == 0 and end is None:
        last = over + 1
        rows = within(every, first, last)
    if len(rows) == 0:
        reason = f"no events in [{number(start)}, {number(last / TICKS_PER_UNIT)})"
        raise not_a_result(result.directory, f"{reason} of replicate {chosen}")
    participants = result.participants
    shown = most_active(rows, FEW_OWNERS, participants.numbers)
    rows = rows[np.isin(rows["owner"], shown) | np.isin(rows["what"], ON_LEARNER)]
    messages = rows["start"][np.isin(rows["what"], MESSAGES) & (rows["start"] >= first)]
    if end is None and len(messages) > most:
        last = max(int(messages[most]), first + 1)
        rows = within(rows, first, last)
    sent = np.count_nonzero(np.isin(rows["what"], MESSAGES))
    width = PAGE if inches is None else max(PAGE, inches * sent)
    airtime = result.scenario["channel"].get("airtime")
    on_air = to_ticks(airtime) if isinstance(airtime, int | float) else None
    learner = isinstance(result.network, Unknown) or result.network.protocol.has_learner
    line = {owner: row for row, owner in enumerate(shown, start=1)}
    made = every["start"][every["what"] == UPDATE]
    room = float(to_units(last - first)) * INCHES_PER_NUMBER / (width - 1)
    layers = [
        *_layers(rows, line, (first, last), on_air),
        *_numbers(rows["start"][rows["what"] == UPDATE], 1 + int((made < first).sum()), room),
        *(look.key() for kind, look in LOOKS.items() if kind in rows["what"]),
    ]
    if on_air is not None and np.isin(rows["what"], ON_AIR).any():
        shade = {"facecolor": LOOKS[spans.ANSWER].colour}
        layers.append(Layer("boxes", name="on air, by how it ends", look=shade))
    named = dict(zip(participants.numbers, participants.labels, strict=True))
    labels = ["learner" if learner else "meetings", *(plain_text(named[owner]) for owner in shown)]
    unit = unit_of([result.manifest["scenario"]])
    across = Side(time_axis(unit), limits=(float(to_units(first)), float(to_units(last))))
    people = Side("owner $i$", limits=(len(shown) + 0.5, -0.7), labels=labels,
                  ticks=range(len(labels)))  # fmt: skip
    table = {name: rows[name] for name in MARK.names or ()}
    table |= {name: to_units(rows[name]) for name in ("start", "end")}
    size = (width, 1.9 + 0.36 * (len(shown) + 1))
    title = in_unit(happenings(table, last - first), unit)
    declared = Declaration([Panel(layers, across, people)], size, title)
    caption = _caption(result, chosen, (first, last), shown, learner=learner)
    return Picture("space-time", declared, table, caption, label([result]), exact=False)


def happenings(table: Columns, ticks: int) -> str:
    """Return how many messages a window has, how many updates, and how many fail."""
    kinds = table["what"]
    messages, updates = np.isin(kinds, MESSAGES).sum(), (kinds == UPDATE).sum()
    lost = np.isin(kinds, FAILED).sum()
    text = f"{number(float(to_units(ticks)))} units: {messages} messages, {updates} updates"
    return agreed(f"{text}; {lost} messages are lost or refused" if lost > 0 else text)


def _caption(
    result: Result, chosen: int, window: tuple[int, int], shown: Sequence[int], *, learner: bool
) -> str:
    low, high = (number(tick / TICKS_PER_UNIT) for tick in window)
    is_partial = len(shown) < result.n_owners
    which = f", owners {', '.join(map(str, shown))} of {result.n_owners:,}" if is_partial else ""
    when = f"for t in [{low}, {high}) of replicate {chosen}{which}. Time runs to the right"
    text: str = CAPTIONS["messages" if learner else "meetings"].format(when=when)
    if learner and is_partial:
        text += " The lock and the updates are those of all owners."
    return text
