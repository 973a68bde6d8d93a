"""Tasks that queue with times of any law: no formula, but bounds that hold whatever the laws.

A score is of how far the mean time between returns lies outside of its bounds, 0 within. Where one
owner does nearly all, or tasks are many, the bounds are less than 2 % apart or one of them is met,
so that a pass says more than that they are wide.
"""

from dataclasses import replace

import pytest

from asyncdp_sim.network import Latency
from asyncdp_sim.network.laws import Constant, Gamma, Lognormal, Uniform
from asyncdp_sim.theory.predict.all import predict
from tests.tables import table

from .networks import network, runs
from .test_dispatch import UPDATES, gap, settled
from .zscores import fresh_seeds, require, score, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("throughput of dispatched tasks with queues, for any laws of times"),
]

RUNS = 40
LAWS = {
    "constant": lambda mean: Constant(value=mean),
    "lognormal": lambda mean: Lognormal(mean=mean, cv=2.0),
    "gamma": lambda mean: Gamma(mean=mean, cv=0.5),
    "uniform": lambda mean: Uniform(low=0.0, high=2 * mean),
}
SHAPES = table(__file__, "circulation_bounds.toml")
CASES = {
    f"{shape}, {law}": (shape, law, 4100 + number)
    for number, (shape, law) in enumerate((shape, law) for shape in SHAPES for law in LAWS)
}
"""Shape, law, seed."""


def network_of(name):
    shape, law, _ = CASES[name]
    case, travel = SHAPES[shape], SHAPES[shape]["query"]
    latency = Latency(query=Uniform(low=0.0, high=2 * travel)) if travel > 0 else Latency()
    work = tuple(LAWS[law](mean) for mean in case["means"])
    return network(len(work), UPDATES, compute=work, latency=latency, protocol=case["protocol"])


def bounds(name):
    """Return what theory says that the throughput lies between."""
    [found] = [each for each in predict(network_of(name)) if each.quantity == "throughput"]
    assert found.value is None
    assert "not exponential" in found.reason or "in turn" in found.reason
    return found.between


@shared
def gaps(name, seed=None, count=RUNS):
    every = runs(network_of(name), seed or CASES[name][-1], count)
    return [gap(settled(each)) for each in every]


def outside(name, **how):
    """Return scores of how far mean gaps lie above the longest, and below the shortest."""
    (low, high), found = bounds(name), gaps(name, **how)
    longest, shortest = score("at least", found, 1 / low), score("at most", found, 1 / high)
    return [replace(longest, z=max(0.0, longest.z)), replace(shortest, z=min(0.0, shortest.z))]


@pytest.mark.parametrize("name", CASES)
def test_tasks_return_as_often_as_any_law_allows(name):
    require(outside(name), error=0.05)


@pytest.mark.parametrize("law", LAWS)
def test_bounds_that_are_near_are_met(law):
    """One owner that does nearly all leaves 2 %; of many tasks the busiest owner sets the pace."""
    low, high = bounds(f"one does nearly all, {law}")
    assert high / low < 1.02
    _, high = bounds(f"many, {law}")
    assert high == pytest.approx(1 / (0.2 * 1.2))
    require([score("the busiest", gaps(f"many, {law}"), 1 / high)], error=0.02)


test_fresh_seeds = fresh_seeds(outside, CASES, RUNS)
