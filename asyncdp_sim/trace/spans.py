"""Spans of time read from events: requests, queries, computing, transmissions, locks, absences."""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from asyncdp_sim.core.arrays import Table
from asyncdp_sim.trace import EventKind

REQUEST = "request"
WAITING = "waiting"
QUERY = "query"
COMPUTING = "computing"
ANSWER = "answer"
EXCHANGE = "exchange"
LOCK = "lock"
OFFLINE = "offline"

K = EventKind
Key = tuple[int, int]
_ARRIVED = {K.request_refused, K.request_queued, K.request_lost, K.query_sent}
_LANDED = {K.answer_delivered, K.answer_collided, K.answer_lost, K.answer_discarded}
_FINAL = {*_LANDED, K.query_lost, K.request_lost, K.retry, K.timeout, K.update_applied}


class Span(NamedTuple):
    """Something that lasts from one tick to another.

    Attributes
    ----------
    name : str
        One of this module's constants. A request lasts from its sending to its arrival, a wait
        from there to the query; a query until its owner has it; computing until the release; an
        answer is one transmission, latency included; an exchange lasts from the query to what
        ended it, and so does the learner's lock under ``request``.
    owner, message, attempt : int
        As in the event that began it; 0 is none.
    start, end : int
        In ticks.
    ending : EventKind or None
        What ended it; None where the end of the run did.
    """

    name: str
    owner: int
    message: int
    attempt: int
    start: int
    end: int
    ending: EventKind | None


def spans(events: Table, end_tick: int) -> list[Span]:
    """Return what lasts in one replicate, in the order of beginning.

    Parameters
    ----------
    events : structured array
        With the columns ``EVENTS`` of the trace's vocabulary, all events of the replicate.
    end_tick : int
        The end of the run, which also ends what is still open then.
    """
    travels, ticks = np.isin((K.query_received, K.clock_tick), events["kind"]).tolist()
    reader = _Reader(travels, ticks)
    for tick, kind, owner, message, attempt, _ in events.tolist():
        reader.read(tick, EventKind(kind), (owner, message), attempt)
    return sorted(reader.finish(end_tick), key=lambda span: (span.start, -span.end))


