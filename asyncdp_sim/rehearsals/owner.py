"""The process of one owner: a clock, its records, its charges, and a connection to the learner."""

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.answers import of_owner
from asyncdp_sim.network.build import block, policy_of
from asyncdp_sim.network.owner import Attends, LostMessages
from asyncdp_sim.rehearsals.config import Order, Presence
from asyncdp_sim.rehearsals.transport import Numbers, Pace, Wire, WireMessage, connect
from asyncdp_sim.trace import ExchangeOutcome


class OwnersReleases:
    """An owner's records and noise, and what it has paid for.

    Parameters
    ----------
    order : Order
    streams : Scope
        The replicate's streams.
    number : int
        Which owner, from 1.

    Attributes
    ----------
    charged : dict
        The tick of each charge, by the message that was paid for.
    """

    def __init__(self, order: Order, streams: Scope, number: int) -> None:
        self._reply = order.task.reply
        self._allowed = order.network.answers_allowed[number - 1]
        self._turn = AnswerBatch(np.array([number - 1]), rows=np.array([0]))
        self._answers = of_owner(self._reply, streams, number, order.task.steps.answer_size)
        self.charged: dict[int, int] = {}

    @property
    def left(self) -> int:
        """How many answers the owner may still release."""
        return self._allowed - len(self.charged)

    def release(self, message: int, tick: int, points: Numbers) -> Numbers:
        """Pay for an answer to a query, then return it."""
        self.charged[message] = tick
        return np.asarray(self._answers.give(self._turn, points[None])[0])

    def pretend(self, points: Numbers) -> Numbers:
        """Do as much work as for an answer, and return nothing that is of records."""
        return np.zeros_like(self._reply.gradients.gradient(self._turn.owners, points[None])[0])


@dataclass
class Job:
    """The work that an owner is at.

    Attributes
    ----------
    message : int
        The query's number.
    points : array (p,)
        Where its gradient is taken.
    began : int
        The tick at which the query came.
    at : int
        Until when it is slept: a deadline is counted from the one before, not from when that was
        noticed.
    tick : int
        When the answer was released.
    transmissions : int
        How often it was sent.
    answer : array (p,)
        What was released.
    """

    message: int
    points: Numbers
    began: int
    at: int = 0
    tick: int = 0
    transmissions: int = 0
    answer: Numbers = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.at = max(self.at, self.began)

    async def takes(self, ticks: int, pace: Pace) -> None:
        """Let something take its time."""
        self.at += ticks
        await pace.until(self.at)

    def again(self, message: int, tick: int, *, fresh: bool) -> "Job":
        """Return the job with its answer to be sent again, or a fresh one to the same query."""
        further = replace(self, message=message, at=tick)
        return replace(further, transmissions=0) if fresh else further

    def account(self) -> dict[str, int]:
        """Return what the learner's books need to know of it."""
        return {"message": self.message, "tick": self.tick, "transmissions": self.transmissions}


NULL_SECONDS = 0.002
"""What an owner sleeps in an exchange that measures what the machine takes besides."""


