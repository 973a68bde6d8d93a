"""Exchanges between owners and learner, from their queries to their ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from asyncdp_sim.core.kernel import Kernel, Priority, Signal
from asyncdp_sim.trace import Detail, EventKind, Exchange, ExchangeOutcome, Recorder
from asyncdp_sim.trace.vocabulary import UNRELEASED


class Absences:
    """Signals to processes that wait until an owner is back, free, or gone for good.

    Parameters
    ----------
    kernel : Kernel
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ends: dict[int, Signal] = {}

    def end(self, owner: int) -> Signal:
        """Return the signal that an owner is back, is free again, or has left for good."""
        return self._ends.setdefault(owner, Signal(self._kernel))

    def over(self, owner: int) -> None:
        """Wake the process that waits for an owner, so that it checks that owner again."""
        awaited = self._ends.pop(owner, None)
        if awaited is not None:
            awaited.fire(self._kernel.tick, Priority.QUERY_ARRIVES)

    def dropped(self, owner: int) -> list[Any]:
        """Return the callbacks of processes that wait for an owner, which the caller must wake."""
        awaited = self._ends.pop(owner, None)
        return [] if awaited is None else awaited.callbacks


class Learning:
    """Receives every read and update of a network; this base ignores them and trains no model."""

    def read(self, owner: int, message: int, peer: int = 0) -> None:
        """Form the query for ``owner`` (from 1) from the model as it is now.

        ``peer`` says whose model, where there are several; see :data:`~.vocabulary.EXCHANGES`.
        """

    def apply(self, owner: int, message: int, peer: int = 0) -> None:
        """Use the owner's answer to the query of this message for the next update."""

    def update(self) -> None:
        """Note that the answers used since the last update make the next one."""

    def release(self, owner: int, message: int) -> None:
        """Note that the owner's answer to this query begins to be sent, and is charged."""

    def reached(self) -> bool:
        """Return whether the model has reached its target; asked after updates that may end it."""
        return False

    def server_step(self, server: int) -> None:
        """Note that one of several servers (from 1) makes its next step."""

    def broadcast(self) -> object:
        """Return what :meth:`take` needs later to form queries from the model as it is now."""
        return None

    def take(self, owner: int, message: int, sent: object) -> None:
        """Form the query of this message from what :meth:`broadcast` returned."""

    def again(self, message: int, former: int) -> None:
        """Ask in this message what the former one asked."""

    def forget(self, message: int) -> None:
        """Note that the query of this message will not be answered."""


@dataclass(frozen=True)
class BroadcastQuery:
    """A query sent to all owners: its message number, when it was read, and of which model."""

    message: int
    read_tick: int
    read_k: int
    sent: object


