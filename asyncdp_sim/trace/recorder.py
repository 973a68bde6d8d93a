"""Takes notes while the network runs, and turns them into a trace."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan
from struct import Struct
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints, Table
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.units import LAST_TICK
from asyncdp_sim.trace.tables import Trace
from asyncdp_sim.trace.vocabulary import (
    EVENTS,
    EXCHANGES,
    OCCUPATION,
    OWNERS,
    UNRELEASED,
    Detail,
    Ending,
    EventKind,
    ExchangeOutcome,
    State,
)

_K = EventKind


class Spells:
    """Spells of owners in states other than idle, as they are noted.

    Parameters
    ----------
    n_owners : int
    kernel : Kernel
        Its tick dates what begins or ends now.

    Attributes
    ----------
    acknowledged : list of tuple of int
        Owner (from 1) and tick of each acknowledgement that takes time, when it arrives.
    openings : list of int
        By owner (from 1), how often it helped to open a sum.
    travelling : set of int
        Owners to whom queries take time, so that an event tells when one is heard.
    """

    def __init__(self, n_owners: int, kernel: Kernel) -> None:
        self._kernel = kernel
        self._rows = array("q")
        self.acknowledged: list[tuple[int, int]] = []
        self.openings = [0] * (n_owners + 1)
        self.travelling: set[int] = set()

    def note(self, owner: int, state: State, start: int, ticks: int) -> None:
        """Note that an owner is in a state for so long, or until the run ends before."""
        if ticks > 0:
            self._rows.extend((owner, state, start, min(start + ticks, LAST_TICK)))

    def begin(self, owner: int, state: State) -> int:
        """Note that an owner is in a state from now on; return the number of the spell."""
        self._rows.extend((owner, state, self._kernel.tick, LAST_TICK))
        return len(self._rows) - 1

    def end(self, spell: int) -> None:
        """Note that a spell ends now; one that has no end lasts as long as the run."""
        self._rows[spell] = self._kernel.tick

    @property
    def rows(self) -> Ints:
        """Owner, state, start and end of each spell, shape (M, 4)."""
        return np.array(self._rows, dtype=np.int64).reshape(-1, 4)

    def occupation(self, events: Table, end_tick: int) -> Table:
        """Return the table ``OCCUPATION`` of a run that had these events."""
        n_owners = len(self.openings) - 1
        table = np.zeros(n_owners, dtype=OCCUPATION)
        table["owner"] = np.arange(1, n_owners + 1)
        for state, ticks in zip(State, occupied(self.rows, n_owners, end_tick).T, strict=True):
            table[state.name] = ticks
        kind = events["kind"]
        sent = {
            "requests": kind == _K.request_sent,
            "answers": np.isin(kind, (_K.answer_released, _K.answer_resent)),
            "queries": _heard(events, self.travelling),
        }
        for name, which in sent.items():
            table[name] = np.bincount(events["owner"][which], minlength=n_owners + 1)[1:]
        table["acknowledgements"] = self._acknowledgements(events, end_tick)
        table["openings"] = self.openings[1:]
        table.setflags(write=False)
        return table

    def _acknowledgements(self, events: Table, end_tick: int) -> Ints:
        """Return how many acknowledgements each owner heard: those that arrived and were whole."""
        came = np.array([owner for owner, tick in self.acknowledged if tick < end_tick], dtype=int)
        lost = events["owner"][events["kind"] == _K.acknowledgement_lost]
        lost, owners = lost[np.isin(lost, came)], len(self.openings)
        return (np.bincount(came, minlength=owners) - np.bincount(lost, minlength=owners))[1:]


def occupied(rows: Ints, n_owners: int, end_tick: int) -> Ints:
    """Return the ticks of [0, end_tick) that each owner is in each state, shape (N, 6).

    Spells may overlap: a tick counts for the first of their states.

    Parameters
    ----------
    rows : array (M, 4)
        Owner, state, start and end of each spell.
    n_owners, end_tick : int
    """
    owner, state, start, end = rows.T
    end = np.minimum(end, end_tick)
    order = np.lexsort((start, owner))
    order = order[end[order] > start[order]]
    edges = np.searchsorted(owner[order], np.arange(1, n_owners + 2))
    ticks_by_state = np.zeros((n_owners, len(State)), dtype=np.int64)
    for place, (a, b) in enumerate(pairwise(edges.tolist())):
        mine = order[a:b]
        ticks_by_state[place] = list(_own(state[mine], start[mine], end[mine], end_tick))
    return ticks_by_state


def _own(state: Ints, start: Ints, end: Ints, end_tick: int) -> Iterator[int]:
    """Yield one owner's ticks in each state; its spells are in the order of their starts."""
    sofar = 0
    for state_now in State:
        earlier = state <= state_now
        upto = end_tick if state_now is State.idle else covered(start[earlier], end[earlier])
        yield upto - sofar
        sofar = upto