class OwnerPeer:
    """An owner that answers a learner over a connection.

    What the simulation draws for it, it draws from the same streams: its clock, computing and
    travelling times, losses and absences. Messages to it and from it are delayed and lost here.

    Parameters
    ----------
    order : Order
    number : int
        Which owner, from 1.
    """

    def __init__(self, order: Order, number: int) -> None:
        network, streams = order.network, order.streams
        self._number = number
        self._token = order.token
        self._protocol = network.protocol
        self._policy = policy_of(network)
        self._presence = Presence(network, streams, number)
        me = self._me = self._presence.owner
        self._losses = LostMessages() if me.link is None else me.link.losses
        acts = self._protocol.acts_on_ticks  # else what is drawn for a tick is drawn for a query
        self._attends: Attends | None = me.online_at_tick if acts else None
        self._listens: Attends | None = None if acts else me.online_at_tick
        clocks = partial(streams.generator, "owner", number, "clock")
        self._ticks = network.clock.ticks(number - 1, clocks, block(network.n_owners))
        self._releases = OwnersReleases(order, streams, number)
        self._pace = Pace(0.0, 1.0)
        self._wire: Wire | None = None
        self._work: set[asyncio.Task[None]] = set()
        self._broken: BaseException | None = None
        self._lost_requests = 0
        self._busy = False
        self._reserved = 0
        self._verdicts: dict[int, asyncio.Future[WireMessage]] = {}
        self._desk = asyncio.Lock()

    async def run(self, port: int) -> None:
        """Exchange messages with the learner until it ends the run or disconnects."""
        wire = self._wire = await connect(port, self._token, self._number)
        while (heard := await wire.receive()) is not None and heard.kind != "end":
            self._hear(heard)
        for task in self._work:
            task.cancel()
        if heard is not None:
            online, charged = self._presence.share(heard.said["tick"]), self._releases.charged
            wire.send("bye", lost=self._lost_requests, online=online, charged=list(charged.items()))
        await wire.close()
        if self._broken is not None:
            raise self._broken

    def _hear(self, heard: WireMessage) -> None:
        if heard.kind == "null":
            self._start(self._answer_nothing(heard))
        elif heard.kind == "begin":
            self._begin(Pace(heard.said["start"], heard.said["unit"]))
        elif heard.kind == "refused":
            self._start(self._turned_away())
        elif heard.kind == "query":
            self._verdicts[heard.said["message"]] = asyncio.Future()
            self._start(self._serve(Job(heard.said["message"], heard.numbers, self._pace.look())))
        elif heard.kind == "again":
            waiting = self._verdicts.pop(heard.said["former"])
            self._verdicts[heard.said["message"]] = asyncio.Future()
            waiting.set_result(heard)
        elif heard.kind == "over" and heard.said["message"] in self._verdicts:
            self._verdicts[heard.said["message"]].set_result(heard)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        """Let no work fail in silence."""
        self._work.discard(task)
        if not task.cancelled() and task.exception() is not None and self._wire is not None:
            self._broken = task.exception()
            self._wire.hang_up()

    def _send(self, kind: str, numbers: Numbers | None = None, /, **said: Any) -> None:
        if self._wire is not None:
            self._wire.send(kind, numbers, **said)

    async def _answer_nothing(self, heard: WireMessage) -> None:
        await asyncio.sleep(NULL_SECONDS)
        self._send("null", self._releases.pretend(heard.numbers))

    def _begin(self, pace: Pace) -> None:
        self._pace = pace
        if self._protocol.acts_on_ticks:
            self._start(self._tick())

    async def _tick(self) -> None:
        """Follow the clock: a tick that finds the owner free and online begins an attempt."""
        for tick in self._ticks or ():
            await self._pace.until(self._presence.last(tick))
            if self._releases.left == 0 or self._presence.gone(tick):
                break
            online = self._presence.online(tick)
            if online and (self._attends is None or self._attends(tick)) and not self._busy:
                self._attempt()
        self._send("silent")

    def _attempt(self) -> None:
        if self._reserved < self._releases.left:
            self._reserved += 1
            self._busy = self._protocol.one_each
            self._start(self._ask())

    async def _ask(self) -> None:
        asked = self._pace.look()
        if _lost(self._losses.request):
            self._lost_requests += 1
            await self._turned_away()
            return
        if self._me.request is not None:
            await self._pace.until(asked + next(self._me.request))
        self._send("request", asked=asked)

    async def _turned_away(self) -> None:
        """End an attempt, or make it once more after a while."""
        self._reserved -= 1
        if self._me.retry is None:
            self._busy = False
            return
        await self._pace.until(self._pace.look() + next(self._me.retry))
        self._busy = False
        if self._presence.online(self._pace.look()):
            self._attempt()

    async def _serve(self, job: Job) -> None:
        """Answer a query, or tell the learner that there will be no answer."""
        if not self._protocol.acts_on_ticks:
            self._reserved += 1
        if self._me.query is not None:
            await job.takes(next(self._me.query), self._pace)
        if not self._hears(job):
            await self._fail(job, ExchangeOutcome.abandoned)
        elif self._protocol.acts_on_ticks:
            await self._answer(job)
        else:
            await self._answer_in_turn(job)
        self._busy = False

    def _hears(self, job: Job) -> bool:
        """Return whether a query that arrives now finds its owner."""
        listens = self._listens is None or self._listens(job.at)
        return listens and not _lost(self._losses.query) and not self._away()

    def _away(self) -> bool:
        return self._policy.vanishes and not self._presence.online(self._pace.look())

    async def _answer_in_turn(self, job: Job) -> None:
        """Answer when older queries are done with and the owner is online."""
        waited = self._desk.locked()
        async with self._desk:
            job.at = self._pace.look() if waited else job.at
            back = self._presence.back(job.at)
            if back is None:
                self._send("silent")
            elif back > job.at:
                await self._pace.until(back, unless=self._verdicts.get(job.message))
                job.at = back
            if back is None or self._is_over(job):
                await self._fail(job, ExchangeOutcome.abandoned)
            else:
                await self._answer(job)

    async def _answer(self, job: Job) -> None:
        """Compute and send until the answer has arrived, or nothing is left to try."""
        outcome = ExchangeOutcome.abandoned
        for tries in range(1, self._policy.attempts + 1):
            if self._me.compute is not None and job.transmissions == 0:
                await job.takes(next(self._me.compute), self._pace)
            if self._is_over(job) or self._away():
                break
            await self._transmit(job)
            if not _lost(self._losses.answer):
                self._send("answer", job.answer, took=job.at - job.began, **job.account())
                self._verdicts.pop(job.message, None)
                return
            outcome = ExchangeOutcome.lost
            fresh = self._policy.fresh
            dry = fresh and self._reserved >= self._releases.left
            if tries == self._policy.attempts or dry or self._is_over(job):
                break
            self._send("lost", **job.account())
            verdict = await self._verdicts[job.message]
            if verdict.kind == "over":
                break
            job = job.again(verdict.said["message"], self._pace.look(), fresh=fresh)
            self._reserved += fresh
            outcome = ExchangeOutcome.abandoned if fresh else ExchangeOutcome.lost
        await self._fail(job, outcome)

    async def _transmit(self, job: Job) -> None:
        """Send an answer on its way; what has not been released before is released."""
        if job.transmissions == 0:
            self._reserved -= 1
            job.tick = self._pace.look()
            job.answer = self._releases.release(job.message, job.tick, job.points)
        job.transmissions += 1
        if self._me.answer is not None:
            await job.takes(next(self._me.answer), self._pace)

    async def _fail(self, job: Job, outcome: ExchangeOutcome) -> None:
        """Report to the learner that no answer will come; with a timeout it keeps waiting."""
        if job.transmissions == 0:
            self._reserved -= 1
        self._send("failed", outcome=int(outcome), **job.account())
        if self._policy.timeout_ticks is not None and not self._is_over(job):
            await self._verdicts[job.message]
        self._verdicts.pop(job.message, None)

    def _is_over(self, job: Job) -> bool:
        """Return whether the learner has given an exchange up."""
        return job.message not in self._verdicts or self._verdicts[job.message].done()


def _lost(losses: Iterator[bool] | None) -> bool:
    return losses is not None and next(losses)
