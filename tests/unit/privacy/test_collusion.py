"""Gradients that colluders work out, and the knowledge of curious servers, exactly."""

from math import exp, pi, sqrt, tanh
from typing import Any

import numpy as np
import pytest

from analysis.privacy.transcripts import (
    Transcribed,
    Transcript,
    from_exchanges,
    from_rounds,
    transcribed,
)
from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms.gathered import Collab1Steps
from asyncdp_sim.learning.algorithms.gossip import GossipSteps
from asyncdp_sim.privacy.mechanisms import laplace_scale
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from scenarios.curious_servers import additive_spread, guess, guess_error, weight_spread
from tests.tables import table
from tests.theory.collusion import averaged_deviation
from tests.verification.averaging import advantage_bound, averaging_advantage

# Gradients that colluders work out of an owner's answers, exactly.

BASE = table(__file__, "scenes.toml")["collusion"]
ROUNDS = {"protocol": {"kind": "rounds"}, "algorithm": {"kind": "collab-1", "rho": 400.0}}
GOSSIP = {"algorithm": {"kind": "async-gossip", "rho": 20.0}}
HIDDEN = 1


def scenario(n_owners: int = 2, **parts: Any) -> Scenario:
    owners = {"count": n_owners, "records": [10, 30, 20][:n_owners]}
    return parse(Scenario, {**BASE, "owners": owners, **parts})


def blind(seen: Transcript) -> Transcript:
    """What all owners but the hidden one see: its rows are not there."""
    theirs = (seen.owners == HIDDEN)[:, None]
    points, answers = (np.where(theirs, np.nan, a) for a in (seen.points, seen.answers))
    return Transcript(seen.k, seen.owners, points, answers)


def truth(seen: Transcript, found: Transcript) -> tuple[np.ndarray, np.ndarray]:
    """The hidden owner's queries and answers at the updates that were worked out."""
    rows = [np.flatnonzero((seen.k == k) & (seen.owners == HIDDEN))[0] for k in found.k]
    return seen.points[rows], seen.answers[rows]


def recovered(problem: Problem, seen: Transcript) -> Transcript:
    steps = problem.task.steps
    if isinstance(steps, GossipSteps):
        return from_exchanges(blind(seen), HIDDEN, steps)
    assert isinstance(steps, Collab1Steps)
    sizes = steps.rate / np.arange(1, 61)
    return from_rounds(blind(seen), HIDDEN, steps.weights, sizes, steps.sigma)


@pytest.mark.parametrize("n_owners", [2, 3])
@pytest.mark.parametrize("parts", [ROUNDS, GOSSIP], ids=["rounds", "gossip"])
def test_answers_are_worked_out_to_rounding(parts, n_owners):
    problem, noted, _ = transcribed(scenario(n_owners, **parts))
    for replicate in range(2):
        seen = noted.transcript(replicate)
        found = recovered(problem, seen)
        points, answers = truth(seen, found)
        assert len(found.k) == 59 if parts is ROUNDS else len(found.k) > 3
        np.testing.assert_allclose(found.points, points, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.answers, answers, rtol=0, atol=1e-9)


def test_an_infinite_budget_gives_the_gradient_itself_away():
    clip = {"kind": "clip", "bound": 5.0}
    budgets = {"epsilon": [1.0, float("inf")], "sensitivity": clip}
    problem, noted, _ = transcribed(scenario(privacy=budgets, **ROUNDS))
    found = recovered(problem, noted.transcript(0))
    owners = np.full(len(found.k), HIDDEN)
    exact = problem.task.reply.gradients.gradient(owners, found.points)
    assert np.abs(found.answers - exact).max() < 1e-11
    assert np.abs(exact).max() > 0.1


@pytest.mark.parametrize(
    "algorithm",
    [
        {"rho": 200.0, "central_step": "text"},
        {"rho": 200.0, "central_step": "proof"},
        {"rho": 20.0, "initial": "ones"},
    ],
    ids=["text", "proof", "models that start outside"],
)
def test_coordinates_on_the_bound_stay_hidden(algorithm):
    """The projection says only that they were beyond it; the others are worked out as before.

    Colluders know Θ, and with it that no model starts outside.
    """
    model = {"kind": "ridge", "regularisation": 0.1, "theta_max": 0.8}
    problem, noted, _ = transcribed(
        scenario(model=model, algorithm={"kind": "async-gossip"} | algorithm)
    )
    seen = noted.transcript(0)
    found = recovered(problem, seen)
    _, answers = truth(seen, found)
    hidden = np.isnan(found.answers)
    assert 0 < hidden.sum() < hidden.size
    np.testing.assert_allclose(found.answers[~hidden], answers[~hidden], rtol=0, atol=1e-9)


def test_only_lone_updates_are_worked_out():
    """H's updates at k = 1 and 4 are alone, those at 6 and 7 are not: the answer of 1 is known."""
    problem, _, _ = transcribed(scenario(**GOSSIP))
    steps = problem.task.steps
    assert isinstance(steps, GossipSteps)
    owners = np.array([0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0])
    zeros = np.zeros((len(owners), 3))
    found = from_exchanges(Transcript(np.arange(11), owners, zeros, zeros), 1, steps)
    assert found.k.tolist() == [1]
    nothing = from_exchanges(Transcript(np.arange(3), owners[:3], zeros, zeros), 1, steps)
    assert nothing.answers.shape == (0, 3)