def covered(start: Ints, end: Ints) -> int:
    """Return the ticks that intervals, in the order of their starts, cover together."""
    if len(start) == 0:
        return 0
    reach = np.maximum.accumulate(end)
    begin = np.maximum(start, np.concatenate([start[:1], reach[:-1]]))
    return int(np.maximum(reach - begin, 0).sum())


def _heard(events: Table, travelling: Collection[int]) -> Bools:
    """Return which events are the first of a query that reached its owner.

    One that takes no time is heard as it is sent, if it is not lost; one to all is heard by each
    owner in an event of its own. What is lost after it was heard was heard.
    """
    names = ("owner", "message", "kind")
    keys = np.stack([events[name].astype(np.int64) for name in names])
    owner, message, kind = keys
    which = np.array([owner, message])
    arrived = kind == _K.query_received
    lost = (kind == _K.query_lost) & ~_among(which, which[:, arrived])
    sent = (kind == _K.query_sent) & ~np.isin(owner, list(travelling))
    sent &= ~_among(which, which[:, lost]) & ~_among(which, which[:, arrived])
    return np.asarray(arrived | sent)


def _among(pairs: Ints, others: Ints) -> Bools:
    """Return which pairs of owner and message are among others, both of shape (2, M)."""
    most = int(pairs[1].max(initial=0)) + 1
    return np.isin(pairs[0] * most + pairs[1], others[0] * most + others[1])


_CODES = {"int64": "q", "int32": "i", "int16": "h", "int8": "b", "float64": "d"}


def _packer(row: np.dtype[np.void]) -> Struct:
    """Return what packs one row of a table; the bytes of all rows are the table's memory."""
    return Struct("<" + "".join(_CODES[row[name].name] for name in row.names or ()))


@dataclass(eq=False, slots=True)
class Exchange:
    """A query on its way to becoming an update.

    ``ended`` has the tick and the k at which the learner gave it up, where that was before its own
    end.
    """

    message: int
    owner: int
    request_tick: int
    read_tick: int
    read_k: int
    peer: int = 0
    release_tick: int = 0
    transmissions: int = 0
    outcome: ExchangeOutcome = UNRELEASED
    ended: tuple[int, int] | None = None