class _Reader:
    """Pairs beginnings with ends, by owner and message.

    Parameters
    ----------
    travels : bool
        Whether queries take time: else they arrive as they are sent, and no event says so.
    ticks : bool
        Whether clocks are followed: then a query to all is answered at a tick, else at once.
    """

    def __init__(self, travels: bool, ticks: bool) -> None:
        self._travels = travels
        self._ticks = ticks
        self._open: dict[tuple[str, Key], Span] = {}
        self._done: list[Span] = []
        self._landed: dict[Key, int] = {}  # the place of the last answer that ended
        self._last: dict[Key, tuple[int, EventKind]] = {}
        self._asked: set[Key] = set()
        self._to_all: dict[int, int] = {}  # by message, when a query to all was sent
        self._broadcasts: list[int] = []  # those messages, in order
        self._heard: dict[int, int] = {}  # by owner, the newest of them that it has received
        self._given_up: dict[Key, int] = {}  # when the learner's patience last ended
        self._delivered: dict[Key, int] = {}  # when its answer last arrived
        self._begun: set[Key] = set()  # exchanges
        self._serving: dict[int, Key] = {}  # by owner, its newest exchange
        self._sent: dict[int, int] = {}  # by owner, when its last transmission ended or timed out
        self._unanswered: set[int] = set()  # owners that have received a query to all
        self._starts: dict[Key, list[int]] = {}
        # By owner and newest query to all, when the owner began on an answer. Answers are numbered
        # as they are begun, so one lies between that query and the next in number, too.

    def read(self, tick: int, kind: EventKind, key: Key, attempt: int) -> None:
        """Take the next event."""
        owner, message = key
        self._last[key] = (tick, kind)
        if not self._travels and kind is not K.query_lost:
            self._arrive(key)
        if kind in _ARRIVED:
            self._end(REQUEST, key, tick, kind)
        if kind is K.clock_tick:
            self._tick(owner, tick)
        elif kind is K.went_offline:
            self._begin(OFFLINE, key, tick)
        elif kind is K.went_online:
            self._end(OFFLINE, key, tick, kind)
        elif kind is K.broadcast_sent:
            self._to_all[message] = tick
            self._broadcasts.append(message)
        elif kind is K.request_sent:
            self._asked.add(key)
            self._begin(REQUEST, key, tick)
        elif kind is K.request_queued:
            self._begin(WAITING, key, tick)
        elif kind is K.query_sent:
            self._ask(key, tick)
        elif kind in (K.query_received, K.query_lost):
            self._hear(key, tick, kind)
        elif kind in (K.answer_released, K.answer_resent):
            self._send(key, tick, attempt)
        elif kind in _LANDED:
            if kind is K.answer_delivered:
                self._delivered[key] = tick
            self._land(key, tick, kind)
        elif kind is K.timeout:
            self._given_up[key] = tick
            self._sent[owner] = tick
        elif kind is K.update_applied:
            for name in (LOCK, EXCHANGE):
                self._end(name, key, tick, kind)

    def finish(self, end_tick: int) -> list[Span]:
        """Close what is open, with its message's last event or with the run."""
        for _, key in [] if self._travels else list(self._open):
            self._arrive(key)
        for (name, key), span in self._open.items():
            tick, kind = self._last[key]
            if name in (LOCK, EXCHANGE) and key in self._given_up:
                tick, kind = self._given_up[key], K.timeout
            elif name in (LOCK, EXCHANGE) and key in self._delivered:  # it waits in the buffer
                tick, kind = self._delivered[key], K.answer_delivered
            if name == OFFLINE or kind not in _FINAL:
                self._done.append(span._replace(end=end_tick))
            else:
                self._done.append(span._replace(end=tick, ending=kind))
        return self._done

    def _ask(self, key: Key, tick: int) -> None:
        """Begin an exchange; if it was asked for, it locks the learner."""
        self._end(WAITING, key, tick, K.query_sent)
        self._begun.add(key)
        self._serving[key[0]] = key
        self._begin(EXCHANGE, key, tick)
        if key in self._asked:
            self._begin(LOCK, key, tick)
        self._begin(QUERY, key, tick)

    def _arrive(self, key: Key) -> None:
        """Let a query that takes no time, and was not lost, have arrived when it was sent."""
        if (QUERY, key) in self._open:
            self._hear(key, self._open[QUERY, key].start, K.query_received)

    def _hear(self, key: Key, tick: int, kind: EventKind) -> None:
        """End a query's journey."""
        owner, message = key
        received = kind is K.query_received
        if message not in self._to_all:
            if received:
                self._begin(COMPUTING, key, tick)
        elif kind is K.query_lost and self._heard.get(owner) == message:
            self._drop(owner)
        else:
            self._begin(QUERY, key, self._to_all[message])
            if received and message > self._heard.get(owner, 0):  # else a newer one was quicker
                self._heard[owner] = message
                self._unanswered.add(owner)
        self._end(QUERY, key, tick, kind)
        if not self._ticks:
            self._tick(owner, tick)

    def _tick(self, owner: int, tick: int) -> None:
        """Let an owner that has heard a query to all begin on its answer."""
        if owner in self._unanswered:
            self._unanswered.remove(owner)
            self._starts.setdefault((owner, self._broadcasts[-1]), []).append(tick)

    def _drop(self, owner: int) -> None:
        """Take back what a query to all began that has reached an owner at work."""
        self._unanswered.discard(owner)
        starts = self._starts.get((owner, self._broadcasts[-1]))
        if starts:
            starts.pop()

    def _work(self, key: Key, tick: int) -> None:
        """Let an answer that is ready have been worked on; it may have no query of its own.

        Then it answers a query to all, or it is the former answer, made afresh.
        """
        owner, message = key
        if key not in self._begun:
            place = bisect_left(self._broadcasts, message) - 1
            starts = self._starts.get((owner, self._broadcasts[place])) if place >= 0 else None
            former = self._serving.get(owner, key)
            for name in (LOCK, EXCHANGE):
                if not starts and (name, former) in self._open:
                    self._open[name, key] = self._open.pop((name, former))
            began = starts.pop() if starts else self._sent.get(owner, tick)
            for name in (EXCHANGE, COMPUTING):
                if (name, key) not in self._open:
                    self._begin(name, key, began)
            self._begun.add(key)
            self._serving[owner] = key

    def _send(self, key: Key, tick: int, attempt: int) -> None:
        """Begin a transmission."""
        self._work(key, tick)
        if attempt > 1:
            self._given_up.pop(key, None)  # the learner goes on waiting
        self._end(COMPUTING, key, tick, K.answer_released)
        self._begin(ANSWER, key, tick, attempt)

    def _land(self, key: Key, tick: int, kind: EventKind) -> None:
        """End a transmission; that it was of no use is known after its delivery."""
        self._sent[key[0]] = tick
        if (ANSWER, key) in self._open:
            self._landed[key] = len(self._done)
            self._end(ANSWER, key, tick, kind)
        elif kind is K.answer_discarded and key in self._landed:
            place = self._landed[key]
            self._done[place] = self._done[place]._replace(ending=kind)

    def _begin(self, name: str, key: Key, tick: int, attempt: int = 0) -> None:
        self._open[name, key] = Span(name, *key, attempt, tick, tick, None)

    def _end(self, name: str, key: Key, tick: int, kind: EventKind) -> None:
        span = self._open.pop((name, key), None)
        if span is not None:
            self._done.append(span._replace(end=tick, ending=kind))
