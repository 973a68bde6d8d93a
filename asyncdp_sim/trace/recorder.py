"""Takes notes while the network runs, and turns them into a trace."""

from array import array
from collections import defaultdict
from dataclasses import dataclass, replace
from math import nan
from struct import Struct
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints, Table
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.trace.occupation import Spells, State
from asyncdp_sim.trace.tables import Trace
from asyncdp_sim.trace.vocabulary import (
    EVENTS,
    EXCHANGES,
    OWNERS,
    UNRELEASED,
    Detail,
    Ending,
    EventKind,
    ExchangeOutcome,
)

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
    """Notes in the order of happening; :meth:`trace` freezes them.

    Parameters
    ----------
    n_owners : int
        Number of owners; they are numbered from 1.
    kernel : Kernel
        Tells the tick of an event.
    """

    def __init__(self, n_owners: int, kernel: Kernel) -> None:
        self._kernel = kernel
        self._rows = bytearray()
        self._pack_exchange = _packer(EXCHANGES).pack
        self.update_ticks = array("q")
        self.attempts = [0] * (n_owners + 1)
        self.refused = [0] * (n_owners + 1)
        self.unheard = [0] * (n_owners + 1)
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

    def trace(
        self,
        end_tick: int,
        ending: Ending,
        *,
        on_air_ticks: int,
        one_on_one: bool,
        one_each: bool,
        answers_per_update: int | None = 1,
        answers_once: bool = False,
        apart: int | None = None,
    ) -> Trace:
        """Return the immutable trace of a run that ended at ``end_tick``; see :class:`Trace`.

        Raises
        ------
        InvariantError
            If the notes contradict each other.
        """
        owners = np.empty(len(self.attempts) - 1, dtype=OWNERS)
        owners["owner"] = np.arange(1, len(self.attempts))
        for name in ("attempts", "refused", "unheard"):
            owners[name] = getattr(self, name)[1:]
        owners["attempts"] += self._turned_away[1:]
        owners["refused"] += self._turned_away[1:]
        owners["online"] = self.online_shares(end_tick)
        return Trace(
            end_tick=end_tick,
            exchanges=self._exchanges(),
            owners=owners,
            events=self.event_table(),
            in_flight_total=self.in_flight_total,
            recomputed=self.recomputed,
            on_air_ticks=on_air_ticks,
            ending=ending,
            one_on_one=one_on_one,
            one_each=one_each,
            update_ticks=np.array(self.update_ticks, dtype=np.int64),
            answers_per_update=answers_per_update,
            in_order=self.in_order,
            answers_once=answers_once,
            apart=apart,
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
    """Notes as well what owners are at, which others tell its ``spells``.

    Parameters
    ----------
    n_owners, kernel
        As of every recorder.
    events : bool
        Whether the trace has its events, too.
    """

    def __init__(self, n_owners: int, kernel: Kernel, *, events: bool) -> None:
        super().__init__(n_owners, kernel)
        self.spells = Spells(n_owners)
        self._wanted = events

    @override
    def online(self, owner: int) -> None:
        since = self._offline_since[owner]
        self.spells.note(owner, State.offline, since, self._kernel.tick)
        super().online(owner)

    @override
    def trace(self, end_tick: int, ending: Ending, **facts: Any) -> Trace:
        """Return the trace with the occupation of its owners."""
        for owner, since in self._offline_since.items():
            self.spells.note(owner, State.offline, since, end_tick)
        trace, events = super().trace(end_tick, ending, **facts), self.event_table()
        occupation = self.spells.occupation(events, end_tick)
        return replace(trace, events=events if self._wanted else None, occupation=occupation)
