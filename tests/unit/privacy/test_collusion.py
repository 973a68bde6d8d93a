"""Gradients that colluders work out of an owner's answers, exactly."""

from math import exp, pi, sqrt, tanh
from typing import Any

import numpy as np
import pytest

from analysis.privacy import transcripts
from analysis.privacy.transcripts import Transcript, transcribed
from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms.gathered import Collab1Steps
from asyncdp_sim.learning.algorithms.gossip import GossipSteps
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests.tables import table
from tests.verification.averaging import advantage_bound, averaging_advantage

SCENES = table(__file__, "scenes.toml")
BASE, BOUNDED = SCENES["collusion"], SCENES["on-the-bound"]
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
        return transcripts.from_exchanges(blind(seen), HIDDEN, steps)
    assert isinstance(steps, Collab1Steps)
    sizes = steps.rate / np.arange(1, 61)
    return transcripts.from_rounds(blind(seen), HIDDEN, steps.weights, sizes, steps.sigma)


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


@pytest.mark.parametrize("algorithm", BOUNDED.values(), ids=BOUNDED)
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
    for count, known in ((11, [1]), (3, [])):
        seen = Transcript(np.arange(count), owners[:count], zeros, zeros)
        found = transcripts.from_exchanges(seen, 1, steps)
        assert found.k.tolist() == known
        assert found.answers.shape == (len(known), 3)


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
    assert isinstance(noted, transcripts.Transcribed)
    used = np.concatenate([trace.updates["owner"] for trace in outcome.traces]) - 1
    assert np.array_equal(np.concatenate([noted.transcript(r).owners for r in range(2)]), used)
    assert noted.answer_size == noted.n_features == problem.task.objective.n_features


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_averaging_never_tells_more_than_epsilon_allows(epsilon):
    assert averaging_advantage(epsilon, 1) == pytest.approx(1 - exp(-epsilon / 2))
    found = [averaging_advantage(epsilon, count) for count in (1, 2, 5, 30, 1000)]
    assert found == sorted(found, reverse=True)
    assert all(0 < each < advantage_bound(epsilon) for each in found)
    assert advantage_bound(epsilon) == tanh(epsilon / 2)
    assert averaging_advantage(0.1, 5000) == pytest.approx(0.1 / sqrt(4 * pi * 5000), rel=1e-3)
