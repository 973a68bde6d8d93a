"""Protocols in which a tick of an owner's clock begins an exchange: request, and push.

Request is Async, section 3, "Request for Update by the Data Owner". Push is what simulators of
federated learning call asynchronous.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import (
    ANSWER_END,
    GRADIENT_READY,
    NOTHING,
    QUERY_ARRIVES,
    REQUEST_ARRIVES,
    TRANSMISSION_BEGINS,
    Activity,
)
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.latency import least_times
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import DeliveryPolicy, Link, Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, hopeless
from asyncdp_sim.spec.base import Duration, trait
from asyncdp_sim.trace import Detail, EventKind
from asyncdp_sim.trace.vocabulary import BUSY, QUERY_RECEIVED


class Request(ProtocolKind):
    """The locked, one-on-one protocol.

    The lock lasts from the request's arrival to the update. A tick of the owner's own clock while
    it is sending, waiting or being served is dropped, and is not an attempt.
    """

    one_on_one = True
    sends_requests = True
    acts_on_ticks = True
    always_served = False
    reads_early = False
    at_mean = True
    update_of = "answer"
    ideal_only = False
    rehearsed = "alone"
    keeps_apart = True
    one_each = trait(lambda self: self.own_tick == "drop")
    vanishes = trait(lambda self: self.offline == "vanish")
    plain = trait(lambda self: not self.queues and self.timeout is None)
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
    def faults_of_network(self, n_owners: int, parts: Any) -> list[Fault]:
        return hopeless("protocol.timeout", self.timeout, min(least_times(n_owners, parts)))

    @override
    def delivery_policy(self) -> DeliveryPolicy:
        timeout = None if self.timeout is None else to_ticks(self.timeout)
        return DeliveryPolicy(timeout_ticks=timeout, vanishes=self.vanishes, locks=True)

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        if self.retry is not None:
            for owner in owners:
                source = partial(streams.generator, "owner", owner.number, "retry")
                owner.retry = self.retry.durations(source, 16)

    @override
    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        if learner.refuses(owner.number) and self._is_refused_at_once(owner):
            learner.refuse_at_once(owner.number)
            return NOTHING
        if owner.link is None:
            return self._straight(owner, learner)
        return self._carried(owner, learner, owner.link)

    def _is_refused_at_once(self, owner: Owner) -> bool:
        """Whether an owner's request would meet the lock at this tick, and all would be over."""
        asks = owner.request is None and (owner.link is None or not owner.link.carries_requests)
        return asks and self.busy == "refuse"

    def _straight(self, owner: Owner, learner: Learner) -> Activity:
        """Ask where all messages arrive, no owner queues, and every request served is completed."""
        kernel, number = learner.kernel, owner.number
        asked = kernel.tick
        message = learner.request(number)
        owner.busy = True
        if owner.request is not None:
            yield kernel.tick + next(owner.request), REQUEST_ARRIVES
        if learner.refuses(number):
            learner.refuse(number, message)
            self._end(owner, learner, message, learner.refusal(number, BUSY))
            return
        learner.lock.held = True
        exchange = learner.read(number, message, asked)
        if owner.query is not None:
            yield kernel.tick + next(owner.query), QUERY_ARRIVES
            learner.event(QUERY_RECEIVED, number, message)
        if owner.compute is not None:
            yield kernel.tick + next(owner.compute), GRADIENT_READY
        learner.release(exchange)
        if owner.answer is not None:
            yield kernel.tick + next(owner.answer), ANSWER_END
        learner.apply(exchange)
        learner.lock.held = False
        owner.busy = False
        learner.finish()

    def _carried(self, owner: Owner, learner: Learner, link: Link) -> Activity:
        """Ask where messages wait, collide or are lost, and requests may queue."""
        kernel, number = learner.kernel, owner.number
        if owner.answers_reserved == learner.answers_left[number]:
            return
        owner.answers_reserved += 1
        asked = kernel.tick
        message = learner.request(number)
        owner.busy = self.own_tick == "drop"
        heard = not link.carries_requests or (yield from link.ask(message))
        if heard and owner.request is not None:
            yield kernel.tick + next(owner.request), REQUEST_ARRIVES
        queued = heard and self.queues and learner.lock.held
        if queued:
            yield learner.lock.queue(number, message)
        if not heard or (learner.lock.held and not queued) or not learner.due(number):
            if heard:
                learner.refuse(number, message)
            if queued:
                learner.lock.release()
            owner.answers_reserved -= 1
            why = learner.refusal(number, BUSY) if heard else Detail.none
            self._end(owner, learner, message, why)
            return
        learner.lock.held = True
        exchange = learner.read(number, message, asked)
        patience = link.patience(exchange)
        if owner.query is not None:
            yield kernel.tick + next(owner.query), QUERY_ARRIVES
        if link.query_received(message, owner.query is not None):
            yield from link.answer(exchange, patience)
        else:
            yield from link.query_lost(exchange, patience)
        owner.busy = False
        learner.finish()

    def _end(self, owner: Owner, learner: Learner, message: int, detail: Detail) -> None:
        """End an attempt that was refused or lost, unless it is to be made once more."""
        if owner.retry is None:
            owner.busy = False
            learner.finish()
        else:
            learner.event(EventKind.retry, owner.number, message, detail=detail)
            learner.kernel.start(self._again(owner, learner))

    def _again(self, owner: Owner, learner: Learner) -> Activity:
        """Ask once more after a while, unless the owner has gone or spent its budget."""
        if owner.retry is not None:
            yield learner.kernel.tick + next(owner.retry), TRANSMISSION_BEGINS
        owner.busy = False
        if owner.offline_reasons == 0 and learner.answers_left[owner.number] > 0:
            learner.kernel.start(self.attempt(owner, learner))
        learner.finish()


class Push(ProtocolKind):
    """The unlocked protocol.

    A tick reads the model as it is at that instant; the query's latency, the computation and the
    answer's latency follow, and the learner applies the answer when it arrives.
    """

    one_on_one = False
    sends_requests = False
    acts_on_ticks = True
    always_served = True
    reads_early = False
    at_mean = True
    update_of = "answer"
    ideal_only = False
    rehearsed = "at once"
    overlap = trait(lambda self: self.own_tick == "overlap")
    vanishes = trait(lambda self: self.offline == "vanish")
    plain = trait(lambda self: not self.vanishes)

    kind: Literal["push"] = "push"
    own_tick: Literal["drop", "overlap"] = "drop"
    offline: Literal["finish", "vanish"] = "finish"

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        pass

    @override
    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        kernel, number, link = learner.kernel, owner.number, owner.link
        if owner.answers_reserved == learner.answers_left[number]:
            return
        owner.answers_reserved += 1
        owner.busy = self.own_tick == "drop"
        exchange = learner.read(number, learner.begin(number), kernel.tick)
        patience = None if link is None else link.patience(exchange)
        if owner.query is not None:
            yield kernel.tick + next(owner.query), QUERY_ARRIVES
        if link is None:
            if owner.query is not None and learner.keeps_events:
                learner.event(QUERY_RECEIVED, number, exchange.message)
            if owner.compute is not None:
                yield kernel.tick + next(owner.compute), GRADIENT_READY
            owner.answers_reserved -= 1
            learner.release(exchange)
            if owner.answer is not None:
                yield kernel.tick + next(owner.answer), ANSWER_END
            learner.apply(exchange)
        elif link.query_received(exchange.message, owner.query is not None):
            yield from link.answer(exchange, patience)
        else:
            yield from link.query_lost(exchange, patience)
        owner.busy = False
        learner.finish()
