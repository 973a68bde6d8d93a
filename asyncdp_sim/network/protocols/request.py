"""Request for update: an owner asks, the learner talks to that owner alone until the update.

Async, section 3, "Request for Update by the Data Owner".
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Moment, Priority
from asyncdp_sim.network.delivery_policy import Manner
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Duration, Spec
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Detail, EventKind
from asyncdp_sim.units import to_ticks

# Bound once: looking a member up in its enumeration costs as much as a function call.
ANSWER_END = Priority.ANSWER_END
BUSY = Detail.busy
GRADIENT_READY = Priority.GRADIENT_READY
QUERY_ARRIVES = Priority.QUERY_ARRIVES
QUERY_RECEIVED = EventKind.query_received
REQUEST_ARRIVES = Priority.REQUEST_ARRIVES
RETRY = EventKind.retry
TRANSMISSION_BEGINS = Priority.TRANSMISSION_BEGINS


class Request(Spec):
    """The locked, one-on-one protocol.

    The lock lasts from the request's arrival to the update. A tick of the owner's own clock while
    it is sending, waiting or being served is dropped, and is not an attempt.

    Attributes
    ----------
    busy : str
        A request that finds the learner locked is refused, and its owner free again at once
        ("refuse"); or waits for its turn, first come first served ("queue"); or is refused and
        sent again after a time drawn from ``retry`` ("retry").
    retry : law, optional
        Wait before a refused or lost request is sent again (time units), with a positive mean.
    own_tick : str
        "drop", or "queue": with ``busy = "queue"`` every tick is a request of its own.
    timeout : float, optional
        Time units (> 0) that the learner waits, from the request's arrival and again from each
        retransmission; then it gives the exchange up.
    offline : str
        An owner that goes offline while it is served completes the exchange ("finish"), or neither
        listens nor sends until it is back ("vanish", which needs a timeout).
    """

    kind: Literal["request"] = "request"
    busy: Literal["refuse", "queue", "retry"] = "refuse"
    retry: Law | None = None
    own_tick: Literal["drop", "queue"] = "drop"
    timeout: Annotated[Duration, Field(ge=1e-9)] | None = None
    offline: Literal["finish", "vanish"] = "finish"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        found = []
        if self.busy == "retry" and (self.retry is None or self.retry.mean <= 0):
            given = "nothing" if self.retry is None else "a law of mean 0"
            found.append(Fault("retry", given, 'busy = "retry" needs a law with a positive mean'))
        if self.busy != "retry" and self.retry is not None:
            found.append(Fault("retry", "a law", 'allowed is nothing unless busy = "retry"'))
        if self.own_tick == "queue" and self.busy != "queue":
            found.append(Fault("own_tick", "'queue'", 'it needs busy = "queue"'))
        if self.offline == "vanish" and self.timeout is None:
            allowed = "owners that vanish need a timeout, or the learner waits for ever"
            found.append(Fault("timeout", "nothing", allowed))
        if len(found) > 0:
            raise faults_of(found)
        return self

    @property
    def one_on_one(self) -> bool:
        """Exchanges never overlap."""
        return True

    @property
    def fresh(self) -> str:
        """Why no update comes between a read and its use, whatever takes time; else empty."""
        return "as the lock has it"

    @property
    def asks(self) -> Literal["average", "central"]:
        """Gradients are taken at the owner's (θ_L + θ_i)/2, as read for it."""
        return "average"

    @property
    def one_each(self) -> bool:
        """Whether an owner has at most one attempt open."""
        return self.own_tick == "drop"

    @property
    def plain(self) -> bool:
        """Whether the protocol itself gives an exchange no other way to go than to its update."""
        return self.busy != "queue" and self.timeout is None

    @property
    def clocked(self) -> bool:
        """Owners act on the ticks of their clocks."""
        return True

    @property
    def makes_updates(self) -> bool:
        """Whether the protocol says what an update is made of."""
        return False

    def refuses_at_once(self, network: Any) -> bool:
        """Return whether a request to a locked learner is refused at the tick, and all is over."""
        return self.busy == "refuse" and isinstance(network.latency.request, NoTime)

    def manner(self) -> Manner:
        """Return how owners deal with what goes wrong."""
        timeout = None if self.timeout is None else to_ticks(self.timeout)
        return Manner(timeout_ticks=timeout, vanishes=self.offline == "vanish", locks=True)

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:  # noqa: ARG002
        """Give every owner its waits before a request is sent again."""
        if self.retry is not None:
            for owner in owners:
                source = partial(streams.generator, "owner", owner.number, "retry")
                owner.retry = self.retry.durations(source, 16)

    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Ask for an exchange and, once the learner is free, go through with it."""
        kernel, number, link = learner.kernel, owner.number, owner.link
        if link is not None:
            if owner.promised == learner.answers_left[number]:
                return
            owner.promised += 1
        asked = kernel._now
        message = learner.request(number)
        owner.busy = self.own_tick == "drop"
        heard = link is None or not link.carries_requests or (yield from link.ask(message))
        if heard and owner.request is not None:
            yield kernel.after(next(owner.request), REQUEST_ARRIVES)
        if not heard or (learner.locked and self.busy != "queue"):
            if heard:
                learner.refuse(number, message)
            if link is not None:
                owner.promised -= 1
            if owner.retry is not None:
                learner.event(RETRY, number, message, detail=BUSY if heard else Detail.none)
                kernel.start(self._again(owner, learner))
                return
        else:
            if learner.locked:
                yield learner.queue(number, message)
            learner.locked = True
            exchange = learner.read(number, message, asked)
            patience = None if link is None else link.patience(exchange)
            if owner.query is not None:
                yield Moment(kernel, kernel._now + next(owner.query), QUERY_ARRIVES)
            if link is None:
                if owner.query is not None:
                    learner.event(QUERY_RECEIVED, number, message)
                if owner.compute is not None:
                    yield Moment(kernel, kernel._now + next(owner.compute), GRADIENT_READY)
                learner.release(exchange)
                if owner.answer is not None:
                    yield Moment(kernel, kernel._now + next(owner.answer), ANSWER_END)
                learner.apply(exchange)
                learner.locked = False
            elif link.hears(message, owner.query is not None):
                yield from link.answer(exchange, patience)
            else:
                yield from link.unheard(exchange, patience)
        owner.busy = False
        learner.finish()

    def _again(self, owner: Owner, learner: Learner) -> Activity:
        """Ask once more after a while, unless the owner has gone or spent its budget."""
        if owner.retry is not None:
            yield learner.kernel.after(next(owner.retry), TRANSMISSION_BEGINS)
        owner.busy = False
        if owner.dark == 0 and learner.answers_left[owner.number] > 0:
            learner.kernel.start(self.attempt(owner, learner))
        learner.finish()
