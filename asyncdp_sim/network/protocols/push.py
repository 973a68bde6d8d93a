"""Push: every tick reads the model, computes and sends; nobody is locked out, nobody waits.

What simulators of federated learning call asynchronous. Answers are stale: other updates are
applied between an owner's read and the use of its answer.
"""

from collections.abc import Iterator, Sequence
from math import fsum
from typing import Annotated, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.kernel import ANSWER_END, GRADIENT_READY, QUERY_ARRIVES, Activity
from asyncdp_sim.network.facts import Facts
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.kind import Array, ProtocolKind
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope
from asyncdp_sim.theory.prediction import Prediction
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
    update_of = "answer"
    ideal_only = False
    rehearsed = "at once"
    fresh = ""
    dependent = ""

    kind: Literal["push"] = "push"
    own_tick: Annotated[
        Literal["drop", "overlap"],
        about(
            "A tick while the owner's last job is under way is dropped, or starts an independent "
            "job (overlap), unless open jobs take the rest of its budget"
        ),
    ] = "drop"
    offline: Annotated[
        Literal["finish", "vanish"],
        about(
            "An owner that goes offline during a job completes it (finish), or neither listens nor "
            "sends, and the job is lost (vanish)"
        ),
    ] = "finish"

    @property
    @override
    def asks(self) -> Literal["average", "central"]:
        return "average"

    @property
    @override
    def one_each(self) -> bool:
        return not self.overlap

    @property
    @override
    def overlap(self) -> bool:
        return self.own_tick == "overlap"

    @property
    @override
    def vanishes(self) -> bool:
        return self.offline == "vanish"

    @property
    @override
    def plain(self) -> bool:
        return not self.vanishes

    @property
    @override
    def entangled(self) -> str:
        return ""

    @override
    def occupied(self, facts: Facts, sending: Array, receiving: Array) -> Array | None:
        """Return the shares of jobs that start at every tick: M/G/∞, whose stages are Poisson.

        So many of an owner's jobs are in each stage, independently of the others, that nobody is in
        it with chance e^(−λ E[stage]).
        """
        if not self.overlap or facts.rates is None:
            return None
        rates = np.array(facts.rates)
        stages = np.stack([sending, facts.network.mean_times("compute"), receiving])
        none = np.exp(-rates * np.cumsum(stages, axis=0))
        return -np.diff(np.concatenate([np.ones((1, facts.n_owners)), none]), axis=0).T

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
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
        elif link.hears(exchange.message, owner.query is not None):
            yield from link.answer(exchange, patience)
        else:
            yield from link.unheard(exchange, patience)
        owner.busy = False
        learner.finish()

    @override
    def predictions(self, facts: Facts) -> Iterator[Prediction]:
        network, said = facts.network, "N idle-or-busy owners, λ/(1+λm) each"
        if self.overlap:
            said = "every tick starts a job"
        if network.clock.saturated:
            said = "always-busy owners, 1/m each"
            reason = facts.can_lose_messages or facts.spent()
            value = None if reason else fsum(1 / service for service in facts.services)
            yield Prediction("throughput", value, said, reason)
            return
        reason = facts.disturbed
        if reason or facts.rates is None:
            yield Prediction("throughput", None, said, reason)
            return
        yield Prediction("throughput", fsum(self.flows(facts.rates, facts.services, 0)), said)
