"""Push: every tick reads the model, computes and sends; nobody is locked out, nobody waits.

What simulators of federated learning call asynchronous. Answers are stale: other updates are
applied between an owner's read and the use of its answer.
"""

from collections.abc import Sequence
from typing import Literal

from typing_extensions import override

from asyncdp_sim.core.kernel import ANSWER_END, GRADIENT_READY, QUERY_ARRIVES, Activity
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind
from asyncdp_sim.spec.base import trait
from asyncdp_sim.trace.vocabulary import QUERY_RECEIVED


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