def test_a_secret_start_is_refused():
    algorithm = {"kind": "async-gossip", "rho": 20.0, "initial": "uniform"}
    problem, noted, _ = transcribed(scenario(algorithm=algorithm))
    with pytest.raises(ValueError, match="given uniform"):
        recovered(problem, noted.transcript(0))


@pytest.mark.parametrize("parts", [ROUNDS, GOSSIP], ids=["rounds", "gossip"])
def test_a_tap_changes_nothing(parts):
    given = scenario(**parts)
    problem, noted, models = transcribed(given)
    outcome = run(given)
    assert np.array_equal(models, outcome.learned.models)
    assert isinstance(noted, Transcribed)
    used = np.concatenate([trace.updates["owner"] for trace in outcome.traces]) - 1
    assert np.array_equal(np.concatenate([noted.transcript(r).owners for r in range(2)]), used)
    assert noted.answer_size == noted.n_features == problem.task.objective.n_features


def test_the_mean_of_all_answers():
    scale = laplace_scale(3.0, np.array([50.0]), np.array([200.0]), np.array([0.5]))[0]
    assert averaged_deviation(3.0, 200, 0.5, 50) == pytest.approx(sqrt(2) * scale / sqrt(50))
    assert averaged_deviation(3.0, 200, float("inf"), 50) == 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_averaging_never_tells_more_than_epsilon_allows(epsilon):
    assert averaging_advantage(epsilon, 1) == pytest.approx(1 - exp(-epsilon / 2))
    found = [averaging_advantage(epsilon, count) for count in (1, 2, 5, 30, 1000)]
    assert found == sorted(found, reverse=True)
    assert all(0 < each < advantage_bound(epsilon) for each in found)
    assert advantage_bound(epsilon) == tanh(epsilon / 2)
    assert averaging_advantage(0.1, 5000) == pytest.approx(0.1 / sqrt(4 * pi * 5000), rel=1e-3)


# Knowledge of curious servers: by hand, and where the laws of weights are simple.


def test_a_guess_by_hand():
    """Two windows of one step, two servers, g = (2, 0): the first sees (2, 1) and (6, 1)."""
    weights = np.array([[[1.0, 1.0]], [[3.0, -1.0]]])
    additive = np.array([[[[0.0, 1.0], [0.0, -1.0]]], [[[0.0, 1.0], [0.0, -1.0]]]])
    found = guess(np.array([2.0, 0.0]), weights, additive, 1)
    assert found == pytest.approx(sqrt(1 - ((4 + 12) / 2) ** 2 / ((5 + 37) / 2 * 4)))
    assert guess(np.array([2.0, 0.0]), weights, additive, 2) == 0.0


def test_weights_of_each_coordinate():
    weights = np.array([[[[1.0, 3.0], [2.0, 0.0]]]])
    nothing = np.zeros((1, 1, 2, 2))
    found = guess(np.array([1.0, 1.0]), weights, nothing, 1)
    assert found == pytest.approx(sqrt(1 - 4**2 / (10 * 2)))
    assert guess(np.array([1.0, 1.0]), weights, nothing, 2) == pytest.approx(0)


def test_nothing_seen_is_nothing_known():
    weights = np.array([[[0.0, 1.0]], [[0.0, -1.0]]])
    assert guess(np.ones(1), weights, np.zeros((2, 1, 2, 1)), 1) == 1


@pytest.mark.parametrize(
    ("window", "servers", "bound", "spread"),
    [
        *((1, 2, ratio, ratio**2 / 3) for ratio in (1.0, 2.0, 10.0)),
        *((window, m, 1.0, 1 / (window * m + 1)) for window, m in ((1, 3), (4, 5))),
    ],
)
def test_weights_by_hand(window, servers, bound, spread):
    """One of two weights is uniform on [(M − M̄)/2, (M + M̄)/2]: ρ² = Var/(M/2)² = (M̄/M)²/3.

    Where M̄ = M, m cells are a uniform split of M, of variance M²(m − 1)/(m²(m + 1)) each.
    """
    assert weight_spread(window, servers, 5.0, 5.0 * bound) == pytest.approx(spread)


def test_errors_between_knowing_all_and_nothing():
    found = [guess_error(2.0, 5, servers) for servers in range(1, 6)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(sqrt(8 / 9))
    assert found[-1] == 0
    one_more = [guess_error(2.0, servers + 1, servers) for servers in (1, 2, 8)]
    assert one_more == pytest.approx([sqrt(2 / (servers + 2)) for servers in (1, 2, 8)])
    assert guess_error(0.0, 3, 1) == 0


def test_additive_perturbations():
    """Two servers, d_1 = −d_2: (Δ E‖d‖²)/((M/2)²‖g‖²)."""
    assert additive_spread(3, 2, 5.0, 0.7, 2.0) == pytest.approx(3 * 0.7 / (2.5**2 * 4))
