"""Broadcast: the learner sends its model to all owners now and then, and they answer on their own.

Async, section 3, "Periodic Broadcast by the Learner".
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Activity, Priority
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.exchanges import BroadcastQuery as Query
from asyncdp_sim.network.latency import answer_airtime, least_times
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, hopeless
from asyncdp_sim.spec.base import Duration, trait
from asyncdp_sim.trace import Detail, EventKind


class Broadcast(ProtocolKind):
    """The model goes to all owners at 0, interval, 2·interval, …; answers may collide.

    An owner that is offline when a query arrives does not receive it.
    """

    one_on_one = False
    sends_requests = False
    acts_on_ticks = False
    always_served = False
    reads_early = True
    at_mean = False
    update_of = "answer"
    ideal_only = False
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
    def faults_of_network(self, n_owners: int, parts: Any) -> list[Fault]:
        airtime = answer_airtime(n_owners, parts)
        if self.interval >= airtime:
            least = min(least_times(n_owners, parts)) + self.delay.least
            return hopeless("protocol.interval", self.interval, least) if self.newest_only else []
        rule = f"allowed is a number ≥ the airtime {airtime:g}"
        return [Fault("protocol.interval", f"{self.interval:g}", rule)]

    @override
    def stall_period(self, network: Any, count: int) -> int | None:
        if self.clocked:
            return super().stall_period(network, count)
        return count * to_ticks(self.interval)

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        # What is drawn for each tick elsewhere is drawn for each query.
        for owner in owners:
            owner.online_for_query, owner.online_at_tick = owner.online_at_tick, None
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
        kernel, period, number = learner.kernel, to_ticks(self.interval), 0
        while True:
            yield number * period, Priority.BROADCAST
            query = learner.broadcast()
            for owner in owners:
                if learner.answers_left[owner.number] > 0:
                    kernel.start(self._deliver(owner, learner, query))
            number += 1

    def _deliver(self, owner: Owner, learner: Learner, query: Query) -> Activity:
        """Carry a query to one owner."""
        kernel, link, number = learner.kernel, owner.link, owner.number
        if owner.query is not None:
            yield kernel.tick + next(owner.query), Priority.QUERY_ARRIVES
        listens = owner.offline_reasons == 0 and (
            owner.online_for_query is None or owner.online_for_query(kernel.tick)
        )
        if not listens:
            learner.event(EventKind.query_lost, number, query.message, detail=Detail.offline)
        elif link is not None and link.query_received(query.message, True):
            if query.message < owner.heard:  # a newer one has overtaken it
                return
            owner.heard = query.message
            if self.answer_at == "next-tick":
                owner.unanswered = query
            elif owner.busy or owner.answers_reserved >= learner.answers_left[number]:
                learner.event(EventKind.query_lost, number, query.message, detail=Detail.busy)
            else:
                yield from self._answer(owner, learner, query)

    def _answer(self, owner: Owner, learner: Learner, query: Query) -> Activity:
        owner.answers_reserved += 1
        owner.busy = self.own_tick == "drop"
        message = learner.begin(owner.number)
        if self.answer_at == "after-delay" and owner.delay is not None:
            yield learner.kernel.tick + next(owner.delay), Priority.TRANSMISSION_BEGINS
        exchange = learner.take(owner.number, message, query)
        if owner.link is not None:
            yield from owner.link.answer(exchange)
        owner.busy = False
        learner.finish()
