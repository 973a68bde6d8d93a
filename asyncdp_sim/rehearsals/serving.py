"""Serving owners: what comes of requests, answers and failures, at once, alone or in rounds.

The model and the books are the simulation's own; who may talk when is decided here, by messages
and timers.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.learning.algorithms import AnswerBatch, Array
from asyncdp_sim.learning.answers import Answers, owners_of
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.reply import AnswerModel
from asyncdp_sim.network.build import policy_of
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.spec import Network
from asyncdp_sim.rehearsals.transport import Numbers, RunPace, WireMessage
from asyncdp_sim.trace import Detail, Exchange, ExchangeOutcome


class Arrived(Answers):
    """Answers that owners have sent; what the learner makes of them is its own."""

    def __init__(self, reply: AnswerModel) -> None:
        self._changes, self._places = replace(reply, factors=None).changes, owners_of
        self.last: Numbers = np.zeros(0)

    @override
    def sent(self, turn: AnswerBatch, points: Array) -> Array:
        return self.last[None].copy()


class RemoteLearning(LiveLearning):
    """Trains a model by answers that arrive over a wire."""

    @override
    def answers(self, reply: AnswerModel, replicate: Scope) -> Answers:
        self._arrived = Arrived(reply)
        return self._arrived

    def query(self, message: int) -> Numbers:
        """Return where the gradient of a query is to be taken, shape (p,)."""
        points, _ = self._asked[message]
        return np.asarray(points[0])

    def arrives(self, numbers: Numbers) -> None:
        """Take the numbers of the answer that is used next."""
        self._arrived.last = numbers


Send = Callable[..., None]
"""Owner, kind, numbers and further fields of a message, by name."""


class Serving:
    """A learner that serves every request at once.

    Parameters
    ----------
    network : Network
    books : Learner
        Counts, and keeps exchanges; its kernel tells ticks.
    remote : RemoteLearning
        The model.
    pace : RunPace
    send : callable
        Sends a message to an owner.

    Attributes
    ----------
    excess : list of int
        Ticks of each exchange that ended in its answer, beyond what its owner slept.
    """

    def __init__(
        self,
        network: Network,
        books: Learner,
        remote: RemoteLearning,
        pace: RunPace,
        send: Send,
    ) -> None:
        self.excess: list[int] = []
        self._network = network
        self._books = books
        self._remote = remote
        self._pace = pace
        self._send = send
        self._policy = policy_of(network)
        self._known: dict[int, Exchange] = {}
        self._timers: dict[int, asyncio.Task[None]] = {}
        self._lost: set[int] = set()
        self._failed: dict[int, ExchangeOutcome] = {}

    async def begin(self) -> None:
        """Do what owners do not ask for: here nothing."""

    def hear(self, owner: int, heard: WireMessage) -> None:
        """Process a message of an owner (from 1)."""
        fields = heard.said
        if heard.kind == "request":
            self.asked(owner, self._books.request(owner), min(fields["asked"], self._pace.tick))
        elif heard.kind == "silent":
            self._books.leave(owner)
        elif fields["message"] in self._known:
            exchange = self._known[fields["message"]]
            self._note(exchange, fields["transmissions"], fields["tick"])
            if heard.kind == "answer":
                self._remote.arrives(heard.numbers)
                self._take(exchange, fields["took"])
            elif heard.kind == "lost":
                self._lose(exchange)
            else:
                self._fail(exchange, ExchangeOutcome(fields["outcome"]))

    def asked(self, owner: int, message: int, tick: int) -> None:
        """Grant a request, or not."""
        self.read(owner, message, tick)

    def free(self, exchange: Exchange) -> None:
        """Note that the learner waits for an exchange no more."""
        timer = self._timers.pop(exchange.message, None)
        if timer is not None:
            timer.cancel()

    def read(self, owner: int, message: int, asked: int) -> None:
        """Read the model for an owner, and send it the query."""
        self._known[message] = self._books.read(owner, message, asked)
        self._send(owner, "query", self._remote.query(message), message=message)
        self._wait(message)

    def stop(self) -> None:
        """Wait for nothing any more."""
        for timer in self._timers.values():
            timer.cancel()

    def settle(self, charged: dict[int, dict[int, int]]) -> None:
        """Close the books: what owners have paid for is released.

        Parameters
        ----------
        charged : dict
            From an owner to the tick of each charge, by message.
        """
        for exchange in self._books.unfinished():
            tick = charged[exchange.owner].get(exchange.message)
            if tick is not None:
                self._note(exchange, max(1, exchange.transmissions), tick)

    def _note(self, exchange: Exchange, transmissions: int, tick: int) -> None:
        """Note how often an answer was sent, and when it was released.

        Its owner may have released it before it heard that the exchange, or the run, was over.
        """
        if exchange.transmissions == 0 and transmissions > 0:
            self._books.release(exchange)
            ended = self._pace.tick if exchange.ended is None else exchange.ended[0]
            exchange.release_tick = min(tick, ended)
        exchange.transmissions = transmissions

    def _take(self, exchange: Exchange, took: int) -> None:
        if exchange.ended is not None:
            self._books.discard(exchange, exchange.transmissions, Detail.late)
        else:
            if exchange.transmissions == 1:
                self.excess.append(self._pace.tick - exchange.read_tick - took)
            self._books.apply(exchange)
            self.free(exchange)
        self._finish(exchange)

    def _lose(self, exchange: Exchange) -> None:
        """Have an answer that was lost sent again, once the learner's patience is over."""
        if self._policy.timeout_ticks is not None:
            self._lost.add(exchange.message)
        elif exchange.ended is None:
            self._again(exchange)

    def _again(self, exchange: Exchange) -> None:
        former = exchange.message
        if self._policy.fresh:
            exchange = self._books.repeat(exchange)
            self._books.drop(self._known.pop(former), ExchangeOutcome.lost)
            self._known[exchange.message] = exchange
        self._send(exchange.owner, "again", former=former, message=exchange.message)
        self._wait(exchange.message)

    def _fail(self, exchange: Exchange, outcome: ExchangeOutcome) -> None:
        if exchange.ended is None and self._policy.timeout_ticks is not None:
            self._failed[exchange.message] = outcome
            return
        waiting = exchange.ended is None
        self._books.drop(exchange, outcome)
        if waiting:
            self.free(exchange)
        self._finish(exchange)

    def _wait(self, message: int) -> None:
        """Wait for an answer, as long as the learner has patience."""
        ticks = self._policy.timeout_ticks
        if ticks is not None:
            until = self._pace.tick + ticks
            self._timers[message] = self._pace.start(self._ring(message, until))

    async def _ring(self, message: int, tick: int) -> None:
        await self._pace.until(tick)
        del self._timers[message]
        exchange = self._known[message]
        self._pace.look()
        if message in self._lost:
            self._lost.remove(message)
            self._again(exchange)
            return
        self.give_up(exchange)
        self.free(exchange)

    def give_up(self, exchange: Exchange) -> None:
        """Stop waiting for an answer, and tell its owner."""
        self._books.expire(exchange)
        self._send(exchange.owner, "over", message=exchange.message)
        if exchange.message in self._failed:
            self._books.drop(exchange, self._failed.pop(exchange.message))
            self._finish(exchange)

    def _finish(self, exchange: Exchange) -> None:
        del self._known[exchange.message]
        self._books.finish()