class Exchanges:
    """Exchanges that are open, and those that the learner gave up; the base of a learner.

    Parameters
    ----------
    kernel, recorder
        The simulation kernel, and the recorder of events and exchanges.
    learning : Learning, optional
        Trains a model while the network runs.

    Attributes
    ----------
    learning : Learning
        Trains a model while the network runs, or ignores what it is told.
    event : callable
        Notes an event; see :meth:`~asyncdp_sim.trace.Recorder.event`.
    keeps_events : bool
        Whether events are kept; where not, requests and refusals, the most frequent, report none.
    updates : int
        k, the number of updates applied so far.
    messages : int
        How many messages have been numbered: attempts, fresh answers and broadcasts.
    broadcasts : int
        How many queries were sent to all owners.
    newest : BroadcastQuery or None
        The last query sent to all owners.
    open : dict
        From its message to an exchange that may still be used.
    absences : Absences
        Signals to the processes that wait for an owner.
    idle : Signal or None
        Signals that no exchange is open any more; None while no process waits for that.
    masked : list of Exchange
        Open ones whose answers have arrived and are in sums that are not.
    server_exchanges : dict
        From its message to an open exchange with several servers, which no update uses alone.
    server_answers : dict
        By k, exchanges with several servers whose answers wait for update k + 1, and when each had
        arrived (ticks).
    """

    def __init__(
        self, kernel: Kernel, recorder: Recorder, learning: Learning | None = None
    ) -> None:
        self.kernel = kernel
        self.recorder = recorder
        self.learning = Learning() if learning is None else learning
        self.event = recorder.event
        self.keeps_events = recorder.keeps_events
        self.updates = 0
        self.messages = 0
        self.broadcasts = 0
        self.newest: BroadcastQuery | None = None
        self.open: dict[int, Exchange] = {}
        self.absences = Absences(kernel)
        self.idle: Signal | None = None
        self.server_exchanges: dict[int, Exchange] = {}
        self.server_answers: dict[int, list[tuple[Exchange, int]]] = {}
        self.masked: list[Exchange] = []
        self._given_up: dict[int, Exchange] = {}

    def broadcast(self) -> BroadcastQuery:
        """Read the model for all owners."""
        self.messages += 1
        self.broadcasts += 1
        sent = self.learning.broadcast()
        self.newest = BroadcastQuery(self.messages, self.kernel.tick, self.updates, sent)
        self.event(EventKind.broadcast_sent, 0, self.messages)
        return self.newest

    def take(self, owner: int, message: int, query: BroadcastQuery) -> Exchange:
        """Open an owner's exchange on a query that was sent to all."""
        self.learning.take(owner, message, query.sent)
        now = self.kernel.tick
        exchange = Exchange(message, owner, now, query.read_tick, query.read_k)
        return self._opened(exchange)

    def repeat(self, former: Exchange) -> Exchange:
        """Open an exchange for a fresh answer to the query of one that has ended."""
        self.messages += 1
        self.recorder.recomputed += 1
        now = self.kernel.tick
        read = (former.read_tick, former.read_k, former.peer)
        exchange = Exchange(self.messages, former.owner, now, *read)
        self.learning.again(exchange.message, former.message)
        return self._opened(exchange)

    def _opened(self, exchange: Exchange) -> Exchange:
        """Keep count of an exchange whose query was read some updates ago."""
        self.open[exchange.message] = exchange
        self.recorder.in_flight_total += self.updates - exchange.read_k
        return exchange

    def expire(self, exchange: Exchange) -> None:
        """Give up waiting: the exchange ends now, whatever its owner still sends."""
        exchange.ended = (self.kernel.tick, self.updates)
        self._given_up[exchange.message] = self.open.pop(exchange.message)

    def expire_all(self) -> None:
        """Give up waiting for whatever is open; what waits for its owner learns of it."""
        ended = Signal(self.kernel)
        for exchange in [opened for opened in self.open.values() if opened not in self.masked]:
            self.event(EventKind.timeout, exchange.owner, exchange.message)
            self.expire(exchange)
            ended.callbacks += self.absences.dropped(exchange.owner)
        ended.fire(self.kernel.tick, Priority.QUERY_ARRIVES)
        self.rest()

    def discard(self, exchange: Exchange, attempt: int, detail: Detail) -> None:
        """Discard an answer that has arrived."""
        kind = EventKind.answer_discarded
        self.event(kind, exchange.owner, exchange.message, attempt, detail)
        self.drop(exchange, ExchangeOutcome.discarded)

    def drop(self, exchange: Exchange, outcome: ExchangeOutcome) -> None:
        """Note that an exchange has ended without an update."""
        exchange.outcome = outcome
        if exchange.ended is None:
            del self.open[exchange.message]
            end_tick, end_k = self.kernel.tick, self.updates
            if self.idle is not None and len(self.open) == len(self.masked):
                self.rest()
        else:
            del self._given_up[exchange.message]
            end_tick, end_k = exchange.ended
        if exchange.transmissions == 0:
            exchange.release_tick = end_tick
        self.recorder.exchange(exchange, end_tick, end_k)
        self.learning.forget(exchange.message)

    def until_idle(self) -> Signal:
        """Return the signal that no exchange is open any more."""
        self.idle = Signal(self.kernel)
        return self.idle

    def rest(self) -> None:
        """Wake the process that waits until no exchange is open."""
        if self.idle is not None:
            self.idle.fire(self.kernel.tick, Priority.TURN)
            self.idle = None

    def unfinished(self) -> list[Exchange]:
        """Return the exchanges that were given up or are open, and whose end is not known."""
        return [*self._given_up.values(), *self.open.values()]

    def close(self, end_tick: int) -> None:
        """Note the exchanges that the end of the run has cut short."""
        for exchange in self.masked:  # no sum of theirs is opened any more
            transmission = (exchange.owner, exchange.message, exchange.transmissions)
            self.event(EventKind.answer_discarded, *transmission, Detail.unopened)
            exchange.outcome = ExchangeOutcome.discarded
        for exchange in (*self._cut_short_at_servers(end_tick), *self.unfinished()):
            ended = (end_tick, self.updates) if exchange.ended is None else exchange.ended
            if exchange.outcome is UNRELEASED:
                exchange.release_tick = ended[0]
            self.recorder.exchange(exchange, *ended)

    def _cut_short_at_servers(self, end_tick: int) -> Iterator[Exchange]:
        """Yield exchanges with several servers, each with its end: arrived ones first."""
        for k in sorted(self.server_answers):
            for exchange, tick in self.server_answers[k]:
                exchange.ended = (tick, k)
                yield exchange
        for exchange in self.server_exchanges.values():
            exchange.ended = (end_tick, exchange.read_k)
            yield exchange
