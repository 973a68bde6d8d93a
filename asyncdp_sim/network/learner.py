"""The learner: reads its model for an owner, applies the answer, counts, and ends the run.

What the model is, the network does not know. Where one is trained meanwhile, a
:class:`Learning` receives every read and update.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.kernel import Activity, Kernel, Priority, Signal
from asyncdp_sim.network.sums import Sums
from asyncdp_sim.trace import Detail, Ending, EventKind, Exchange, ExchangeOutcome, Recorder
from asyncdp_sim.trace.vocabulary import (
    ANSWER_DELIVERED,
    ANSWER_RELEASED,
    APPLIED,
    IN_FLIGHT,
    QUERY_SENT,
    REQUEST_REFUSED,
    REQUEST_SENT,
    TOO_SOON,
    UNRELEASED,
    UPDATE_APPLIED,
)

if TYPE_CHECKING:
    from asyncdp_sim.network.spec import Network


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


class Lock:
    """Held while an owner is served alone.

    Parameters
    ----------
    kernel : Kernel
    event : callable
        Notes an event of a kind, an owner and a message.

    Attributes
    ----------
    held : bool
    waiting : deque of Signal
        The turns of the requests that wait, the oldest first.
    """

    def __init__(self, kernel: Kernel, event: Callable[[EventKind, int, int], None]) -> None:
        self.held = False
        self.waiting: deque[Signal] = deque()
        self._kernel = kernel
        self._event = event

    def queue(self, owner: int, message: int) -> Signal:
        """Let a request wait; return its turn, at which the lock is still held."""
        turn = Signal(self._kernel)
        self.waiting.append(turn)
        self._event(EventKind.request_queued, owner, message)
        return turn

    def release(self) -> None:
        """Pass the lock on to the request that has waited longest, or free it."""
        if len(self.waiting) > 0:
            self.waiting.popleft().fire(self._kernel.tick, Priority.TURN)
        else:
            self.held = False


ATTEMPTS = 10**5
"""Attempts in a row without a released answer after which a run has stalled."""


class Learner:
    """Serves exchanges, keeps those that are open or given up, and counts updates.

    Parameters
    ----------
    kernel, recorder
        The simulation kernel, and the recorder of events and exchanges.
    network : Network
        Whose updates, budgets and rests it keeps to.
    learning : Learning, optional
        Trains a model while the network runs, by the reads and updates reported to it; it may end
        the run at an update where the network says so.

    Attributes
    ----------
    learning : Learning
        Trains a model while the network runs, or ignores what it receives.
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
    lock : Lock
        Held while an owner is served alone.
    answers_left : list of int
        By owner number: distinct answers that the owner may still release.
    active : set of int
        Owners that may still ask: their budget is not spent and they have not left.
    horizon : int
        T.
    sums : Sums or None
        Where answers that have arrived are masked; they are used when their sum is opened.
    reached : bool
        Whether the run ended because the model reached its target.
    presence_changes : int
        How often an owner gained or lost a reason to be offline.
    stalled : bool
        Whether the run ended because no answer was released for too long.
    """

    def __init__(
        self,
        kernel: Kernel,
        recorder: Recorder,
        network: "Network",
        learning: Learning | None = None,
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
        n_owners, per_update = network.n_owners, network.answers_per_update
        self._stops = network.stops
        self._attempts = recorder.attempts
        self._note = recorder.exchange
        self._tick = recorder.update_ticks.append
        self.lock = Lock(kernel, self.event)
        self.answers_left = [0, *network.answers_allowed]
        self.horizon = network.updates
        # None leaves updates to the protocol: a count below 0 never comes to one
        self._per_update = 0 if per_update is None else per_update
        self._lacking = self._per_update
        self._answered: set[int] | None = set() if network.answers_once else None
        self.sums: Sums | None = None
        if network.aggregation is not None:
            self.sums = Sums(self, network.aggregation, self._per_update)
        self.reached = False
        self.presence_changes = 0
        self.stalled = False
        self.active = set(range(1, n_owners + 1))
        self._awaited = np.arange(n_owners + 1) > 0  # by owner number
        self._n_awaited = n_owners
        self._apart = network.apart or 0
        self._due = np.zeros(n_owners + 1, dtype=np.int64)
        self._found = 0
        self._pending = 0

    def begin(self, owner: int) -> int:
        """Note an owner's attempt; return the number of its message, open until :meth:`finish`."""
        self._pending += 1
        self.messages += 1
        self._attempts[owner] += 1
        return self.messages

    def request(self, owner: int) -> int:
        """Begin an attempt by asking the learner; return the number of its message."""
        message = self.begin(owner)
        self.event(REQUEST_SENT, owner, message)
        return message

    def refuse(self, owner: int, message: int) -> None:
        """Turn a request away."""
        self.recorder.refused[owner] += 1
        if self.keeps_events:
            self.event(REQUEST_REFUSED, owner, message, 0, self.refusal(owner))

    def refusal(self, owner: int, locked: Detail = Detail.none) -> Detail:
        """Return why a request is refused: it came too soon, or ``locked``."""
        return locked if self.due(owner) else TOO_SOON

    def refuse_at_once(self, owner: int) -> None:
        """Turn a request away the moment it is made: the attempt is over."""
        self.messages = message = self.messages + 1
        self._attempts[owner] += 1
        if self.keeps_events:
            self.event(REQUEST_SENT, owner, message)
        self.refuse(owner, message)

    def count_rejected(self, owners: Ints) -> None:
        """Count requests that were refused the moment they were made, and left no event."""
        self.messages += len(owners)
        self.recorder.turned_away(owners)

    def request_lost(self, owner: int, message: int, detail: Detail) -> None:
        """Note that a request was lost on the way."""
        self.recorder.requests_lost[owner] += 1
        self.event(EventKind.request_lost, owner, message, detail=detail)

    def read(self, owner: int, message: int, request_tick: int, peer: int = 0) -> Exchange:
        """Read a model for an owner that asked at ``request_tick``, and send it the query."""
        self.learning.read(owner, message, peer)
        self._due[owner] = self.updates + self._apart
        exchange = Exchange(message, owner, request_tick, self.kernel.tick, self.updates, peer)
        self.open[message] = exchange
        self.event(QUERY_SENT, owner, message)
        return exchange

    def release(self, exchange: Exchange) -> None:
        """Note that the first transmission of the answer begins; its privacy cost falls here."""
        owner = exchange.owner
        self.learning.release(owner, exchange.message)
        exchange.release_tick = self.kernel.tick
        exchange.transmissions = 1
        exchange.outcome = IN_FLIGHT
        if self._answered is not None:
            if owner in self._answered:
                self.event(EventKind.answer_resent, owner, exchange.message, 1)
                return
            self._answered.add(owner)
        self.event(ANSWER_RELEASED, owner, exchange.message, 1)
        self.answers_left[owner] -= 1
        if self.answers_left[owner] == 0:
            self.event(EventKind.budget_exhausted, owner)
            self.active.discard(owner)
            self._forgo(owner)

    def apply(self, exchange: Exchange) -> None:
        """Use an answer that has arrived: now, or when the sum that it is in is opened."""
        if self.sums is None:
            self.apply_now(exchange)
        else:
            self.sums.gather(exchange)

    def apply_now(self, exchange: Exchange) -> None:
        """Use an answer; the last of B makes one more update."""
        owner, message = exchange.owner, exchange.message
        self.learning.apply(owner, message, exchange.peer)
        self.event(ANSWER_DELIVERED, owner, message, exchange.transmissions)
        del self.open[message]
        exchange.outcome = APPLIED
        self._note(exchange, self.kernel.tick, self.updates)
        self._lacking -= 1
        if self._lacking == 0:
            self.update(owner, message)
        elif self.idle is not None and len(self.open) == 0:
            self.rest()

    def update(self, owner: int = 0, message: int = 0) -> None:
        """Make one more update of the answers that have come; the last of them came from owner."""
        self.learning.update()
        self._lacking = self._per_update
        self.recorder.in_flight_total += len(self.open)
        self.updates += 1
        self._tick(self.kernel.tick)
        self.event(UPDATE_APPLIED, owner, message)
        if self.updates == self.horizon:
            self.kernel.stop()
        if self._stops and self.learning.reached():
            self.reached = True
            self.kernel.stop()

    @property
    def collected(self) -> int:
        """Answers since the last update, where the protocol makes updates."""
        return -self._lacking

    def hold(self) -> None:
        """Keep the run from ending though no attempt is open, until :meth:`finish`."""
        self._pending += 1

    def finish(self) -> None:
        """Note that what a message began is over; end the run where nothing can follow."""
        self._pending -= 1
        if self._pending == 0 and self._nobody_left():
            self.kernel.stop()

    def leave(self, owner: int) -> None:
        """Note that an owner will never ask again: its clock has stopped, or it has left."""
        self.active.discard(owner)
        self.give_up(owner)

    def give_up(self, owner: int) -> None:
        """Note that an owner can never ask, though its clock ticks; end the run if all are such."""
        self._forgo(owner)
        self.absences.over(owner)
        if self._pending == 0 and self._nobody_left():
            self.kernel.stop()

    def awaits(self, owner: int) -> bool:
        """Return whether an owner may still answer: it has not left, nor spent its budget."""
        return bool(self._awaited[owner])

    def due(self, owner: int) -> bool:
        """Return whether an owner was asked enough updates ago to be asked again."""
        return bool(self._due[owner] <= self.updates)

    def refuses(self, owner: int) -> bool:
        """Return whether a request of an owner is refused: it is locked out, or came too soon."""
        return self.lock.held or not self.due(owner)

    def askable(self) -> Ints:
        """Return the owners that may still answer and are due, in their order."""
        return np.flatnonzero(self._awaited & (self._due <= self.updates))

    def _forgo(self, owner: int) -> None:
        """Await no further answer of an owner."""
        self._n_awaited -= int(self._awaited[owner])
        self._awaited[owner] = False

    def _nobody_left(self) -> bool:
        """Return whether no owner may be asked any more, so that no further update can occur.

        Owners that rest until a later update count among them: nobody makes that update.
        """
        if self._apart == 0:
            return self._n_awaited == 0
        if not (self.awaits(self._found) and self.due(self._found)):
            self._found = next(iter(self.askable().tolist()), 0)
        return self._found == 0

    def stall(self) -> None:
        """End a run that gets nowhere."""
        self.stalled = True
        self.kernel.stop()

    @property
    def done(self) -> bool:
        """Whether update T has been applied, or one has reached the target."""
        return self.reached or self.updates == self.horizon

    @property
    def ending(self) -> Ending:
        """Why the run ended, once it was stopped."""
        if self.done:
            return Ending.target if self.reached else Ending.updates
        if self.stalled:
            return Ending.stalled
        if self._apart > 0 and self._n_awaited > 0:
            return Ending.resting
        return Ending.silent if any(self.answers_left) else Ending.spent

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

    def transmission(
        self, kind: EventKind, exchange: Exchange, detail: Detail = Detail.none
    ) -> None:
        """Note an event of the last transmission of an answer."""
        self.event(kind, exchange.owner, exchange.message, exchange.transmissions, detail)

    def discard(self, exchange: Exchange, detail: Detail) -> None:
        """Discard an answer that has arrived."""
        self.transmission(EventKind.answer_discarded, exchange, detail)
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

    def close(self, end_tick: int) -> None:
        """Note the exchanges that the end of the run has cut short."""
        for exchange in self.masked:  # no sum of theirs is opened any more
            self.transmission(EventKind.answer_discarded, exchange, Detail.unopened)
            exchange.outcome = ExchangeOutcome.discarded
        unfinished = (*self._given_up.values(), *self.open.values())
        for exchange in (*self._cut_short_at_servers(end_tick), *unfinished):
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


