"""Push: every tick reads the model, computes and sends; nobody is locked out, nobody waits.

What simulators of federated learning call asynchronous. Answers are stale: other updates are
applied between an owner's read and the use of its answer.
"""

from collections.abc import Sequence
from typing import Any, Literal

from asyncdp_sim.kernel import Activity, Moment, Priority
from asyncdp_sim.network.delivery_policy import Manner
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Spec
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import EventKind

# Bound once: looking a member up in its enumeration costs as much as a function call.
ANSWER_END = Priority.ANSWER_END
GRADIENT_READY = Priority.GRADIENT_READY
QUERY_ARRIVES = Priority.QUERY_ARRIVES
QUERY_RECEIVED = EventKind.query_received


class Push(Spec):
    """The unlocked protocol.

    A tick reads the model as it is at that instant; the query's latency, the computation and the
    answer's latency follow, and the learner applies the answer when it arrives.

    Attributes
    ----------
    own_tick : str
        A tick while the owner's last job is under way is dropped ("drop"), or starts an
        independent job ("overlap"). An owner whose open jobs already take the rest of its budget
        starts no further one.
    offline : str
        An owner that goes offline during a job completes it ("finish"), or neither listens nor
        sends, and the job is lost ("vanish").
    """

    kind: Literal["push"] = "push"
    own_tick: Literal["drop", "overlap"] = "drop"
    offline: Literal["finish", "vanish"] = "finish"

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
        """Gradients are taken at the owner's (θ_L + θ_i)/2, as read for it."""
        return "average"

    @property
    def one_each(self) -> bool:
        """Whether an owner has at most one attempt open."""
        return self.own_tick == "drop"

    @property
    def plain(self) -> bool:
        """Whether the protocol itself gives an exchange no other way to go than to its update."""
        return self.offline == "finish"

    @property
    def clocked(self) -> bool:
        """Owners act on the ticks of their clocks."""
        return True

    @property
    def makes_updates(self) -> bool:
        """Whether the protocol says what an update is made of."""
        return False

    def refuses_at_once(self, network: Any) -> bool:  # noqa: ARG002
        """Nobody is refused."""
        return False

    def manner(self) -> Manner:
        """Return how owners deal with what goes wrong."""
        return Manner(vanishes=self.offline == "vanish")

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Do nothing: owners act by themselves."""

    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Read, compute, send."""
        kernel, number, link = learner.kernel, owner.number, owner.link
        if owner.promised == learner.answers_left[number]:
            return
        owner.promised += 1
        owner.busy = self.own_tick == "drop"
        exchange = learner.read(number, learner.begin(number), kernel._now)
        patience = None if link is None else link.patience(exchange)
        if owner.query is not None:
            yield Moment(kernel, kernel._now + next(owner.query), QUERY_ARRIVES)
        if link is None:
            if owner.query is not None:
                learner.event(QUERY_RECEIVED, number, exchange.message)
            if owner.compute is not None:
                yield Moment(kernel, kernel._now + next(owner.compute), GRADIENT_READY)
            owner.promised -= 1
            learner.release(exchange)
            if owner.answer is not None:
                yield Moment(kernel, kernel._now + next(owner.answer), ANSWER_END)
            learner.apply(exchange)
        elif link.hears(exchange.message, owner.query is not None):
            yield from link.answer(exchange, patience)
        else:
            yield from link.unheard(exchange, patience)
        owner.busy = False
        learner.finish()
