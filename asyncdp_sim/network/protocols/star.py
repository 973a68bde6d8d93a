"""Protocols of one learner and its owners: request, push, broadcast, and rounds.

Request and Broadcast are of Async, section 3, "Request for Update by the Data Owner" and "Periodic
Broadcast by the Learner". Push is what simulators of federated learning call asynchronous. Rounds
are synchronous learning as in Collab, Algorithms 1 and 2.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import TRANSMISSION_BEGINS, Activity, Priority, Signal
from asyncdp_sim.core.specification import Count, Duration, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.core.words import agreed
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.learner import BroadcastQuery, Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, one_every, too_impatient
from asyncdp_sim.trace import Detail, EventKind, Exchange
from asyncdp_sim.trace.vocabulary import BUSY


class Request(ProtocolKind):
    """The locked, one-on-one protocol.

    The lock lasts from the request's arrival to the update. A tick of the owner's own clock while
    it is sending, waiting or being served is dropped, and is not an attempt.
    """

    one_on_one = True
    sends_requests = True
    acts_on_ticks = True
    at_mean = True
    update_of = "answer"
    keeps_apart = True
    one_each = trait(lambda self: self.own_tick == "drop")
    vanishes = trait(lambda self: self.offline == "vanish")
    gives_up_after = trait(lambda self: self.timeout)
    asks_again = trait(lambda self: self.retry is not None)
    queues = trait(lambda self: self.busy == "queue")

    kind: Literal["request"] = "request"
    busy: Literal["refuse", "queue", "retry"] = "refuse"
    retry: Law | None = None
    own_tick: Literal["drop", "queue"] = "drop"
    timeout: Annotated[Duration, Field(ge=1e-9)] | None = None
    offline: Literal["finish", "vanish"] = "finish"

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.busy == "retry" and (self.retry is None or self.retry.mean <= 0):
            shown = "nothing" if self.retry is None else "a law of mean 0"
            yield Fault("retry", shown, 'busy = "retry" needs a law with a positive mean')
        if self.busy != "retry" and self.retry is not None:
            yield Fault("retry", "a law", 'allowed only with busy = "retry"')
        if self.own_tick == "queue" and not self.queues:
            yield Fault("own_tick", "'queue'", 'it needs busy = "queue"')
        if self.offline == "vanish" and self.timeout is None:
            rule = "owners that vanish need a timeout, or the learner waits for ever"
            yield Fault("timeout", "nothing", rule)

    @override
    def refuses_at_once(self, network: Any) -> bool:
        law = network.latency.request
        return self.busy == "refuse" and not isinstance(law, tuple) and law.instant

    @override
    def faults_of_network(self, network: Any) -> list[Fault]:
        return too_impatient("protocol.timeout", self.timeout, network)

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        if self.retry is not None:
            for owner in owners:
                source = partial(streams.generator, "owner", owner.number, "retry")
                owner.retry = self.retry.durations(source, 16)

    @override
    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Ask the learner; once it is free, be served until the update."""
        kernel, number, link = learner.kernel, owner.number, owner.link
        if self.busy == "refuse" and link.asks_at_once and learner.refuses(number):
            learner.refuse_at_once(number)
            return
        if owner.answers_reserved == learner.answers_left[number]:
            return  # all that the budget allows is promised to requests under way
        owner.answers_reserved += 1
        owner.busy = self.own_tick == "drop"
        asked, message = kernel.tick, learner.request(number)
        if not link.asks_at_once and not (yield from link.send_request(message)):
            self._not_served(owner, learner, message, Detail.none)
            return
        if learner.refuses(number):
            if self.busy != "queue" or not learner.lock.held:
                self._refused(owner, learner, message)
                return
            yield learner.lock.queue(number, message)  # until the lock passes on to this owner
            if not learner.due(number):
                self._refused(owner, learner, message)
                learner.lock.release()
                return
        learner.lock.held = True
        exchange = learner.read(number, message, asked)
        yield from link.serve(exchange)
        owner.busy = False
        learner.finish()

    def _refused(self, owner: Owner, learner: Learner, message: int) -> None:
        """Turn a request away, because the learner is locked or the owner was asked just now."""
        learner.refuse(owner.number, message)
        self._not_served(owner, learner, message, learner.refusal(owner.number, BUSY))

    def _not_served(self, owner: Owner, learner: Learner, message: int, why: Detail) -> None:
        """End an attempt that was refused or lost, or begin another one after a while."""
        owner.answers_reserved -= 1
        if owner.retry is None:
            owner.busy = False
            learner.finish()
        else:
            learner.event(EventKind.retry, owner.number, message, detail=why)
            learner.kernel.start(self._again(owner, learner, owner.retry))

    def _again(self, owner: Owner, learner: Learner, waits: Iterator[int]) -> Activity:
        """Ask once more after a while, unless the owner has gone or spent its budget."""
        yield learner.kernel.tick + next(waits), TRANSMISSION_BEGINS
        owner.busy = False
        if owner.offline_reasons == 0 and learner.answers_left[owner.number] > 0:
            learner.kernel.start(self.attempt(owner, learner))
        learner.finish()


