"""Attacks of nodes on each other while they average: they reach what is claimed, and no more.

An owner's vector differs by one record between two datasets. The attacker has what its members
were sent in simulated runs, and their own vectors, and knows nothing of the formula: it learns the
best linear test from half of the runs, and is tried on the other half. The vectors are Gaussian
with one covariance, so that the best of all tests is linear, and its advantage is 2Φ(μ/2) − 1.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import Wrapped
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse
from tests import scenes

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


class Seen(Wrapped):
    """Averaging, in which some nodes note what they are sent, and what they put in themselves."""

    def __init__(self, steps, members):
        super().__init__(steps)
        self._members = members
        self.noted: list[Any] = []

    def apply(self, state, turn, points, answers):
        """Note the vector that a member hears or sends, and its own as it hears."""
        super().apply(state, turn, points, answers)
        assert turn.peers is not None
        owner, peer = int(turn.owners[0]) + 1, int(turn.peers[0])
        if owner in self._members or peer in self._members:
            self.noted.append(state.vectors[:, owner - 1, 0].copy())
        if peer in self._members:
            self.noted.append(state.vectors[:, peer - 1, 0].copy())


def scores(graph, owner, members, moved):
    """Return (runs, seen) numbers that members have, where a record moves an owner's gradient."""
    problem, trace = setting(graph)
    steps = Seen(problem.task.steps, members)
    reply = problem.task.reply
    gradients = reply.gradients

    class Moved:
        def gradient(self, owners, points):
            shift = np.where(owners == owner - 1, moved, 0.0)
            return gradients.gradient(owners, points) + shift[:, None]

    other = replace(reply, gradients=Moved())
    scopes = [Streams(31).within("view", int(moved != 0), r) for r in range(RUNS)]
    replay([trace] * RUNS, steps, other, scopes, 10**6)
    return np.array(steps.noted).T


def told_apart(graph, owner, members):
    """Return the advantage of the attack, and its standard error."""
    problem, _ = setting(graph)
    reach = 2 * problem.xi / problem.task.objective.records[owner - 1]
    first, second = (scores(graph, owner, members, shift) for shift in (0.0, reach))
    half = RUNS // 2
    within = (np.cov(first[:half].T) + np.cov(second[:half].T)) / 2
    apart = second[:half].mean(axis=0) - first[:half].mean(axis=0)
    best = np.linalg.pinv(np.atleast_2d(within), rcond=1e-9, hermitian=True) @ apart
    middle = best @ (second[:half].mean(axis=0) + first[:half].mean(axis=0)) / 2
    right = np.mean(second[half:] @ best > middle), np.mean(first[half:] @ best <= middle)
    error = np.sqrt(sum(p * (1 - p) for p in right) / half)
    return float(sum(right) - 1), float(error)


def claimed(observer, graph, owner, node):
    """Return the advantage of the best test of one node on an owner, both from 1."""
    problem, trace = setting(graph)
    multiplier = problem.accountant.multiplier
    assert multiplier is not None
    squared = observer.squared(multiplier, trace)[owner - 1, node - 1]
    return float(2 * ndtr(np.sqrt(squared) / 2) - 1)


def off(graph, owner, members, claim):
    """Return how many standard errors the attack is above what is claimed."""
    found, error = told_apart(graph, owner, members)
    assert error < 0.01
    return (found - claim) / error


@pytest.mark.parametrize(("graph", "owner", "members"), TRIED)
def test_an_attack_reaches_what_is_claimed_and_no_more(graph, owner, members):
    node, *others = sorted(members)
    observer = NodeObserver(colluding=tuple(others) if others else None)
    claim = claimed(observer, graph, owner, node)
    assert abs(off(graph, owner, members, claim)) <= LIMIT


def test_most_of_these_views_are_neither_nothing_nor_all():
    """Else they would show little."""
    between = 0
    for graph, owner, members in TRIED:
        problem, _ = setting(graph)
        multiplier = problem.accountant.multiplier
        assert multiplier is not None
        node, *others = sorted(members)
        observer = NodeObserver(colluding=tuple(others) if others else None)
        everything = 2 * ndtr(0.5 / multiplier[owner - 1]) - 1
        between += 0.1 < claimed(observer, graph, owner, node) < 0.95 * everything
    assert between == 9
