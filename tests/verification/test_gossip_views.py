"""Attacks of nodes on each other while they average: they reach what is claimed, and no more.

An owner's vector differs by one record between two datasets. The attacker has what its members
were sent in simulated runs, and their own vectors, and knows nothing of the formula: it learns the
best linear test from half of the runs, and is tried on the other half. The vectors are Gaussian
with one covariance, so that the best of all tests is linear, and its advantage is 2Φ(μ/2) − 1.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests import scenes

from .node_views import Seen, best_test, scores
from .zscores import LIMIT

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("information that nodes gain about each other's records by averaging"),
]

N, RUNS = 6, 20_000
TRIED = [
    ("ring", 2, {6}),
    ("ring", 3, {5}),
    ("ring", 5, {1}),
    ("ring", 3, {1, 4}),
    ("complete", 2, {3}),
    ("complete", 5, {4}),
    ("complete", 5, {1, 4}),
    ("complete", 6, {2, 4}),
    ("ring, lossy", 2, {6}),
    ("ring, lossy", 4, {2, 5}),
]
"""A graph, an owner, and who attacks it, from 1."""


@cache
def setting(graph):
    """Six owners with one number each, and a trace short enough that not all becomes known."""
    fields: dict[str, Any] = scenes.fields(
        run={"seed": 12, "updates": 9},
        owners={"count": N, "records": [20, 30, 40, 20, 30, 40]},
        data={"features": 1},
        protocol={"kind": "gossip", "graph": {"kind": graph.removesuffix(", lossy")}},
        channel={"kind": "ideal", "loss": 0.4 if graph.endswith("lossy") else 0.0},
        algorithm={"kind": "averaging", "step": 0.2},
        privacy={
            "epsilon": [6.0, 8.0, 10.0, 6.0, 8.0, 10.0],
            "delta": 1e-5,
            "mechanism": "gaussian",
            "budget": {"kind": "per-owner-cap", "answers": 1},
        },
    )
    scenario = parse(Scenario, fields)
    trace = simulate(scenario.network, Streams(12).within("replicate", 1))
    return prepare(scenario, build_dataset(scenario)), trace


class Heard(Seen):
    """Averaging, in which some nodes note what they are sent, and what they put in themselves."""

    def nodes(self, owner, peer):
        """Return the sender, as a member hears or sends, and the member that hears."""
        sender = [owner] if {owner, peer} & self.pool else []
        return [*sender, *([peer] if peer in self.pool else [])]


def told_apart(graph, owner, members):
    """Return the advantage of the attack, and its standard error."""
    problem, trace = setting(graph)
    first, second = (
        scores(problem, trace, Heard(problem.task.steps, members), owner - 1, moved, 31, RUNS)
        for moved in (0, 1)
    )
    half = RUNS // 2
    best = best_test(first[:half], second[:half])
    middle = best @ (second[:half].mean(axis=0) + first[:half].mean(axis=0)) / 2
    right = np.mean(second[half:] @ best > middle), np.mean(first[half:] @ best <= middle)
    return float(sum(right) - 1), float(np.sqrt(sum(p * (1 - p) for p in right) / half))


def claimed(graph, owner, members):
    """Return the advantage of the best test of the first of some nodes, and that of knowing all."""
    problem, trace = setting(graph)
    multiplier = problem.accountant.multiplier
    node, *others = sorted(members)
    observer = NodeObserver(colluding=tuple(others) if others else None)
    squared = observer.squared(multiplier, trace)[owner - 1, node - 1]
    return tuple(2 * ndtr(mu / 2) - 1 for mu in (np.sqrt(squared), 1 / multiplier[owner - 1]))


@pytest.mark.parametrize(("graph", "owner", "members"), TRIED)
def test_an_attack_reaches_what_is_claimed_and_no_more(graph, owner, members):
    found, error = told_apart(graph, owner, members)
    assert error < 0.01
    assert abs(found - claimed(graph, owner, members)[0]) <= LIMIT * error


def test_most_of_these_views_are_neither_nothing_nor_all():
    """Else they would show little."""
    claims = [claimed(*each) for each in TRIED]
    assert sum(0.1 < claim < 0.95 * everything for claim, everything in claims) == 9