_COMINGS = 10**5
"""Changes of owners' presence in a row without a released answer after which a run has stalled.
An owner in several outages at once counts for each."""
_SILENT = 100
"""Checks in a row without a released answer after which a run has stalled, if no owner's presence
has changed meanwhile."""
_BETWEEN = 10**4
"""Clock ticks (or queries) between two checks, at least one per owner."""


def watch(learner: Learner, period_of: Callable[[int], int | None]) -> Activity:
    """Check at intervals that answers are still released; stop the run if none is.

    Parameters
    ----------
    learner : Learner
    period_of : callable
        From a number of clock ticks (or queries) to the ticks of time that they take on average;
        None where owners cannot idle for ever.
    """
    period = period_of(_BETWEEN)
    if period is None:  # owners cannot idle for ever
        return
    released, attempts, presence, looks = -1, 0, 0, 0
    while True:
        left = sum(learner.answers_left)
        tried = learner.messages - learner.broadcasts - attempts
        came = learner.presence_changes - presence
        if left != released:
            released, looks = left, 0
            attempts += tried
            presence += came
        elif tried >= ATTEMPTS or came >= _COMINGS or (looks >= _SILENT and came == 0):
            learner.stall()
            return
        looks += 1
        yield learner.kernel.tick + period, Priority.PRESENCE