class ServingAlone(Serving):
    """A learner that is locked while it serves an owner; others are refused, or queue."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._queues = self._network.protocol.queues
        self._locked = False
        self._waiting: deque[tuple[int, int, int]] = deque()

    @override
    def asked(self, owner: int, message: int, tick: int) -> None:
        if not self._locked:
            self._locked = True
            self.read(owner, message, tick)
        elif self._queues:
            self._waiting.append((owner, message, tick))
        else:
            self._books.refuse(owner, message)
            self._send(owner, "refused")
            self._books.finish()

    @override
    def free(self, exchange: Exchange) -> None:
        super().free(exchange)
        self._locked = len(self._waiting) > 0
        if self._locked and not self._pace.over.is_set():
            self.read(*self._waiting.popleft())


class ServingInRounds(Serving):
    """A learner that asks all owners at once, and updates when all have answered or failed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._idle = asyncio.Event()

    @override
    async def begin(self) -> None:
        books, deadline = self._books, self._network.protocol.round_deadline
        books.hold()
        everybody = range(1, self._network.n_owners + 1)
        while not books.done and any(map(books.awaits, everybody)):
            self._pace.look()
            self._idle.clear()
            for owner in filter(books.awaits, everybody):
                self.read(owner, books.begin(owner), self._pace.tick)
            await self._until_idle(None if deadline is None else to_ticks(deadline))
            if books.collected > 0:
                books.update()
        books.finish()

    async def _until_idle(self, ticks: int | None) -> None:
        """Wait for the answers of a round; give up those that have not come in time."""
        idle = asyncio.create_task(self._idle.wait())
        if ticks is None:
            await idle
        else:
            await self._pace.until(self._pace.tick + ticks, unless=idle)
        self._pace.look()
        for exchange in list(self._books.open.values()):
            self.give_up(exchange)
        if not idle.done():
            idle.cancel()
            with suppress(asyncio.CancelledError):
                await idle

    @override
    def free(self, exchange: Exchange) -> None:
        super().free(exchange)
        if len(self._books.open) == 0:
            self._idle.set()
