"""Policies of dispatch: what the shortest queue comes to where it can be worked out."""

import numpy as np
import pytest

from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Dispatch
from asyncdp_sim.network.protocols.dispatch import ShortestQueue
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.prediction import Unknown

from .networks import network, runs
from .test_dispatch import gap, updates_seen
from .zscores import require, score

pytestmark = pytest.mark.long

TASKS = pytest.mark.oracle("dispatched tasks and their owners under the shortest-queue policy")
STALENESS = pytest.mark.oracle(
    "staleness of m tasks under any policy, also after budgets are spent"
)

RUNS, UPDATES = 30, 2000
RATES = np.array([10.0, 2.0, 1.0])
WORK = tuple(Exponential(mean=1 / rate) for rate in RATES)


def network_of(protocol):
    return network(3, UPDATES, compute=WORK, protocol=protocol)


@TASKS
def test_a_task_each_goes_back_to_its_owner():
    """With N tasks whoever answers is the only one without any."""
    sent, same = (
        next(runs(network_of(Dispatch(tasks=3, **how)), 2302, 1))
        for how in ({"policy": ShortestQueue()}, {"to": "same"})
    )
    # Beforehand tasks are dealt by chance, or in turn: messages have other numbers.
    for column in ("tick", "owner", "staleness"):
        assert np.array_equal(sent.updates[column], same.updates[column])


@TASKS
def test_one_task_less_leaves_one_owner_idle():
    """Who is idle, i, is relieved by j at rate μ_j/2, so that P(i) is in proportion to μ_i."""
    traces = runs(network_of(Dispatch(tasks=2, policy=ShortestQueue())), 2301, RUNS)
    every = [trace.updates[UPDATES // 5 :] for trace in traces]
    flows = RATES * (RATES.sum() - RATES) / RATES.sum()
    found = [score("returns", [gap(rows) for rows in every], 1 / flows.sum())]
    for owner, share in enumerate(flows / flows.sum(), 1):
        found.append(score("share", [np.mean(rows["owner"] == owner) for rows in every], share))
    require(found, error=0.05)


@STALENESS
def test_staleness_is_one_less_than_the_tasks_whatever_chooses():
    """Pathwise, with updates seen by what is still open; predicted while budgets suffice."""
    net = network_of(Dispatch(tasks=4, policy=ShortestQueue()))
    [trace] = runs(net, 2303, 1)
    assert updates_seen(trace) == 3 * UPDATES
    assert predicted(net, "mean_staleness") == 3
    scarce = net.model_copy(update={"answers_allowed": (UPDATES, 1, 1)})
    assert "may be spent" in predicted(scarce, "mean_staleness").reason


@STALENESS
def test_budgets_that_are_spent_change_whom_is_asked_and_no_mean():
    """Owner 1 falls silent half way, and its tasks go to the others."""
    few = network_of(Dispatch(tasks=4)).model_copy(update={"answers_allowed": (300, 2000, 2000)})
    [trace] = runs(few, 2304, 1)
    assert int((trace.updates["owner"] == 1).sum()) == 300
    assert updates_seen(trace) == 3 * UPDATES
    assert predicted(few, "mean_staleness") == 3
    assert isinstance(predicted(few, "throughput"), Unknown)