class Push(ProtocolKind):
    """The unlocked protocol.

    A tick reads the model as it is at that instant; the query's latency, the computation and the
    answer's latency follow, and the learner applies the answer when it arrives.
    """

    acts_on_ticks = True
    always_served = True
    at_mean = True
    update_of = "answer"
    overlap = trait(lambda self: self.own_tick == "overlap")
    vanishes = trait(lambda self: self.offline == "vanish")

    kind: Literal["push"] = "push"
    own_tick: Literal["drop", "overlap"] = "drop"
    offline: Literal["finish", "vanish"] = "finish"

    @override
    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        number = owner.number
        if owner.answers_reserved == learner.answers_left[number]:
            return  # all that the budget allows is promised to jobs under way
        owner.answers_reserved += 1
        owner.busy = self.own_tick == "drop"
        exchange = learner.read(number, learner.begin(number), learner.kernel.tick)
        yield from owner.link.serve(exchange)
        owner.busy = False
        learner.finish()


class Broadcast(ProtocolKind):
    """The model goes to all owners at 0, interval, 2·interval, …; answers may collide.

    An owner that is offline when a query arrives does not receive it.
    """

    acts_on_ticks = False
    reads_early = True
    at_mean = False
    update_of = "answer"
    sends_copies = trait(lambda self: self.payload == "all-copies")
    clocked = trait(lambda self: self.answer_at == "next-tick")
    overlap = trait(lambda self: self.own_tick == "overlap")
    vanishes = trait(lambda self: self.offline == "vanish")
    newest_only = trait(lambda self: self.superseded == "discard")

    kind: Literal["broadcast"] = "broadcast"
    interval: Annotated[Duration, Field(ge=1e-9)]
    answer_at: Literal["next-tick", "after-delay"] = "next-tick"
    delay: Law = NoTime()
    superseded: Literal["apply", "discard"] = "apply"
    payload: Literal["central", "all-copies"] = "central"
    own_tick: Literal["drop", "overlap"] = "drop"
    offline: Literal["finish", "vanish"] = "finish"

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.answer_at == "next-tick" and not self.delay.instant:
            yield Fault("delay", "a law", 'allowed only with answer_at = "after-delay"')

    @override
    def faults_of_network(self, network: Any) -> list[Fault]:
        airtime = network.airtime or 0.0
        if self.interval >= airtime:
            patience = self.interval if self.newest_only else None
            return too_impatient("protocol.interval", patience, network, more=self.delay.least)
        rule = f"allowed is a number ≥ the airtime {airtime:g}"
        return [Fault("protocol.interval", f"{self.interval:g}", rule)]

    @override
    def stall_period(self, network: Any, count: int) -> int | None:
        if self.clocked:
            return super().stall_period(network, count)
        return count * to_ticks(self.interval)

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            owner.draw_for_queries()
            source = partial(streams.generator, "owner", owner.number, "delay")
            owner.delay = self.delay.durations(source, 16)
        learner.kernel.start(self._send(owners, learner))

    @override
    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Answer the newest query, if the owner has received one and not answered it."""
        query, owner.unanswered = owner.unanswered, None
        if query is not None and owner.answers_reserved < learner.answers_left[owner.number]:
            yield from self._answer(owner, learner, query)

    def _send(self, owners: Sequence[Owner], learner: Learner) -> Activity:
        kernel, period = learner.kernel, to_ticks(self.interval)
        for tick in count(0, period):
            yield tick, Priority.BROADCAST
            query = learner.broadcast()
            for owner in owners:
                if learner.answers_left[owner.number] > 0:
                    kernel.start(self._deliver(owner, learner, query))

    def _deliver(self, owner: Owner, learner: Learner, query: BroadcastQuery) -> Activity:
        """Carry a query to one owner."""
        kernel, link, number = learner.kernel, owner.link, owner.number
        if owner.query is not None:
            yield kernel.tick + next(owner.query), Priority.QUERY_ARRIVES
        if not owner.attends(kernel.tick):
            learner.event(EventKind.query_lost, number, query.message, detail=Detail.offline)
        elif link.query_received(query.message, True):
            if query.message < owner.heard:  # a newer one has overtaken it
                return
            owner.heard = query.message
            if self.answer_at == "next-tick":
                owner.unanswered = query
            elif owner.busy or owner.answers_reserved >= learner.answers_left[number]:
                learner.event(EventKind.query_lost, number, query.message, detail=Detail.busy)
            else:
                yield from self._answer(owner, learner, query)

    def _answer(self, owner: Owner, learner: Learner, query: BroadcastQuery) -> Activity:
        owner.answers_reserved += 1
        owner.busy = self.own_tick == "drop"
        message = learner.begin(owner.number)
        if self.answer_at == "after-delay" and owner.delay is not None:
            yield learner.kernel.tick + next(owner.delay), Priority.TRANSMISSION_BEGINS
        exchange = learner.take(owner.number, message, query)
        yield from owner.link.answer(exchange)
        owner.busy = False
        learner.finish()


_EMPTY = 10**5
"""Rounds in a row without an answer after which a run has stalled."""


class Rounds(ProtocolKind):
    """The synchronous protocol; owners do not act on their clocks.

    The learner asks all owners at once, with the same model, except owners without budget, owners
    that have left and, with privacy.participation, owners that were asked too few updates ago. With
    ``owners`` it draws so many of them anew for each round, with equal chances; it asks all of them
    if they are fewer. An owner that is offline, or still works on an older query, starts on the
    query when it is online again and free. If availability is drawn for each query, an owner that
    is offline then is left out of the round. The round ends when every query has been answered or
    has failed. Its answers make one update; without answers there is none. The next round begins
    at once.
    """

    acts_on_ticks = False
    at_mean = False
    update_of = "round"
    paced_by = ("compute", "rounds that end")
    may_idle = False  # empty rounds are counted
    keeps_apart = True
    asked_at_most = trait(lambda self: self.owners)
    round_deadline = trait(lambda self: self.deadline)

    kind: Literal["rounds"] = "rounds"
    owners: Count | None = None
    deadline: Annotated[Duration, Field(ge=1e-9)] | None = None

    @override
    def rates(self, network: Any) -> tuple[float, ...] | None:
        return one_every(max(network.exchange_times()))

    @override
    def faults_of_network(self, network: Any) -> Iterator[Fault]:
        yield from too_impatient("protocol.deadline", self.deadline, network)
        if self.owners is not None and self.owners > network.n_owners:
            rule = f"allowed is at most {network.n_owners}, the number of owners"
            yield Fault("protocol.owners", str(self.owners), rule)

    @override
    def describe(self, network: Any, duration: str, mean: float) -> Iterator[str]:
        drawn = "" if self.owners is None else f" of {self.owners} owners drawn at random"
        yield agreed(f"network: rounds{drawn}, {duration}")

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            owner.draw_for_queries()
        draws = None if self.owners is None else streams.generator("rounds")
        learner.kernel.start(self._rounds(owners, learner, draws))

    def draw(self, numbers: Ints, draws: np.random.Generator) -> Ints:
        """Return the owners that a round asks, of those that may be asked, in their order."""
        if self.owners is None or len(numbers) <= self.owners:
            return numbers
        return np.sort(draws.choice(numbers, self.owners, replace=False, shuffle=False))

    def _rounds(
        self, owners: Sequence[Owner], learner: Learner, draws: np.random.Generator | None
    ) -> Activity:
        """Hold one round after the other, while somebody can be asked."""
        kernel, empty = learner.kernel, 0
        learner.hold()
        while not learner.done and empty < _EMPTY:
            numbers = learner.askable()
            if len(numbers) == 0 or (learner.sums is not None and learner.sums.given_up()):
                break
            chosen = numbers if draws is None else self.draw(numbers, draws)
            if learner.sums is not None:
                chosen = yield from learner.sums.prepare(chosen)
                if len(chosen) == 0:
                    empty += 1
                    continue
            taking_part = [owners[number - 1] for number in chosen.tolist()]
            opened = [(owner, _ask(owner, learner)) for owner in taking_part]
            over = learner.until_idle()
            for owner, exchange in opened:
                kernel.start(_serve(owner, learner, exchange))
            if self.deadline is not None:
                ring = kernel.after(to_ticks(self.deadline), Priority.TIMEOUT)
                ring.callbacks.append(partial(_close, learner, over))
            yield over
            if learner.sums is not None:
                yield from learner.sums.open()
            empty = 0 if learner.collected > 0 else empty + 1
            if learner.collected > 0:
                learner.update()
        if empty == _EMPTY:
            learner.stall()
        learner.finish()


def _ask(owner: Owner, learner: Learner) -> Exchange:
    """Read the model for an owner; of all it was asked before, nothing can be released any more."""
    owner.answers_reserved += 1
    message = learner.begin(owner.number)
    return learner.read(owner.number, message, learner.kernel.tick)


def _serve(owner: Owner, learner: Learner, exchange: Exchange) -> Activity:
    """Carry a query to its owner, and the answer back."""
    link, number = owner.link, owner.number
    heard = yield from link.deliver(exchange.message)
    while heard and exchange.ended is None and (owner.offline_reasons > 0 or owner.busy):
        if learner.awaits(number):
            yield learner.absences.end(number)
        else:  # it has left for good
            learner.event(EventKind.query_lost, number, exchange.message, detail=Detail.offline)
            heard = False
    if heard and exchange.ended is None:
        owner.busy = True
        yield from link.answer(exchange)
        owner.busy = False
        learner.absences.over(number)
    else:
        yield from link.query_lost(exchange)
    learner.finish()


def _close(learner: Learner, over: Signal, _ring: object) -> None:
    """Give up what has not arrived, if the round is not over yet."""
    if learner.idle is over:
        learner.expire_all()
