"""Broadcast: the learner sends its model to all owners now and then, and they answer on their own.

Async, section 3, "Periodic Broadcast by the Learner".
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.delivery_policy import Manner
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.link import Link
from asyncdp_sim.network.live_hooks import Broadcast as Query
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Duration, Spec
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Detail, EventKind
from asyncdp_sim.units import to_ticks


class Broadcast(Spec):
    """The model goes to all owners at 0, interval, 2·interval, …; answers may collide.

    An owner that does not listen when a query arrives never learns of it.

    Attributes
    ----------
    interval : float
        Δ, time units, at least a tick, 1e-9.
    answer_at : str
        A listening owner answers the newest query it has heard at the next tick of its clock, once
        ("next-tick"); or every query after ``delay``, whatever its clock ("after-delay").
    delay : law
        Time units from hearing a query to starting on the answer, under "after-delay".
    superseded : str
        What the learner does with an answer to a query that is no longer the newest: "apply" or
        "discard".
    payload : str
        The query is θ_L and the gradient is taken there ("central"); or it holds all N+1 models
        and owner i takes the gradient at its own (θ_L + θ_i)/2 ("all-copies").
    own_tick : str
        A tick or query that finds its owner at work is dropped ("drop"; the query is kept for a
        later tick under "next-tick"), or starts an independent job ("overlap").
    offline : str
        An owner that goes offline while it works completes its answer ("finish"), or does not send
        it ("vanish").
    """

    kind: Literal["broadcast"] = "broadcast"
    interval: Annotated[Duration, Field(ge=1e-9)]
    answer_at: Literal["next-tick", "after-delay"] = "next-tick"
    delay: Law = NoTime()
    superseded: Literal["apply", "discard"] = "apply"
    payload: Literal["central", "all-copies"] = "central"
    own_tick: Literal["drop", "overlap"] = "drop"
    offline: Literal["finish", "vanish"] = "finish"

    @model_validator(mode="after")
    def _delay_is_used(self) -> Self:
        if self.answer_at == "next-tick" and not isinstance(self.delay, NoTime):
            allowed = 'allowed is nothing unless answer_at = "after-delay"'
            raise faults_of([Fault("delay", "a law", allowed)])
        return self

    @property
    def one_on_one(self) -> bool:
        """Exchanges may overlap."""
        return False

    @property
    def fresh(self) -> str:
        """Why no update comes between a read and its use, whatever takes time; else empty."""
        return ""

    @property
    def asks(self) -> Literal["average", "central"]:
        """Gradients are taken at θ_L, or at (θ_L + θ_i)/2, as broadcast."""
        return "central" if self.payload == "central" else "average"

    @property
    def one_each(self) -> bool:
        """Whether an owner has at most one attempt open."""
        return self.own_tick == "drop"

    @property
    def plain(self) -> bool:
        """Answers always go over a link."""
        return False

    @property
    def clocked(self) -> bool:
        """Whether owners act on the ticks of their clocks."""
        return self.answer_at == "next-tick"

    @property
    def makes_updates(self) -> bool:
        """Whether the protocol says what an update is made of."""
        return False

    def refuses_at_once(self, network: Any) -> bool:  # noqa: ARG002
        """Nobody is refused."""
        return False

    def manner(self) -> Manner:
        """Return how owners deal with what goes wrong."""
        newest_only = self.superseded == "discard"
        return Manner(vanishes=self.offline == "vanish", newest_only=newest_only)

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start the broadcasts; what is drawn for each tick elsewhere is drawn for each query."""
        for owner in owners:
            owner.listens, owner.attends = owner.attends, None
            source = partial(streams.generator, "owner", owner.number, "delay")
            owner.delay = self.delay.durations(source, 16)
        learner.kernel.start(self._send(owners, learner))

    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Answer the newest query, if the owner has heard one and not answered it."""
        query, owner.unanswered = owner.unanswered, None
        if query is not None and owner.promised < learner.answers_left[owner.number]:
            yield from self._answer(owner, learner, query)

    def _send(self, owners: Sequence[Owner], learner: Learner) -> Activity:
        kernel, period, number = learner.kernel, to_ticks(self.interval), 0
        while True:
            yield kernel.at(number * period, Priority.BROADCAST)
            query = learner.broadcast()
            for owner in owners:
                if learner.answers_left[owner.number] > 0:
                    kernel.start(self._deliver(owner, learner, query))
            number += 1

    def _deliver(self, owner: Owner, learner: Learner, query: Query) -> Activity:
        """Carry a query to one owner."""
        kernel, link, number = learner.kernel, owner.link, owner.number
        if owner.query is not None:
            yield kernel.after(next(owner.query), Priority.QUERY_ARRIVES)
        listens = owner.dark == 0 and (owner.listens is None or owner.listens(kernel._now))
        if not listens:
            learner.event(EventKind.query_lost, number, query.message, detail=Detail.offline)
        elif link is not None and link.hears(query.message, True):
            if query.message < owner.heard:  # a newer one has overtaken it
                return
            owner.heard = query.message
            if self.answer_at == "next-tick":
                owner.unanswered = query
            elif owner.busy or owner.promised >= learner.answers_left[number]:
                learner.event(EventKind.query_lost, number, query.message, detail=Detail.busy)
            else:
                yield from self._answer(owner, learner, query)

    def _answer(self, owner: Owner, learner: Learner, query: Query) -> Activity:
        owner.promised += 1
        owner.busy = self.own_tick == "drop"
        message = learner.begin(owner.number)
        if self.answer_at == "after-delay" and owner.delay is not None:
            yield learner.kernel.after(next(owner.delay), Priority.TRANSMISSION_BEGINS)
        exchange = learner.take(owner.number, message, query)
        if isinstance(owner.link, Link):
            yield from owner.link.answer(exchange)
        owner.busy = False
        learner.finish()
