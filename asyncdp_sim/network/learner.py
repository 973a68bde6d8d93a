"""The learner: reads its model for an owner, applies the answer, counts, and ends the run.

What the model is, the network does not know. Where one is trained meanwhile, a
:class:`Learning` receives every read and update.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.kernel import Activity, Kernel, Priority, Signal
from asyncdp_sim.network.exchanges import Exchanges, Learning
from asyncdp_sim.network.sums import Sums
from asyncdp_sim.trace import Detail, Ending, EventKind, Exchange, Recorder
from asyncdp_sim.trace.vocabulary import (
    ANSWER_DELIVERED,
    ANSWER_RELEASED,
    APPLIED,
    IN_FLIGHT,
    QUERY_SENT,
    REQUEST_REFUSED,
    REQUEST_SENT,
    TOO_SOON,
    UPDATE_APPLIED,
)

if TYPE_CHECKING:
    from asyncdp_sim.network.spec import Network


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


class Learner(Exchanges):
    """Serves exchanges and counts updates.

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
        super().__init__(kernel, recorder, learning)
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
