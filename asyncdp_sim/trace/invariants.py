"""Invariants of every trace, checked whenever one is built, in users' runs too."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import InvariantError
from asyncdp_sim.trace.tables import Tables
from asyncdp_sim.trace.vocabulary import RELEASED, Ending, EventKind, ExchangeOutcome


def check(trace: Tables) -> None:
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


def _check_exchanges(trace: Tables) -> None:
    rows = trace.exchanges
    read, release, end = rows["read_tick"], rows["release_tick"], rows["end_tick"]
    ticks = trace.update_ticks
    if trace.ending in (Ending.updates, Ending.target):
        ended = len(ticks) > 0 and ticks[-1] == trace.end_tick
        _require(ended, "a run that an update ended goes on after it")
    _require(np.all(read <= release), "an answer left before its query")
    _require(np.all(rows["request_tick"] <= end), "an exchange ended before its request")
    _require(np.all(release <= end), "an exchange ended before its release")
    sent = rows["transmissions"] > 0
    _require(np.array_equal(sent, trace.came_to(*RELEASED)), "sent is not released")
    _require(np.all(end <= trace.end_tick), "an exchange ended after the run")
    _require(len(np.unique(rows["message"])) == len(rows), "a message was read twice")

    arrived = rows[trace.came_to(ExchangeOutcome.applied, ExchangeOutcome.buffered)]
    before = arrived["end_k"]
    made_of = np.bincount(before, minlength=trace.n_updates + 1)
    used = made_of[: trace.n_updates]
    several = trace.answers_per_update
    right = np.all(used > 0 if several is None else used == several)
    one_by_one = not trace.in_order or len(made_of) == trace.n_updates + 1
    numbered = right and np.all(np.diff(before) >= 0) and one_by_one
    _require(numbered, "updates are not numbered one by one")
    waiting = before >= trace.n_updates
    held = np.array_equal(arrived["outcome"] == ExchangeOutcome.buffered, waiting)
    full = several is not None and made_of[-1] >= several
    _require(held and not full, "the buffer does not hold what came after the last update")
    later = np.diff(arrived["end_tick"]) >= 0
    if not trace.in_order:
        later |= np.diff(before) > 0
    forward = np.all(later) and np.all(np.diff(ticks) >= 0)
    in_time = np.all(arrived["end_tick"][~waiting] <= ticks[before[~waiting]])
    _require(forward and in_time, "updates go back in time")
    _require(np.all(rows["read_k"] <= rows["end_k"]), "an exchange ended before it was read")
    # Σ staleness of finished and open jobs = Σ over updates of the jobs in flight just after it.
    # An answer that waits in the buffer is in flight until its update, and the buffer is empty
    # just after one: what is counted is the same.
    stale = rows["end_k"] - rows["read_k"]
    _require(stale.sum() == trace.in_flight_total, "staleness and jobs in flight do not balance")


def _check_requests(trace: Tables) -> None:
    owners, rows = trace.owners, trace.exchanges
    end = rows["end_tick"]
    served = np.bincount(rows["owner"], minlength=len(owners) + 1)[1:]
    waiting = owners["attempts"] - owners["refused"] - owners["unheard"] - served
    if trace.recomputed == 0:
        _require(np.all(waiting >= 0), "a request ended twice")
    _require(waiting.sum() + trace.recomputed >= 0, "a request ended twice")
    if trace.one_each:
        _require(np.all(waiting <= 1), "a request never ended")
    if trace.one_on_one:
        begin = np.maximum(rows["read_tick"], rows["request_tick"])
        order = np.lexsort((end, begin))
        overlap = end[order][:-1] > begin[order][1:]
        _require(not np.any(overlap), "two exchanges overlap in a one-on-one protocol")


def _check_events(trace: Tables, events: npt.NDArray[np.void]) -> None:
    owners = trace.owners
    _require(np.all(np.diff(events["tick"]) >= 0), "events go back in time")
    tallies = {
        EventKind.request_refused: int(owners["refused"].sum()),
        EventKind.answer_released: int(trace.released.sum()),
        EventKind.answer_delivered: int(
            trace.ended(ExchangeOutcome.applied, ExchangeOutcome.buffered).sum()
        ),
        EventKind.answer_withheld: int(trace.ended(ExchangeOutcome.withheld).sum()),
        EventKind.update_applied: trace.n_updates,
    }
    if trace.one_on_one:  # a request is sent for every attempt, a query for every one granted
        tallies[EventKind.request_sent] = int(owners["attempts"].sum())
        tallies[EventKind.query_sent] = len(trace.exchanges) - trace.recomputed
    seen = np.bincount(events["kind"], minlength=len(EventKind))
    for kind, tally in tallies.items():
        _require(int(seen[kind]) == tally, f"events and tables disagree on {kind.name}")


def _require(holds: object, broken: str) -> None:
    if not holds:
        raise InvariantError(f"the trace contradicts itself: {broken}")
