"""Tables of one replicate, what is counted from them, and the invariants that they hold."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from asyncdp_sim.core.arrays import Bools, Ints, Table
from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.trace.vocabulary import (
    RELEASED,
    UPDATES,
    Ending,
    EventKind,
    ExchangeOutcome,
    State,
)


@dataclass(frozen=True, eq=False)
class Trace:
    """Exchanges, owners and events of a replicate, which hold every invariant; no models.

    Attributes
    ----------
    end_tick : int
        The run covers [0, end_tick): up to update T or the one that reached the target, or the
        horizon, or the last event after which no further update could occur.
    exchanges, owners : numpy.ndarray
        Structured arrays with the columns of :mod:`asyncdp_sim.trace.vocabulary`, read-only.
    events : numpy.ndarray or None
        Every event, where the run was asked to keep them.
    in_flight_total : int
        Sum over updates of the exchanges in flight just after it, counted as the run went.
    recomputed : int
        Exchanges that were begun anew, without a request, since an answer was not delivered.
    on_air_ticks : int
        Total duration of all transmissions over a contended channel; overlapping ones count each.
    ending : Ending
        Why the run ended.
    one_on_one : bool
        Whether the protocol promises that exchanges never overlap.
    one_each : bool
        Whether it promises that an owner has at most one attempt open.
    update_ticks : array of int
        The tick of every update k = 1, 2, …, read-only.
    answers_per_update : int or None
        B, the answers that make one update; None where the protocol decides each time.
    in_order : bool
        Whether answers arrive in the order of the updates that they make. Those to several servers
        need not: while a slow one lacks answers to update k, others take some to later updates.
    answers_once : bool
        Whether an owner's first answer is its only one, and what it sends later comes of it.
    apart : int or None
        s, where an owner is asked again at least s updates later; not kept in files.
    occupation : numpy.ndarray or None
        How long each owner was in each state, and how many messages it had, where the network was
        asked to note it; columns ``OCCUPATION`` of :mod:`asyncdp_sim.trace.vocabulary`, read-only.

    Raises
    ------
    InvariantError
        At construction, if the tables contradict each other.
    """

    end_tick: int
    exchanges: Table
    owners: Table
    events: Table | None
    in_flight_total: int
    recomputed: int
    on_air_ticks: int
    ending: Ending
    one_on_one: bool
    one_each: bool
    update_ticks: Ints
    answers_per_update: int | None = 1
    in_order: bool = True
    answers_once: bool = False
    apart: int | None = None
    occupation: Table | None = None

    def __post_init__(self) -> None:
        for table in (self.exchanges, self.owners, self.events, self.update_ticks, self.occupation):
            if table is not None:
                table.setflags(write=False)
        check(self)

    @cached_property
    def updates(self) -> Table:
        """One row per answer used, by update and in the order of arrival (columns ``UPDATES``)."""
        rows, applied = self.exchanges, self.came_to(ExchangeOutcome.applied)
        end_k = rows["end_k"][applied]
        table = np.empty(len(end_k), dtype=UPDATES)
        for name in ("owner", "read_tick", "message", "peer"):
            table[name] = rows[name][applied]
        table["k"] = end_k + 1
        table["tick"] = self.update_ticks[end_k]
        table["staleness"] = end_k - rows["read_k"][applied]
        table.setflags(write=False)
        return table

    @property
    def n_updates(self) -> int:
        """Number of updates: the last k."""
        return len(self.update_ticks)

    @cached_property
    def released(self) -> Ints:
        """Distinct answers released per owner: what the privacy ledger charges."""
        sent = self.ended(*RELEASED)
        return np.minimum(sent, 1) if self.answers_once else sent

    @cached_property
    def released_before(self) -> Ints:
        """How many answers its owner had released before each exchange's own, (exchanges,).

        Answers are ordered by their release, at one tick by message. 0 where the exchange's own
        answer was not released.
        """
        rows, counts = self.exchanges, np.zeros(len(self.exchanges), dtype=np.int64)
        places = np.flatnonzero(self.came_to(*RELEASED))
        order = [rows[name][places] for name in ("message", "release_tick", "owner")]
        places = places[np.lexsort(order)]
        owners = rows["owner"][places]
        counts[places] = np.arange(len(places)) - np.searchsorted(owners, owners)
        counts.setflags(write=False)
        return counts

    @cached_property
    def numbers(self) -> Ints:
        """How many answers its owner had released before each used one, in order of ``updates``."""
        return self.released_before[self.came_to(ExchangeOutcome.applied)]

    def ended(self, *outcomes: ExchangeOutcome) -> Ints:
        """Return how many exchanges of each owner came to one of these outcomes."""
        owners = self.exchanges["owner"][self.came_to(*outcomes)]
        count = np.bincount(owners, minlength=self.n_owners + 1)[1:]
        count.setflags(write=False)
        return count

    def came_to(self, *outcomes: ExchangeOutcome) -> Bools:
        """Return which exchanges came to one of these outcomes."""
        return np.take(_chosen(outcomes), self.exchanges["outcome"])

    @property
    def n_owners(self) -> int:
        """Number of owners."""
        return len(self.owners)


@lru_cache
def _chosen(outcomes: tuple[ExchangeOutcome, ...]) -> Bools:
    """Return for each outcome whether it is one of these."""
    chosen = np.zeros(len(ExchangeOutcome), dtype=np.bool_)
    chosen[list(outcomes)] = True
    chosen.setflags(write=False)
    return chosen


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


def _check_updates(trace: "Trace", end: Ints, end_k: Ints) -> None:
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
"""Events that are checked at a time: columns of all would take half the memory of the table."""


def _column(table: Table, name: str) -> Ints:
    """Return a column that lies in one piece, which takes less time to look through."""
    return np.ascontiguousarray(table[name])


def _rises(values: Ints) -> bool:
    """Return whether no value is less than the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def _are_distinct(values: Ints) -> bool:
    if (values[1:] > values[:-1]).all():  # mostly so, and quickly seen
        return True
    ordered = np.sort(values)
    return bool((ordered[1:] > ordered[:-1]).all())


def _require(holds: object, broken: str) -> None:
    """Raise :class:`InvariantError` with the rule in words, unless it holds."""
    if not holds:
        raise InvariantError(f"the trace contradicts itself: {broken}")


def _check_occupation(trace: "Trace", rows: Table) -> None:
    ticks = np.stack([rows[state.name] for state in State])
    filled = (ticks >= 0).all() and (ticks.sum(axis=0) == trace.end_tick).all()
    _require(filled, "an owner's states do not fill the run")
    columns = trace.exchanges["owner"], trace.exchanges["transmissions"]
    sent = np.bincount(*columns, minlength=trace.n_owners + 1)[1:]
    _require((rows["answers"] >= sent).all(), "answers that were sent are not counted")
