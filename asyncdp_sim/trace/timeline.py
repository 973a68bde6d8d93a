"""A run as a timeline that trace viewers open: the Trace Event Format of Chrome and Perfetto.

One process per replicate; in it a track for the learner, one for the channel and one per owner,
and further ones beside them where things overlap that do not nest. One time unit of the model
is one second there; nothing is rounded in runs of less than 9·10⁶ time units.

References
----------
Duca and Sinclair, "Trace Event Format" (2016).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from asyncdp_sim.trace import Detail, EventKind, Trace
from asyncdp_sim.trace.spans import ANSWER, EXCHANGE, LOCK, OFFLINE, QUERY, REQUEST, Span, spans

Event = dict[str, Any]
Key = tuple[int, int, int]
LEARNER, CHANNEL = 1, 2  # tracks; owner i's is i + 2
TICKS_PER_MICROSECOND = 1000

K = EventKind
INSTANTS = {
    K.clock_tick: "tick",
    K.clock_dropped: "tick dropped",
    K.request_refused: "request refused",
    K.request_lost: "request lost",
    K.query_lost: "query lost",
    K.answer_collided: "collision",
    K.answer_lost: "loss",
    K.answer_discarded: "answer discarded",
    K.answer_withheld: "answer withheld",
    K.acknowledgement_lost: "acknowledgement lost",
    K.update_applied: "update",
    K.broadcast_sent: "broadcast",
    K.timeout: "timeout",
    K.retry: "retry",
    K.budget_exhausted: "budget exhausted",
}
"""Events shown as instants, and their names; the others begin or end something that lasts."""
_TRACK = {
    K.answer_collided: CHANNEL,
    K.answer_lost: CHANNEL,
    K.request_refused: LEARNER,
    K.answer_discarded: LEARNER,
    K.update_applied: LEARNER,
    K.broadcast_sent: LEARNER,
    K.timeout: LEARNER,
}  # of the others, their owner's


def trace_events(trace: Trace, replicate: int) -> dict[str, Any]:
    """Return one replicate's timeline as the JSON object that viewers read.

    Parameters
    ----------
    trace : Trace
        With its events kept.
    replicate : int
        From 1; the number of the process.

    Raises
    ------
    ValueError
        If the events were not kept.
    """
    return {"displayTimeUnit": "ms", "traceEvents": list(_replicate(trace, replicate))}


def write_timeline(
    file: Path | TextIO,
    traces: Iterable[Trace],
    numbers: Iterable[int],
    owners: Sequence[int] | None = None,
    most: int | None = None,
) -> None:
    """Write the timeline of several replicates, one event a line; same traces, same bytes.

    Parameters
    ----------
    file : Path or text file
    traces, numbers : iterable
        The replicates' traces, with events kept, and their numbers.
    owners : sequence of int, optional
        What owners are called, where that is not 1…N.
    most : int, optional
        Events of each replicate that are written at most, the first ones; absent: all.

    Raises
    ------
    ValueError
        If the events were not kept.
    """
    if isinstance(file, Path):
        with file.open("w", encoding="utf-8", newline="\n") as opened:
            write_timeline(opened, traces, numbers, owners, most)
        return
    file.write('{"displayTimeUnit":"ms","traceEvents":[')
    before = "\n"
    for trace, number in zip(traces, numbers, strict=True):
        for event in _replicate(trace, number, owners, most):
            file.write(before + json.dumps(event, separators=(",", ":")))
            before = ",\n"
    file.write("\n]}\n")


def _replicate(
    trace: Trace,
    replicate: int,
    owners: Sequence[int] | None = None,
    most: int | None = None,
) -> Iterator[Event]:
    if trace.events is None:
        raise ValueError("a timeline needs a trace whose events were kept")
    events = trace.events[:most]
    end = trace.end_tick if len(events) == len(trace.events) else int(events["tick"][-1])
    tracks = _Tracks(replicate, owners or range(1, trace.n_owners + 1))
    lasting = list(_lasting(spans(events, end), tracks))
    yield from tracks.names()
    yield from lasting
    k = 0
    for tick, kind, owner, message, attempt, detail in events.tolist():
        if kind in INSTANTS:
            called = tracks.called(owner)
            numbers = {"owner": called, "message": message, "attempt": attempt}
            if kind == K.update_applied:
                k += 1
                numbers["k"] = k
            said: Event = {name: number for name, number in numbers.items() if number != 0}
            if detail != Detail.none:
                said["detail"] = Detail(detail).name.replace("_", "-")
            event = tracks.event("i", INSTANTS[kind], _TRACK.get(kind, owner + CHANNEL), tick)
            yield event | {"s": "t", "args": said}


def _lasting(found: Sequence[Span], tracks: "_Tracks") -> Iterator[Event]:
    """Yield what lasts, each on a track where it nests, and arrows along messages."""
    asked = {_key(span): span for span in found if span.name == REQUEST}
    whole: dict[Key, tuple[int, int]] = {}  # from first to last of what a message brings about
    for span in found:
        if span.name != LOCK:
            start, end = whole.get(_key(span), (span.start, 0))
            whole[_key(span)] = (start, max(end, span.end))
    track_of: dict[Key, int] = {}
    lock_of: dict[Key, int] = {}
    for span in found:
        key = _key(span)
        if key not in track_of:
            track_of[key] = tracks.free(span.owner + CHANNEL, *whole[key])
        if span.name == LOCK:
            lock_of[key] = tracks.free(LEARNER, span.start, span.end)
            yield tracks.lasting(span, lock_of[key], f"lock, owner {tracks.called(span.owner)}")
            yield tracks.arrow("s", REQUEST, span, track_of[key], asked[key].start)
            yield tracks.arrow("f", REQUEST, span, lock_of[key], span.start)
            continue
        if span.name == EXCHANGE:  # in the viewer, it includes an answer that comes too late
            span = span._replace(end=whole[key][1])
        yield tracks.lasting(span, track_of[key], span.name)
        if span.name == QUERY and key in lock_of and span.ending is K.query_received:
            yield tracks.arrow("s", QUERY, span, lock_of[key], span.start)
            yield tracks.arrow("f", QUERY, span, track_of[key], span.end)
        if span.name == ANSWER and span.end > span.start:
            lane = tracks.free(CHANNEL, span.start, span.end)
            yield tracks.lasting(span, lane, f"answer of owner {tracks.called(span.owner)}")


def _key(span: Span) -> Key:
    return (span.owner, span.message, span.start if span.name == OFFLINE else -1)


class _Tracks:
    """The tracks of one replicate, and the events on them."""

    def __init__(self, replicate: int, owners: Sequence[int]) -> None:
        self._replicate = replicate
        self._called = (0, *owners)
        self._lanes = {first: [first] for first in range(LEARNER, CHANNEL + len(owners) + 1)}
        self._busy_until = dict.fromkeys(self._lanes, 0)

    def called(self, owner: int) -> int:
        """Return the number that an owner is called by; 0 is none."""
        return self._called[owner]

    def free(self, first: int, start: int, end: int) -> int:
        """Return a track of this group with nothing on it from ``start`` on; now until ``end``."""
        lanes = self._lanes[first]
        chosen = next((lane for lane in lanes if self._busy_until[lane] <= start), None)
        if chosen is None:
            chosen = len(self._busy_until) + 1
            lanes.append(chosen)
        self._busy_until[chosen] = end
        return chosen

    def names(self) -> Iterator[Event]:
        """Yield the names of process and tracks, and the order in which to show the tracks."""
        about: Event = {"ph": "M", "pid": self._replicate, "ts": 0}
        name = f"replicate {self._replicate}"
        yield about | {"name": "process_name", "tid": LEARNER, "args": {"name": name}}
        place = 0
        for first, lanes in self._lanes.items():
            others = {LEARNER: "learner", CHANNEL: "channel"}
            name = others.get(first) or f"owner {self.called(first - CHANNEL)}"
            for count, lane in enumerate(lanes, start=1):
                place += 1
                said = name if count == 1 else f"{name} ({count})"
                on = about | {"tid": lane}
                yield on | {"name": "thread_name", "args": {"name": said}}
                yield on | {"name": "thread_sort_index", "args": {"sort_index": place}}

    def event(self, phase: str, name: str, track: int, tick: int) -> Event:
        """Return an event without what its phase adds."""
        on = {"pid": self._replicate, "tid": track}
        return {"ph": phase, "name": name, "cat": "network", "ts": _microseconds(tick), **on}

    def lasting(self, span: Span, track: int, name: str) -> Event:
        """Return a complete event."""
        called = self.called(span.owner)
        numbers = {"owner": called, "message": span.message, "attempt": span.attempt}
        said: Event = {name: number for name, number in numbers.items() if number != 0}
        said["end"] = "end of the run" if span.ending is None else span.ending.name
        event = self.event("X", name, track, span.start)
        return event | {"dur": _microseconds(span.end - span.start), "args": said}

    def arrow(self, phase: str, name: str, span: Span, track: int, tick: int) -> Event:
        """Return the beginning ("s") or the end ("f") of an arrow between tracks."""
        number = self._replicate * 2**40 + 2 * span.message + (name == QUERY)
        event = self.event(phase, name, track, tick) | {"id": hex(number)}
        return event | {"bp": "e"} if phase == "f" else event


def _microseconds(tick: int) -> int | float:
    whole, rest = divmod(tick, TICKS_PER_MICROSECOND)
    return whole if rest == 0 else tick / TICKS_PER_MICROSECOND
