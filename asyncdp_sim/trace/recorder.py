"""Takes notes while the network runs, and turns them into a trace."""

from math import nan
from struct import Struct

import numpy as np
import numpy.typing as npt

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.trace.tables import Trace
from asyncdp_sim.trace.vocabulary import (
    EVENTS,
    EXCHANGES,
    OWNERS,
    Detail,
    EventKind,
    Outcome,
)

NO_DETAIL = Detail.none

_CODES = {"int64": "q", "int32": "i", "int16": "h", "int8": "b", "float64": "d"}


def _packer(row: np.dtype[np.void]) -> Struct:
    """Return what packs one row of a table; the bytes of all rows are the table's memory."""
    return Struct("<" + "".join(_CODES[row[name].name] for name in row.names or ()))


class Exchange:
    """A query on its way to becoming an update."""

    __slots__ = ("message", "outcome", "owner", "read_k", "read_tick", "release_tick")

    def __init__(self, message: int, owner: int, read_tick: int, read_k: int) -> None:
        self.message = message
        self.owner = owner
        self.read_tick = read_tick
        self.read_k = read_k
        self.release_tick = read_tick
        self.outcome = Outcome.unreleased


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
        self.attempts = [0] * (n_owners + 1)
        self.refused = [0] * (n_owners + 1)
        self.in_flight_total = 0
        self._offline_since: dict[int, int] = {}
        self._offline_ticks = [0] * (n_owners + 1)
        self._attended: dict[int, list[int]] = {}

    def exchange(self, exchange: Exchange, end_tick: int, end_k: int) -> None:
        """Note an exchange that has ended, or that the end of the run has cut short."""
        self._rows.extend(
            self._pack_exchange(
                exchange.message,
                exchange.owner,
                exchange.read_tick,
                exchange.read_k,
                exchange.release_tick,
                end_tick,
                end_k,
                exchange.outcome,
            )
        )

    def event(
        self,
        kind: EventKind,
        owner: int,
        message: int = 0,
        attempt: int = 0,
        detail: Detail = NO_DETAIL,
    ) -> None:
        """Note an event; this recorder keeps the tables only."""

    def offline(self, owner: int) -> None:
        """Note that an owner went offline."""
        self._offline_since[owner] = self._kernel._now
        self.event(EventKind.went_offline, owner)

    def online(self, owner: int) -> None:
        """Note that an owner came online."""
        self._offline_ticks[owner] += self._kernel._now - self._offline_since.pop(owner)
        self.event(EventKind.went_online, owner)

    def by_tick(self, owner: int) -> None:
        """Count an owner's share online by its ticks, not by time."""
        self._attended[owner] = [0, 0]

    def attended(self, owner: int, attends: bool) -> bool:
        """Note whether an owner attends to a tick, and return it."""
        self._attended[owner][attends] += 1
        return attends

    def event_table(self) -> npt.NDArray[np.void] | None:
        """Return the events, or None where they are not kept."""
        return None

    def trace(self, end_tick: int, one_on_one: bool) -> Trace:
        """Return the immutable trace of a run that ended at ``end_tick``.

        Raises
        ------
        InvariantError
            If the notes contradict each other.
        """
        numbers = range(1, len(self.attempts))
        owners = [
            (i, self.attempts[i], self.refused[i], self._online(i, end_tick)) for i in numbers
        ]
        return Trace(
            end_tick=end_tick,
            exchanges=np.frombuffer(bytes(self._rows), dtype=EXCHANGES),
            owners=np.array(owners, dtype=OWNERS),
            events=self.event_table(),
            in_flight_total=self.in_flight_total,
            one_on_one=one_on_one,
        )

    def _online(self, owner: int, end_tick: int) -> float:
        """Return the share of the run, or of its ticks, that an owner was online."""
        if owner in self._attended:
            missed, met = self._attended[owner]
            return met / (missed + met) if missed + met > 0 else nan
        dark = self._offline_ticks[owner]
        if owner in self._offline_since:
            dark += end_tick - self._offline_since[owner]
        return 1 - dark / end_tick if end_tick > 0 else nan


class EventRecorder(Recorder):
    """Keeps every event as well."""

    def __init__(self, n_owners: int, kernel: Kernel) -> None:
        super().__init__(n_owners, kernel)
        self._events = bytearray()
        self._pack_event = _packer(EVENTS).pack

    def event(
        self,
        kind: EventKind,
        owner: int,
        message: int = 0,
        attempt: int = 0,
        detail: Detail = NO_DETAIL,
    ) -> None:
        """Note an event at the current tick."""
        row = self._pack_event(self._kernel._now, kind, owner, message, attempt, detail)
        self._events.extend(row)

    def event_table(self) -> npt.NDArray[np.void] | None:
        """Return the events in the order of happening."""
        return np.frombuffer(bytes(self._events), dtype=EVENTS)
