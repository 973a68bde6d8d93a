"""Marks of a space–time diagram, from a run's events: each with its kind, place and times."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.trace import Detail, EventKind
from asyncdp_sim.trace.spans import (
    ANSWER,
    EXCHANGE,
    LOCK,
    OFFLINE,
    QUERY,
    REQUEST,
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
WITHHELD = "answer withheld"

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
    K.answer_withheld: WITHHELD,
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
