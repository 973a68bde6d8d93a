"""The learner's side of the network: reads its model for an owner, applies the answer, counts.

What the model is, the network does not know. This learner tells nobody of reads and updates: the
trace alone is recorded, for replay. One who does is :class:`~.live_hooks.LiveLearner`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.kernel import Activity, Kernel, Priority, Signal
from asyncdp_sim.network.delivery.aggregation import Aggregation
from asyncdp_sim.trace import Detail, Ending, EventKind, Exchange, ExchangeOutcome, Recorder

# Bound once: looking a member up in its enumeration costs as much as a function call.
ANSWER_DELIVERED = EventKind.answer_delivered
ANSWER_DISCARDED = EventKind.answer_discarded
ANSWER_RELEASED = EventKind.answer_released
ANSWER_RESENT = EventKind.answer_resent
BROADCAST_SENT = EventKind.broadcast_sent
BUDGET_EXHAUSTED = EventKind.budget_exhausted
QUERY_SENT = EventKind.query_sent
REQUEST_LOST = EventKind.request_lost
REQUEST_QUEUED = EventKind.request_queued
REQUEST_REFUSED = EventKind.request_refused
REQUEST_SENT = EventKind.request_sent
UPDATE_APPLIED = EventKind.update_applied
APPLIED = ExchangeOutcome.applied
DISCARDED = ExchangeOutcome.discarded
IN_FLIGHT = ExchangeOutcome.in_flight
UNRELEASED = ExchangeOutcome.unreleased
ANSWER_END = Priority.ANSWER_END
QUERY_ARRIVES = Priority.QUERY_ARRIVES
TIMEOUT = EventKind.timeout
TURN = Priority.TURN


@dataclass(frozen=True)
class Broadcast:
    """A query sent to all owners: its message number, when it was read, and of which model."""

    message: int
    read_tick: int
    read_k: int
    sent: object = None


class Learner:
    """Serves exchanges and counts updates.

    Parameters
    ----------
    kernel, recorder
        The clock, and who takes notes.
    updates : int
        T; the run stops with update T.
    answers_allowed : sequence of int
        Distinct answers that each owner may release.
    answers_per_update : int, optional
        B ≥ 1, the answers that make one update; None leaves it to the protocol, which calls
        :meth:`update`.
    answers_once : bool
        Whether an owner's first answer is its only one, and what follows is worked out of it.
    aggregation : Aggregation, optional
        How answers are summed: those that have arrived are used or left together, see
        :meth:`gather`.

    Attributes
    ----------
    locked : bool
        Whether an owner is being served alone.
    answers_left : list of int
        By owner number: distinct answers that the owner may still release.
    active : set of int
        Owners that may still ask: their budget is not spent and they have not left.
    updates : int
        k, the number of updates applied so far.
    messages : int
        How many messages have been numbered: attempts, fresh answers and broadcasts.
    broadcasts : int
        How many queries were sent to all owners.
    newest : Broadcast or None
        The last query sent to all owners.
    reached : bool
        Whether the run was ended since the model is as it was wanted.
    stalled : bool
        Whether the run was ended since nothing was released for too long.
    idle : Signal or None
        Happens when no exchange is open any more, where somebody waits for that.
    gathered : list of Exchange
        Those whose answers have arrived masked, in the sum that answers are added to.
    openings : list of iterator of int
        By owner: how long the trips take by which it helps to open sums, where there are sums.
    keeps_events : bool
        Whether events are kept; on the path of every update nobody is told of them otherwise.
    kept_elsewhere : callable
        From the tick at which the run ends to the open exchanges that somebody else keeps, each
        with its end; nobody does unless a protocol says so.
    """

    def __init__(
        self,
        kernel: Kernel,
        recorder: Recorder,
        updates: int,
        answers_allowed: Sequence[int],
        answers_per_update: int | None = 1,
        *,
        answers_once: bool = False,
        aggregation: Aggregation | None = None,
    ) -> None:
        self.kernel = kernel
        self.recorder = recorder
        self.event = recorder.event
        self.keeps_events = recorder.keeps_events
        self._attempts = recorder.attempts
        self._note = recorder.exchange
        self._tick = recorder.update_ticks.append
        self.locked = False
        self.answers_left = [0, *answers_allowed]
        self.updates = 0
        self._horizon = updates
        self._per_update = 0 if answers_per_update is None else answers_per_update
        self._lacking = self._per_update  # counts down to the update; below 0 it never comes to it
        self._answered: set[int] | None = set() if answers_once else None
        self.gathered: list[Exchange] = []
        self._opening: list[Exchange] = []
        self._sum_opens: Signal | None = None
        self.openings: list[Iterator[int]] = []
        self.aggregation = aggregation
        if aggregation is not None:
            self.apply = self.gather  # type: ignore[method-assign]  # others pay for no question
        self.kept_elsewhere: Callable[[int], Iterable[Exchange]] = _nobody
        self._open: dict[int, Exchange] = {}
        self._given_up: dict[int, Exchange] = {}
        self._queue: deque[Signal] = deque()
        self.newest: Broadcast | None = None
        self.reached = False
        self.stalled = False
        self.idle: Signal | None = None
        self._absent: dict[int, Signal] = {}
        self.broadcasts = 0
        self.active = set(range(1, len(answers_allowed) + 1))
        self._awaited = set(self.active)
        self._pending = 0
        self.messages = 0

    @property
    def horizon(self) -> int:
        """T."""
        return self._horizon

    @property
    def done(self) -> bool:
        """Whether update T has been applied, or one has reached the target."""
        return self.reached or self.updates == self._horizon

    def begin(self, owner: int) -> int:
        """Note an owner's attempt; return the number of its message, open until :meth:`finish`."""
        self._pending += 1
        self.messages += 1
        self.recorder.attempts[owner] += 1
        return self.messages

    def request(self, owner: int) -> int:
        """Begin an attempt by asking the learner; return the number of its message."""
        self._pending += 1
        self.messages = message = self.messages + 1
        self._attempts[owner] += 1
        if self.keeps_events:
            self.event(REQUEST_SENT, owner, message)
        return message

    def refuse(self, owner: int, message: int) -> None:
        """Turn a request away."""
        self.recorder.refused[owner] += 1
        if self.keeps_events:
            self.event(REQUEST_REFUSED, owner, message)

    def turn_away(self, owners: npt.NDArray[np.int64]) -> None:
        """Count requests that were refused the moment they were made, and left no event."""
        self.messages += len(owners)
        self.recorder.turned_away(owners)

    def miss(self, owner: int, message: int, detail: Detail) -> None:
        """Note that a request was lost on the way."""
        self.recorder.unheard[owner] += 1
        self.event(REQUEST_LOST, owner, message, detail=detail)

    def queue(self, owner: int, message: int) -> Signal:
        """Let a request wait; return what happens when its turn has come, the lock still held."""
        turn = Signal(self.kernel)
        self._queue.append(turn)
        self.event(REQUEST_QUEUED, owner, message)
        return turn

    def unlock(self) -> None:
        """Turn to the request that has waited longest, or be free."""
        if self._queue:
            self._queue.popleft().fire(self.kernel.tick, TURN)
        else:
            self.locked = False

    def broadcast(self) -> Broadcast:
        """Read the model for all owners."""
        self.messages += 1
        self.broadcasts += 1
        self.newest = Broadcast(self.messages, self.kernel.tick, self.updates)
        self.event(BROADCAST_SENT, 0, self.messages)
        return self.newest

    def take(self, owner: int, message: int, query: Broadcast) -> Exchange:
        """Open an owner's exchange on a query that was sent to all."""
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
        return self._opened(exchange)

    def _opened(self, exchange: Exchange) -> Exchange:
        """Keep count of an exchange whose query was read some updates ago."""
        self._open[exchange.message] = exchange
        self.recorder.in_flight_total += self.updates - exchange.read_k
        return exchange

    def read(self, owner: int, message: int, request_tick: int, peer: int = 0) -> Exchange:
        """Read a model for an owner that asked at ``request_tick``, and send it the query."""
        exchange = Exchange(message, owner, request_tick, self.kernel.tick, self.updates, peer)
        self._open[message] = exchange
        if self.keeps_events:
            self.event(QUERY_SENT, owner, message)
        return exchange

    def release(self, exchange: Exchange) -> None:
        """Note that the first transmission of the answer begins; its privacy cost falls here."""
        owner = exchange.owner
        exchange.release_tick = self.kernel.tick
        exchange.transmissions = 1
        exchange.outcome = IN_FLIGHT
        if self._answered is not None:
            if owner in self._answered:
                self.event(ANSWER_RESENT, owner, exchange.message, 1)
                return
            self._answered.add(owner)
        if self.keeps_events:
            self.event(ANSWER_RELEASED, owner, exchange.message, 1)
        self.answers_left[owner] -= 1
        if self.answers_left[owner] == 0:
            self.event(BUDGET_EXHAUSTED, owner)
            self.active.discard(owner)
            self._awaited.discard(owner)

    def form(self, owner: int, message: int, peer: int) -> None:
        """Form a query from the model as it is now, where one is trained."""

    def use(self, exchange: Exchange) -> None:
        """Use an answer for the next update, where a model is trained."""

    def server_step(self, server: int) -> None:
        """Note that one of several servers (from 1) makes its next step."""

    def withholds(self, exchange: Exchange) -> bool:  # noqa: ARG002
        """Return whether an answer that is ready is kept by its owner, and note it."""
        return False

    def apply(self, exchange: Exchange) -> None:
        """Take the answer that has arrived; the last of B makes one more update."""
        owner, message = exchange.owner, exchange.message
        if self.keeps_events:
            self.event(ANSWER_DELIVERED, owner, message, exchange.transmissions)
        del self._open[message]
        exchange.outcome = APPLIED
        self._note(exchange, self.kernel.tick, self.updates)
        self._lacking -= 1
        if self._lacking:
            if self.idle is not None and not self._open:
                self._rest()
            return
        self.update(owner, message)

    def gather(self, exchange: Exchange) -> None:
        """Keep a masked answer that has arrived; its exchange is open until the sum is."""
        exchange.outcome = APPLIED
        self.gathered.append(exchange)
        if self.idle is not None and len(self._open) == len(self.gathered):
            self._rest()
        elif len(self.gathered) == self._per_update:
            self.hold()
            self.kernel.start(self._filled())

    def _filled(self) -> Activity:
        """Open a sum that has all its answers, while the next one is gathered."""
        yield from self.open_sum()
        self.finish()

    def open_sum(self) -> Activity:
        """Take what has been gathered, a trip later, or turn it away where it is too little."""
        opened, self.gathered = self.gathered, []
        sums = self.aggregation
        if sums is not None and len(opened) < sums.least:
            for exchange in opened:
                self.discard(exchange, exchange.transmissions, Detail.unopened)
            return
        self._opening += opened
        trips = [self.openings[exchange.owner - 1] for exchange in opened]
        wait = 0 if sums is None else sums.last_needed([next(each) for each in trips])
        if wait > 0:
            yield self.kernel.tick + wait, ANSWER_END
        for exchange in opened:
            self._opening.remove(exchange)
            type(self).apply(self, exchange)
        self._released_from_sums()

    def in_a_sum(self, owner: int) -> Signal | None:
        """Return what happens when the next sum is open, for an owner whose answer is in one."""
        if all(owner != exchange.owner for exchange in (*self.gathered, *self._opening)):
            return None
        if self._sum_opens is None:
            self._sum_opens = Signal(self.kernel)
        return self._sum_opens

    def _released_from_sums(self) -> None:
        """Tell the owners that wait for a sum that one is open."""
        if self._sum_opens is not None:
            self._sum_opens.fire(self.kernel.tick, QUERY_ARRIVES)
            self._sum_opens = None

    def update(self, owner: int = 0, message: int = 0) -> None:
        """Make one more update of the answers that have come; the last of them came from owner."""
        self._lacking = self._per_update
        if self._open:
            self.recorder.in_flight_total += len(self._open)
        self.updates += 1
        self._tick(self.kernel.tick)
        if self.keeps_events:
            self.event(UPDATE_APPLIED, owner, message)
        if self.updates == self._horizon:
            self.kernel.stop()

    def expire(self, exchange: Exchange) -> None:
        """Give up waiting; whatever the owner still does, the exchange is dated to now."""
        exchange.ended = (self.kernel.tick, self.updates)
        self._given_up[exchange.message] = self._open.pop(exchange.message)

    def expire_all(self) -> None:
        """Give up waiting for whatever is open; what waits for its owner learns of it."""
        told, arrived = Signal(self.kernel), {each.message for each in self.gathered}
        for exchange in [each for each in self._open.values() if each.message not in arrived]:
            self.event(TIMEOUT, exchange.owner, exchange.message)
            self.expire(exchange)
            waiting = self._absent.pop(exchange.owner, None)
            if waiting is not None:
                told.callbacks += waiting.callbacks
        told.fire(self.kernel.tick, QUERY_ARRIVES)
        self._rest()

    def until_idle(self) -> Signal:
        """Return what happens when no exchange is open any more."""
        self.idle = Signal(self.kernel)
        return self.idle

    def _rest(self) -> None:
        """Tell whoever waits that no exchange is open."""
        if self.idle is not None:
            self.idle.fire(self.kernel.tick, TURN)
            self.idle = None

    def presence(self, owner: int) -> Signal:
        """Return what happens when an owner comes back, is free again, or leaves for good."""
        return self._absent.setdefault(owner, Signal(self.kernel))

    def present(self, owner: int) -> None:
        """Tell whoever waits for an owner to look at it again."""
        awaited = self._absent.pop(owner, None)
        if awaited is not None:
            awaited.fire(self.kernel.tick, QUERY_ARRIVES)

    def discard(self, exchange: Exchange, attempt: int, detail: Detail) -> None:
        """Turn away an answer that has arrived."""
        self.event(ANSWER_DISCARDED, exchange.owner, exchange.message, attempt, detail)
        self.drop(exchange, DISCARDED)

    def drop(self, exchange: Exchange, outcome: ExchangeOutcome) -> None:
        """Note that an exchange has ended without an update."""
        exchange.outcome = outcome
        if exchange.ended is None:
            del self._open[exchange.message]
            end_tick, end_k = self.kernel.tick, self.updates
            if self.idle is not None and len(self._open) == len(self.gathered):
                self._rest()
        else:
            del self._given_up[exchange.message]
            end_tick, end_k = exchange.ended
        if exchange.transmissions == 0:
            exchange.release_tick = end_tick
        self.recorder.exchange(exchange, end_tick, end_k)

    def hold(self) -> None:
        """Keep the run from ending though no attempt is open, until :meth:`finish`."""
        self._pending += 1

    def finish(self) -> None:
        """Note that what a message began is over; end the run where nothing can follow."""
        self._pending -= 1
        if self._pending == 0 and len(self._awaited) == 0:
            self.kernel.stop()

    def leave(self, owner: int) -> None:
        """Note that an owner will never ask again: its clock has stopped, or it has left."""
        self.active.discard(owner)
        self.give_up(owner)

    def give_up(self, owner: int) -> None:
        """Note that an owner can never ask, though its clock ticks; end the run if all are such."""
        self._awaited.discard(owner)
        self.present(owner)
        if self._pending == 0 and len(self._awaited) == 0:
            self.kernel.stop()

    def awaits(self, owner: int) -> bool:
        """Return whether an owner may still answer: it has not left, nor spent its budget."""
        return owner in self._awaited

    @property
    def collected(self) -> int:
        """Answers since the last update, where the protocol makes updates."""
        return -self._lacking

    def stall(self) -> None:
        """End a run that gets nowhere."""
        self.stalled = True
        self.kernel.stop()

    def close(self, end_tick: int) -> None:
        """Note the exchanges that the end of the run has cut short."""
        elsewhere = self.kept_elsewhere(end_tick)
        for exchange in (*self.gathered, *self._opening):  # no sum of theirs is opened any more
            said = (exchange.owner, exchange.message, exchange.transmissions)
            self.event(ANSWER_DISCARDED, *said, Detail.unopened)
            exchange.outcome = DISCARDED
        for exchange in (*elsewhere, *self._given_up.values(), *self._open.values()):
            ended = (end_tick, self.updates) if exchange.ended is None else exchange.ended
            if exchange.outcome is UNRELEASED:
                exchange.release_tick = ended[0]
            self.recorder.exchange(exchange, *ended)

    @property
    def ending(self) -> Ending:
        """Why the run ended, once it was stopped."""
        if self.done:
            return Ending.target if self.reached else Ending.updates
        if self.stalled:
            return Ending.stalled
        return Ending.silent if any(self.answers_left) else Ending.spent


def _nobody(end_tick: int) -> Iterable[Exchange]:  # noqa: ARG001
    """Return nothing: every open exchange is the learner's."""
    return ()
