"""Tables of one replicate, and what is counted from them."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from asyncdp_sim.core.arrays import Bools, Ints, Table
from asyncdp_sim.trace.invariants import check
from asyncdp_sim.trace.vocabulary import RELEASED, UPDATES, Ending, ExchangeOutcome


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
        s, where owners are asked again s updates later at the earliest; not kept in files.
    occupation : numpy.ndarray or None
        What each owner was at and how many messages it had, where the network was asked to note
        it; columns ``OCCUPATION`` of :mod:`asyncdp_sim.trace.occupation`, read-only.

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

        By release, and by message at one tick; 0 where none was released.
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
        """The same of each answer used, in the order of ``updates``."""
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
