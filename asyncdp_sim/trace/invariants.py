"""Invariants of every trace, checked whenever one is built, in users' runs too."""

from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Ints, Table
from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.trace.occupation import State
from asyncdp_sim.trace.vocabulary import RELEASED, Ending, EventKind, ExchangeOutcome

if TYPE_CHECKING:
    from asyncdp_sim.trace.tables import Trace

Column = Ints


def check(trace: "Trace") -> None:
    """Raise if the tables of a trace contradict each other.

    Raises
    ------
    InvariantError
        Naming the rule that is broken.
    """
    _check_exchanges(trace)
    _check_requests(trace)
    if trace.events is not None:
        _check_events(trace, trace.events)
    if trace.occupation is not None:
        _check_occupation(trace, trace.occupation)


def _check_exchanges(trace: "Trace") -> None:
    rows = trace.exchanges
    times = ("request_tick", "read_tick", "release_tick", "end_tick")
    request, read, release, end = (_column(rows, name) for name in times)
    ticks = trace.update_ticks
    if trace.ending in (Ending.updates, Ending.target):
        ended = len(ticks) > 0 and ticks[-1] == trace.end_tick
        _require(ended, "a run that an update ended goes on after it")
    _require((read <= release).all(), "an answer left before its query")
    _require((request <= end).all(), "an exchange ended before its request")
    _require((release <= end).all(), "an exchange ended before its release")
    sent = rows["transmissions"] > 0
    _require((sent == trace.came_to(*RELEASED)).all(), "sent is not released")
    _require((end <= trace.end_tick).all(), "an exchange ended after the run")
    _require(_are_distinct(_column(rows, "message")), "a message was read twice")
    read_k, end_k = _column(rows, "read_k"), _column(rows, "end_k")
    _check_updates(trace, end, end_k)
    _require((read_k <= end_k).all(), "an exchange ended before it was read")
    # Σ staleness of finished and open jobs = Σ over updates of the jobs in flight just after it.
    # An answer that waits in the buffer is in flight until its update, and the buffer is empty
    # just after one: what is counted is the same.
    stale = int(end_k.sum()) - int(read_k.sum())
    _require(stale == trace.in_flight_total, "staleness and jobs in flight do not balance")


def _check_updates(trace: "Trace", end: Column, end_k: Column) -> None:
    """Check the answers that arrived, and the updates that were made of them."""
    arrived = trace.came_to(ExchangeOutcome.applied, ExchangeOutcome.buffered)
    at, before, n_updates = end[arrived], end_k[arrived], trace.n_updates
    made_of = np.bincount(before, minlength=n_updates + 1)
    used = made_of[:n_updates]
    several = trace.answers_per_update
    right = (used > 0 if several is None else used == several).all()
    one_by_one = not trace.in_order or len(made_of) == n_updates + 1
    numbered = right and _rises(before) and one_by_one
    _require(numbered, "updates are not numbered one by one")
    waiting = before >= n_updates
    held = (trace.came_to(ExchangeOutcome.buffered)[arrived] == waiting).all()
    full = several is not None and made_of[-1] >= several
    _require(held and not full, "the buffer does not hold what came after the last update")
    later = at[1:] >= at[:-1]
    if not trace.in_order:
        later |= before[1:] > before[:-1]
    ticks = trace.update_ticks
    in_time = (at[~waiting] <= ticks[before[~waiting]]).all()
    _require(later.all() and _rises(ticks) and in_time, "updates go back in time")


def _check_requests(trace: "Trace") -> None:
    owners, rows = trace.owners, trace.exchanges
    served = np.bincount(rows["owner"], minlength=len(owners) + 1)[1:]
    waiting = owners["attempts"] - owners["refused"] - owners["unheard"] - served
    if trace.recomputed == 0:
        _require((waiting >= 0).all(), "a request ended twice")
    _require(waiting.sum() + trace.recomputed >= 0, "a request ended twice")
    if trace.one_each:
        _require((waiting <= 1).all(), "a request never ended")
    if trace.apart is not None:
        owner, read_k = _column(rows, "owner"), _column(rows, "read_k")
        order = np.lexsort((read_k, owner))
        soon = (np.diff(owner[order]) == 0) & (np.diff(read_k[order]) < trace.apart)
        _require(not soon.any(), "an owner was asked again too soon")
    if trace.one_on_one:
        end = _column(rows, "end_tick")
        begin = np.maximum(rows["read_tick"], rows["request_tick"])
        apart = (end[:-1] <= begin[1:]).all()  # as rows stand; else they are put in order
        if not apart:
            order = np.lexsort((end, begin))
            apart = (end[order][:-1] <= begin[order][1:]).all()
        _require(apart, "two exchanges overlap in a one-on-one protocol")


def _check_events(trace: "Trace", events: Table) -> None:
    owners, seen = trace.owners, np.zeros(len(EventKind), dtype=np.int64)
    for first in range(0, len(events), _TOGETHER):
        last = events[max(0, first - 1) : first + _TOGETHER]  # with the one before
        _require(_rises(_column(last, "tick")), "events go back in time")
        seen += np.bincount(events["kind"][first : first + _TOGETHER], minlength=len(EventKind))
    ended = np.bincount(trace.exchanges["outcome"], minlength=len(ExchangeOutcome))
    arrived = ended[ExchangeOutcome.applied] + ended[ExchangeOutcome.buffered]
    tallies = {
        EventKind.request_refused: owners["refused"].sum(),
        EventKind.answer_released: trace.released.sum(),
        EventKind.answer_delivered: arrived,
        EventKind.update_applied: trace.n_updates,
    }
    if trace.one_on_one:  # a request is sent for every attempt, a query for every one granted
        tallies[EventKind.request_sent] = owners["attempts"].sum()
        tallies[EventKind.query_sent] = len(trace.exchanges) - trace.recomputed
    for kind, tally in tallies.items():
        _require(seen[kind] == tally, f"events and tables disagree on {kind.name}")


_TOGETHER = 2**16
"""Events that are looked through at a time: columns of all would be half of their table again."""


def _column(table: Table, name: str) -> Column:
    """Return a column that lies in one piece, which takes less time to look through."""
    return np.ascontiguousarray(table[name])


def _rises(values: Column) -> bool:
    """Return whether no value is less than the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def _are_distinct(values: Column) -> bool:
    if (values[1:] > values[:-1]).all():  # mostly so, and quickly seen
        return True
    ordered = np.sort(values)
    return bool((ordered[1:] > ordered[:-1]).all())


def _require(holds: object, broken: str) -> None:
    if not holds:
        raise InvariantError(f"the trace contradicts itself: {broken}")


def _check_occupation(trace: "Trace", rows: Table) -> None:
    ticks = np.stack([rows[state.name] for state in State])
    filled = (ticks >= 0).all() and (ticks.sum(axis=0) == trace.end_tick).all()
    _require(filled, "an owner's states do not fill the run")
    columns = trace.exchanges["owner"], trace.exchanges["transmissions"]
    sent = np.bincount(*columns, minlength=trace.n_owners + 1)[1:]
    _require((rows["answers"] >= sent).all(), "answers that were sent are not counted")
