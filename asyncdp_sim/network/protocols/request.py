"""Request for update: an owner asks, the learner talks to that owner alone until the update.

Async, section 3, "Request for Update by the Data Owner".
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
REQUEST_ARRIVES = Priority.REQUEST_ARRIVES


class Request(Spec):
    """The locked, one-on-one protocol.

    A request that finds the learner locked is refused; its owner is free again at once. The lock
    lasts from the request's arrival to the update. A tick of the owner's own clock while it is
    sending, waiting or being served is dropped, and is not an attempt.
    """

    kind: Literal["request"] = "request"
    busy: Literal["refuse"] = "refuse"
    own_tick: Literal["drop"] = "drop"

    @property
    def one_on_one(self) -> bool:
        """Exchanges never overlap."""
        return True

    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Ask for an exchange and, if the learner is free, go through with it."""
        kernel, number = learner.kernel, owner.number
        message = learner.request(number)
        owner.busy = True
        if owner.request is not None:
            yield kernel.after(next(owner.request), REQUEST_ARRIVES)
        if learner.locked:
            learner.refuse(number, message)
        else:
            learner.locked = True
            exchange = learner.read(number, message)
            if owner.query is not None:
                yield kernel.after(next(owner.query), QUERY_ARRIVES)
            if owner.compute is not None:
                yield kernel.after(next(owner.compute), GRADIENT_READY)
            learner.release(exchange)
            if owner.answer is not None:
                yield kernel.after(next(owner.answer), ANSWER_END)
            learner.apply(exchange)
            learner.locked = False
        owner.busy = False
        learner.finish()
