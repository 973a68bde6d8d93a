"""The learner's side of the network: reads its model for an owner, applies the answer, counts.

What the model is, the network does not know: a :class:`Learning` object may be told of every read
and every update (live), or nobody is (the trace alone is recorded, for replay).
"""

from collections.abc import Sequence
from typing import Protocol

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.trace import EventKind, Exchange, Outcome, Recorder

# Bound once: looking a member up in its enumeration costs as much as a function call.
ANSWER_DELIVERED = EventKind.answer_delivered
ANSWER_RELEASED = EventKind.answer_released
BUDGET_EXHAUSTED = EventKind.budget_exhausted
QUERY_SENT = EventKind.query_sent
REQUEST_REFUSED = EventKind.request_refused
REQUEST_SENT = EventKind.request_sent
UPDATE_APPLIED = EventKind.update_applied
APPLIED = Outcome.applied
IN_FLIGHT = Outcome.in_flight
UNRELEASED = Outcome.unreleased


class Learning(Protocol):
    """Trains a model live, inside the simulation."""

    def read(self, owner: int, message: int) -> None:
        """Form the query for ``owner`` (from 1) from the model as it is now."""

    def apply(self, owner: int, message: int) -> None:
        """Use the owner's answer to the query of this message for the next update."""


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
    learning : Learning, optional
        Whom to tell of reads and updates.

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
    """

    def __init__(
        self,
        kernel: Kernel,
        recorder: Recorder,
        updates: int,
        answers_allowed: Sequence[int],
        learning: Learning | None = None,
    ) -> None:
        self.kernel = kernel
        self.recorder = recorder
        self.event = recorder.event
        self.locked = False
        self.answers_left = [0, *answers_allowed]
        self.updates = 0
        self._horizon = updates
        self._learning = learning
        self._open: dict[int, Exchange] = {}
        self.active = set(range(1, len(answers_allowed) + 1))
        self._awaited = set(self.active)
        self._pending = 0
        self._messages = 0

    @property
    def done(self) -> bool:
        """Whether update T has been applied."""
        return self.updates == self._horizon

    def begin(self, owner: int) -> int:
        """Note an owner's attempt; return the number of its message, open until :meth:`finish`."""
        self._pending += 1
        self._messages += 1
        self.recorder.attempts[owner] += 1
        return self._messages

    def request(self, owner: int) -> int:
        """Begin an attempt by asking the learner; return the number of its message."""
        message = self.begin(owner)
        self.event(REQUEST_SENT, owner, message)
        return message

    def refuse(self, owner: int, message: int) -> None:
        """Turn a request away."""
        self.recorder.refused[owner] += 1
        self.event(REQUEST_REFUSED, owner, message)

    def read(self, owner: int, message: int) -> Exchange:
        """Read the model for an owner and send it the query."""
        exchange = Exchange(message, owner, self.kernel._now, self.updates)
        self._open[message] = exchange
        self.event(QUERY_SENT, owner, message)
        if self._learning is not None:
            self._learning.read(owner, message)
        return exchange

    def release(self, exchange: Exchange) -> None:
        """Note that the first transmission of the answer begins; its privacy cost falls here."""
        owner = exchange.owner
        exchange.release_tick = self.kernel._now
        exchange.outcome = IN_FLIGHT
        self.event(ANSWER_RELEASED, owner, exchange.message, 1)
        self.answers_left[owner] -= 1
        if self.answers_left[owner] == 0:
            self.event(BUDGET_EXHAUSTED, owner)
            self.active.discard(owner)
            self._awaited.discard(owner)

    def apply(self, exchange: Exchange) -> None:
        """Use the answer that has arrived: one more update."""
        owner, message = exchange.owner, exchange.message
        self.event(ANSWER_DELIVERED, owner, message, 1)
        if self._learning is not None:
            self._learning.apply(owner, message)
        del self._open[message]
        exchange.outcome = APPLIED
        self.recorder.exchange(exchange, self.kernel._now, self.updates)
        self.recorder.in_flight_total += len(self._open)
        self.updates += 1
        self.event(UPDATE_APPLIED, owner, message)
        if self.updates == self._horizon:
            self.kernel.stop()

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
        if self._pending == 0 and len(self._awaited) == 0:
            self.kernel.stop()

    def close(self, end_tick: int) -> None:
        """Note the exchanges that the end of the run has cut short."""
        for exchange in self._open.values():
            if exchange.outcome is UNRELEASED:
                exchange.release_tick = end_tick
            self.recorder.exchange(exchange, end_tick, self.updates)