class Recorder:
    """Records exchanges and counts in the order of happening; :meth:`trace` makes tables of them.

    Parameters
    ----------
    n_owners : int
        Number of owners; they are numbered from 1.
    kernel : Kernel
        Its tick dates every event.
    """

    def __init__(self, n_owners: int, kernel: Kernel) -> None:
        self._kernel = kernel
        self._rows = bytearray()
        self._pack_exchange = _packer(EXCHANGES).pack
        self.update_ticks = array("q")
        self.attempts = [0] * (n_owners + 1)
        self.refused = [0] * (n_owners + 1)
        self.requests_lost = [0] * (n_owners + 1)
        self.recomputed = 0
        self.in_flight_total = 0
        self.in_order = True
        self._turned_away = np.zeros(n_owners + 1, dtype=np.int64)
        self._offline_since: dict[int, int] = {}
        self._offline_ticks = [0] * (n_owners + 1)
        self._attended: dict[int, list[int]] = {}
        self._all_by_tick = False

    keeps_events = False
    """Whether every event is kept, not the tables alone."""

    def exchange(self, exchange: Exchange, end_tick: int, end_k: int) -> None:
        """Note an exchange that has ended, or that the end of the run has cut short."""
        self._rows.extend(
            self._pack_exchange(
                exchange.message,
                exchange.owner,
                exchange.peer,
                exchange.request_tick,
                exchange.read_tick,
                exchange.read_k,
                exchange.release_tick,
                end_tick,
                end_k,
                exchange.transmissions,
                exchange.outcome,
            )
        )

    def event(
        self,
        kind: EventKind,
        owner: int,
        message: int = 0,
        attempt: int = 0,
        detail: Detail = Detail.none,
    ) -> None:
        """Note an event; this recorder keeps the tables only."""

    def turned_away(self, owners: Ints) -> None:
        """Note whose requests (from 1) were refused the moment they were made."""
        np.add.at(self._turned_away, owners, 1)

    def offline(self, owner: int) -> None:
        """Note that an owner went offline."""
        self._offline_since[owner] = self._kernel.tick
        self.event(EventKind.went_offline, owner)

    def online(self, owner: int) -> None:
        """Note that an owner came online."""
        self._offline_ticks[owner] += self._kernel.tick - self._offline_since.pop(owner)
        self.event(EventKind.went_online, owner)

    def by_tick(self, owner: int) -> None:
        """Count an owner's share online by its ticks, not by time."""
        self._attended[owner] = [0, 0]

    def all_by_tick(self) -> None:
        """Count every owner's share online by its ticks; owners are noted when one comes."""
        self._attended = defaultdict(lambda: [0, 0])
        self._all_by_tick = True

    def attended(self, owner: int, attends: bool) -> bool:
        """Note whether an owner attends to a tick, and return it."""
        self._attended[owner][attends] += 1
        return attends

    def event_table(self) -> Table | None:
        """Return the events, or None where they are not kept."""
        return None

    def trace(self, end_tick: int, ending: Ending, **facts: Any) -> Trace:
        """Return the immutable trace of a run that ended at ``end_tick``.

        Parameters
        ----------
        **facts
            What :class:`Trace` has besides, of which nothing was noted.

        Raises
        ------
        InvariantError
            If the notes contradict each other.
        """
        owners = np.empty(len(self.attempts) - 1, dtype=OWNERS)
        owners["owner"] = np.arange(1, len(self.attempts))
        owners["attempts"] = self.attempts[1:] + self._turned_away[1:]
        owners["refused"] = self.refused[1:] + self._turned_away[1:]
        owners["unheard"] = self.requests_lost[1:]
        owners["online"] = self.online_shares(end_tick)
        return Trace(
            end_tick=end_tick,
            exchanges=self._exchanges(),
            owners=owners,
            events=self.event_table(),
            in_flight_total=self.in_flight_total,
            recomputed=self.recomputed,
            ending=ending,
            update_ticks=np.array(self.update_ticks, dtype=np.int64),
            in_order=self.in_order,
            **facts,
        )

    def _exchanges(self) -> Table:
        """Return the exchanges; answers that arrived for an update never made are buffered."""
        rows = np.frombuffer(bytearray(self._rows), dtype=EXCHANGES)
        unused = (rows["outcome"] == ExchangeOutcome.applied) & (
            rows["end_k"] >= len(self.update_ticks)
        )
        rows["outcome"][unused] = ExchangeOutcome.buffered
        return rows

    def online_shares(self, end_tick: int) -> Array:
        """Return the share of the run, or of its ticks, that each owner was online."""
        dark = np.array(self._offline_ticks[1:])
        for owner, since in self._offline_since.items():
            dark[owner - 1] += end_tick - since
        share = 1 - dark / end_tick if end_tick > 0 else np.full(len(dark), nan)
        if self._all_by_tick:
            share[:] = nan
        for owner, (missed, met) in self._attended.items():
            share[owner - 1] = met / (missed + met) if missed + met > 0 else nan
        return share


class EventRecorder(Recorder):
    """Keeps every event as well."""

    keeps_events = True

    def __init__(self, n_owners: int, kernel: Kernel) -> None:
        super().__init__(n_owners, kernel)
        self._events = bytearray()
        self._pack_event = _packer(EVENTS).pack

    @override
    def event(
        self,
        kind: EventKind,
        owner: int,
        message: int = 0,
        attempt: int = 0,
        detail: Detail = Detail.none,
    ) -> None:
        """Note an event at the current tick."""
        self._events += self._pack_event(self._kernel.tick, kind, owner, message, attempt, detail)

    @override
    def event_table(self) -> Table:
        """Return the events in the order of happening."""
        return np.frombuffer(self._events, dtype=EVENTS)


class OccupationRecorder(EventRecorder):
    """Records the states of owners as well, in its ``spells``.

    Parameters
    ----------
    n_owners, kernel
        As of every recorder.
    events : bool
        Whether the trace has its events, too.
    """

    def __init__(self, n_owners: int, kernel: Kernel, *, events: bool) -> None:
        super().__init__(n_owners, kernel)
        self.spells = Spells(n_owners, kernel)
        self._wanted = events

    @override
    def online(self, owner: int) -> None:
        since = self._offline_since[owner]
        self.spells.note(owner, State.offline, since, self._kernel.tick - since)
        super().online(owner)

    @override
    def trace(self, end_tick: int, ending: Ending, **facts: Any) -> Trace:
        """Return the trace with the occupation of its owners."""
        for owner, since in self._offline_since.items():
            self.spells.note(owner, State.offline, since, end_tick - since)
        trace, events = super().trace(end_tick, ending, **facts), self.event_table()
        occupation = self.spells.occupation(events, end_tick)
        return replace(trace, events=events if self._wanted else None, occupation=occupation)
