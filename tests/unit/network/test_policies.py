"""Policies from outside: what they are told, what they may answer, what is known of them."""

from typing import Any, Literal

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Dispatch
from asyncdp_sim.network.protocols.dispatch import Known, PolicyKind, ShortestQueue
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown

TOLD: list[Known] = []


class Told(PolicyKind):
    """Asks the last owner that is free, and keeps what it was told."""

    kind: Literal["told"] = "told"

    def choose(self, known, draws):  # noqa: ARG002
        TOLD.append(known)
        return known.free[-1]

    def describe(self) -> str:
        return "that are last"


class Says(Told):
    """Answers what it is set to."""

    kind: Literal["says"] = "says"
    answer: Any = 1

    def choose(self, known, draws):  # noqa: ARG002
        return self.answer


def network(policy: PolicyKind, tasks: int = 2, allowed: int = 2) -> Network:
    protocol = Dispatch(tasks=tasks, policy=policy)
    compute = (Constant(value=1.0), Constant(value=2.0))
    return Network(answers_allowed=(allowed,) * 2, updates=4, compute=compute, protocol=protocol)


def test_it_is_told_what_the_learner_knows():
    TOLD.clear()
    trace = simulate(network(Told()), Streams(1).within("replicate", 1))
    assert [
        Known(0, 0, (0, 0), (0, 0), (1, 2)),
        Known(0, 0, (0, 1), (0, 0), (1, 2)),
        # owner 2 may answer twice: at 2 and at 4 it has, and what is next is owner 1's
        Known(1, 2, (0, 1), (0, 1), (1,)),
        Known(2, 1, (0, 1), (1, 1), (1,)),
    ] == TOLD
    assert trace.updates["owner"].tolist() == [2, 1, 2, 1]


@pytest.mark.parametrize("answer", [0, 3, "1", None, [1], 1.5])
def test_an_owner_that_may_not_be_asked_is_refused_in_words(answer):
    with pytest.raises(SpecError) as error:
        simulate(network(Says(answer=answer)), Streams(1).within("replicate", 1))
    [line] = error.value.lines()
    assert line.startswith(f"protocol.policy: given {answer!r} by says; allowed is an owner that")


def test_an_owner_whose_budget_is_promised_is_refused():
    with pytest.raises(SpecError, match="given 1 by says; allowed is an owner that may be asked"):
        simulate(network(Says(answer=1), tasks=3), Streams(1).within("replicate", 1))


def test_nothing_is_predicted_of_whom_it_asks():
    net = network(ShortestQueue(), allowed=99)
    found = predicted(net, "throughput")
    assert isinstance(found, Unknown)
    assert "policy shortest-queue chooses which owners to ask" in found.reason
    assert isinstance(shares(net), Unknown)
