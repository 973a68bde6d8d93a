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
from asyncdp_sim.core.kernel import TRANSMISSION_BEGINS, Activity
from asyncdp_sim.core.specification import Duration, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.latency import least_times
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import DeliveryPolicy, Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, hopeless
from asyncdp_sim.trace import Detail, EventKind
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
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        pass

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
