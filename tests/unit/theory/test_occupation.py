"""Reasons why nobody knows what owners are at, and so what they use."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

from asyncdp_sim.measures.energy import Energy, energy_predictions, expected
from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import OnOff
from asyncdp_sim.network.channels import Csma, Ideal
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Broadcast, Dispatch, Push, Rounds
from asyncdp_sim.theory.formulas.queueing import whereabouts
from asyncdp_sim.theory.predict.all import occupation, predicted
from asyncdp_sim.theory.prediction import Unknown
from tests.together import together

ENERGY = Energy(idle=1, listening=1, computing=1, sending=1, receiving=1)
TRAVELS = Latency(query=Exponential(mean=0.05), answer=Constant(value=0.1))
UNLIKE = (Exponential(mean=0.1), Exponential(mean=0.3), Exponential(mean=0.5))


def network(**parts):
    fields = {"answers_allowed": (99,) * 3, "updates": 99, "compute": Exponential(mean=0.3)}
    return Network(**(fields | {"numbers": 3, "occupation": True} | parts))


REFUSED = {
    "owners come and go": dict(
        availability=OnOff(on=Exponential(mean=2.0), off=Exponential(mean=1.0))
    ),
    "exchanges of an owner overlap": dict(protocol=Broadcast(interval=9.0, own_tick="overlap")),
    "policy shortest-queue chooses": dict(
        protocol=Dispatch(tasks=2, policy={"kind": "shortest-queue"})
    ),
    "work, with their answers' way, are not exponential": dict(
        latency=TRAVELS, protocol=Dispatch(tasks=2)
    ),
    "messages are lost": dict(channel=Ideal(loss=0.1)),
    "owners share a channel": dict(
        channel=Csma(airtime=0.1, propagation_delay=0.01), protocol=Push()
    ),
    "requests take time": dict(latency=Latency(request=Constant(value=0.1))),
    "rounds may end at the deadline": dict(
        protocol=Rounds(deadline=1.0), answers_per_update=None
    ),
    "owners are not equally fast": dict(
        protocol=Rounds(), answers_per_update=None, compute=UNLIKE
    ),
    "an update takes 2 answers": dict(answers_per_update=2, protocol=Push()),
}  # fmt: skip


@together
@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_known_is_refused_by_name(why):
    found = expected(ENERGY, network(**REFUSED[why]))
    assert isinstance(found, Unknown)
    assert why in found.reason


def test_a_reason_is_told_instead_of_a_prediction():
    net = network(protocol=Broadcast(interval=9.0, own_tick="overlap"))
    told = {each.quantity: each for each in energy_predictions(ENERGY, net)}
    assert set(told) == {"joules_per_update", "watts"}
    assert told["watts"].value is None
    assert told["watts"].reason == "exchanges of an owner overlap"
    assert list(energy_predictions(None, net)) == []


def test_requests_are_those_that_are_served_and_those_that_are_refused():
    """Of all requests so many are refused as the lock's own formula says."""
    net = network(clock=PoissonClock(rate=(0.5, 1.0, 2.0)), compute=UNLIKE, latency=TRAVELS)
    found = occupation(net)
    refused = 1 - found.updates / float(found.requests.sum())
    assert refused == pytest.approx(predicted(net, "refusal_rate"), rel=1e-12)
    assert found.times.sum(axis=1) == pytest.approx([1.0] * 3)


def stationary(tasks, served, ways):
    """Return the product form over all states, by brute force: counts of each stage, their chance.

    Stages are each owner's service and each of its ways.
    """
    n = len(served)
    states, weights = [], []
    for state in product(range(tasks + 1), repeat=n + ways.size):
        if sum(state) == tasks:
            under_way = state[n:]
            weight = prod(served ** state[:n]) * prod(
                way**k / factorial(k) for way, k in zip(ways.ravel(), under_way, strict=True)
            )
            states.append(state)
            weights.append(weight)
    return np.array(states), np.array(weights) / sum(weights)


@pytest.mark.parametrize("tasks", [1, 2, 4])
@pytest.mark.parametrize("factor", [0.1, 1.0, 7.0])
def test_where_tasks_are_is_the_sum_over_all_states(tasks, factor):
    served = factor * np.array([0.3, 0.9])
    ways = factor * np.array([[0.2, 0.4], [0.1, 0.7]])  # sending and the rest, per owner
    states, chance = stationary(tasks, served, ways)
    found = whereabouts(tasks, served, float(ways.sum()))
    for i in range(2):
        serves, sends = states[:, i] > 0, states[:, 2 + 2 * i] > 0
        none = np.array([chance[~sends].sum(), chance[~sends & ~serves].sum()])
        told = [found.none(ways[:, 0], serving=serving)[i] for serving in (False, True)]
        assert told == pytest.approx(none, rel=1e-12)
    assert found.none(0 * served, serving=False) == pytest.approx([1.0, 1.0], rel=1e-12)


def test_many_tasks_of_many_owners_are_no_overflow():
    served = np.full(300, 0.75)
    found = whereabouts(900, served, 0.0)
    assert found.none(0 * served, serving=True) == pytest.approx(1 - 900 / (900 + 299))
