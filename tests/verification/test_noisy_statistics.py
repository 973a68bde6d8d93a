"""Noisy statistics: what is released is unbiased, of known variance; what is solved has a known ψ.

Answers are taken from a run's own reply and brought back to the records' units by hand. To first
order in the noise, δθ = H⁻¹(e − Eθ*) with e the noise of Xᵀy/n and E that of XᵀX/n, symmetric with
independent numbers of variances u and v; Cov(Eθ)_ab = v(‖θ‖² 1_{a=b} + θ_aθ_b 1_{a≠b}), so that

E f(θ) − f(θ*) = tr H⁻¹(uI + v(‖θ*‖² I + θ*θ*ᵀ − diag θ*²)).
"""

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests import scenes
from tests.tables import table

from .networks import replicates
from .zscores import require, score, shared

pytestmark = pytest.mark.oracle("released statistics, and ψ of the model computed from them")

TABLE = table(__file__, "noisy_statistics.toml")
N, P, RECORDS = 2, 3, 200
ROW, TARGET, SHARE = 2.0, 4.0, 0.6
RUNS = 4000
UPPER = np.triu_indices(P)


def problem(epsilon):
    """Return a scenario's learning problem, and its records confined by hand, owner by owner."""
    fields = scenes.fields(**TABLE)
    fields["privacy"]["epsilon"] = epsilon
    scenario = parse(Scenario, fields)
    data = build_dataset(scenario)
    confined = []
    for x, y in zip(data.features, data.targets, strict=True):
        length = np.maximum(np.abs(x).sum(axis=1, keepdims=True), ROW)
        confined.append((x * (ROW / length), np.clip(y, -TARGET, TARGET)))
    return prepare(scenario, data), confined


def answered(seed, epsilon):
    """Return all owners' answers in every run, shape (N, RUNS, q), and what they are made of."""
    made, confined = problem(epsilon)
    task, scopes = made.task, replicates(seed, RUNS)
    answers, points = Answers(task.steps, task.reply, scopes), np.zeros((RUNS, P))
    found = [answers.give(AnswerBatch(np.full(RUNS, owner)), points) for owner in range(N)]
    return np.stack(found), task, confined, scopes


@shared
def released():
    """Return scores of means and variances of both blocks, in the records' units."""
    epsilon = 1.0
    found, _, confined, _ = answered(5, epsilon)
    units = ROW**2 / SHARE, ROW * TARGET / (1 - SHARE)
    means, variances = [], []
    for owner, (x, y) in enumerate(confined):
        exact = (x.T @ x / len(y))[UPPER], x.T @ y / len(y)
        parts = found[owner][:, :-P], found[owner][:, -P:]
        for name, unit, part, true in zip("Gg", units, parts, exact, strict=True):
            deviation = np.sqrt(2) * 2 * unit / (RECORDS * epsilon)  # √2 b, b = 2Ξ/(nε), Ξ = 1
            for place, number in enumerate(unit * part.T):
                label = f"{name}_{owner},{place}"
                means.append(score(label, number, true[place], deviation))
                variances.append(score(f"{label}²", (number - true[place]) ** 2, deviation**2))
    return means, variances


@shared
def solved():
    """Return the score of f(θ) − f(θ*) after one round, against its first order in the noise."""
    epsilon = 300.0
    found, task, _, scopes = answered(6, epsilon)
    steps, objective = task.steps, task.objective
    state, rows = steps.init(scopes), np.arange(RUNS)
    for owner, answers in enumerate(found):
        turn = AnswerBatch(np.full(RUNS, owner), rows=rows)
        steps.apply(state, turn, steps.query(state, turn), answers.copy())
    steps.update(state, rows)
    share = 2 * (2 / (RECORDS * epsilon)) ** 2 / N  # of a mean over N equal owners
    v, u = share * (ROW**2 / SHARE) ** 2, share * (ROW * TARGET / (1 - SHARE)) ** 2
    best = objective.optimum
    floor = 2 * steps.caution * np.sqrt(P * v)
    gram = objective.hessian - 0.1 * np.eye(P)
    assert np.linalg.eigvalsh(gram)[0] > 2 * floor  # λ = 0 in all runs
    spread = u * np.eye(P) + v * (best @ best * np.eye(P) + np.outer(best, best) - np.diag(best**2))
    exact = np.trace(np.linalg.solve(objective.hessian, spread))
    return [score("excess", objective.excess(state.central), exact)]


def scores():
    """Return every score of a sound algorithm."""
    means, variances = released()
    return [*means, *variances, *solved()]


def test_what_is_released_is_unbiased_and_of_known_variance():
    means, variances = released()
    require(means, error=0.02)
    require(variances, error=0.05)


def test_the_expected_excess_is_that_of_the_delta_method():
    require(solved(), error=0.03)


@pytest.mark.parametrize(("owners", "p"), [(1, 1), (1, 5), (1, 20), (4, 5)])
def test_the_norm_of_the_noise_is_rarely_beyond_its_bound(owners, p):
    """2.5 √(pv) is exceeded in less than 5 % of draws, with three standard errors to spare."""
    runs, upper = 4000, np.triu_indices(p)
    numbers = np.random.default_rng(7).laplace(size=(owners, runs, len(upper[0]))).sum(axis=0)
    noise = np.zeros((runs, p, p))
    noise[:, upper[0], upper[1]] = noise[:, upper[1], upper[0]] = numbers
    beyond = np.abs(np.linalg.eigvalsh(noise)).max(axis=1) > 2.5 * np.sqrt(p * 2 * owners)
    assert beyond.mean() + 3 * np.sqrt(beyond.mean() / runs) < 0.05
