"""Push: every tick reads the model, computes and sends; nobody is locked out, nobody waits.

What simulators of federated learning call asynchronous. Answers are stale: other updates are
applied between an owner's read and the use of its answer.
"""

from typing import Literal

from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Spec

# Bound once: looking a member up in its enumeration costs as much as a function call.
ANSWER_END = Priority.ANSWER_END
GRADIENT_READY = Priority.GRADIENT_READY
QUERY_ARRIVES = Priority.QUERY_ARRIVES


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
    """

    kind: Literal["push"] = "push"
    own_tick: Literal["drop", "overlap"] = "drop"

    @property
    def one_on_one(self) -> bool:
        """Exchanges may overlap."""
        return False

    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Read, compute, send."""
        kernel, number = learner.kernel, owner.number
        if owner.promised == learner.answers_left[number]:
            return
        owner.promised += 1
        owner.busy = self.own_tick == "drop"
        exchange = learner.read(number, learner.begin(number))
        if owner.query is not None:
            yield kernel.after(next(owner.query), QUERY_ARRIVES)
        if owner.compute is not None:
            yield kernel.after(next(owner.compute), GRADIENT_READY)
        owner.promised -= 1
        learner.release(exchange)
        if owner.answer is not None:
            yield kernel.after(next(owner.answer), ANSWER_END)
        learner.apply(exchange)
        owner.busy = False
        learner.finish()
