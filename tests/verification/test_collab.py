"""Collab on a quadratic: mean, spread and the slopes of ψ, with noise on every answer.

With ∇f(θ) = 2(Hθ − b) a step is θ⁺ = θ − s_k(2(Hθ − b) + w), w = Σ (n_i/n) w_i of covariance
Σ (n_i/n)² 2b_i² I. So the mean is the noise-free model, and θ and the average θ̄ have exact second
moments by a recursion over x = (θ, θ̄): E f(θ_T) − f* = f(E θ_T) − f* + tr(H Cov θ_T). The noise
has scale b_i = 2ΞT/(n_i ε), so what it costs falls as 1/(nε)².
"""

from math import sqrt

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.gaussian import GaussianData
from asyncdp_sim.learning.algorithms import Collab1, Collab2
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.network import simulate
from asyncdp_sim.network.protocols import Rounds
from asyncdp_sim.privacy import Privacy
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.privacy.sensitivity import Declared

from .networks import learned, network
from .zscores import require, score, seen, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("mean and spread of the model, slopes of ψ in budgets and records"),
]

N, P, T, SIGMA = 3, 4, 40, 0.2
FIRST, SECOND = Collab1(rho=0.2 * T**2), Collab2(step=0.1)
QUIET = LaplaceNoise(np.zeros(N))
SPREAD, GENTLE = np.array([9.0, 4.0, 12.0]), np.array([0.2, 0.1, 0.3])


def problem(n=20, condition=5.0):
    """Return a quadratic of correlated features whose owners differ, n, 2n and 3n records."""
    data = GaussianData(features=P, condition=condition, heterogeneity=0.5)
    built = data.build(N, (n, 2 * n, 3 * n), Streams(1))
    return Quadratic.from_records(built.features, built.targets, SIGMA, None)


def finals(algorithm, objective, noise, seed, runs, updates=T):
    """Return final models, shape (runs, p): rounds take no time and everybody answers."""
    parts = {"answers_allowed": (updates,) * N, "answers_per_update": None}
    trace = simulate(network(N, updates, protocol=Rounds(), **parts), Streams(1).within("one"))
    return learned(algorithm, objective, noise, [trace] * runs, seed).final


def moments(algorithm, objective, scales):
    """Return mean (p,) and covariance (p, p) of the model that is judged, after T updates."""
    slope, curve, one = 2 * objective.linear, 2 * objective.hessian, np.eye(P)
    noise = np.zeros((2 * P, 2 * P))
    noise[:P, :P] = 2 * np.sum((objective.weights * scales) ** 2) * one
    mean, spread = np.zeros(2 * P), np.zeros((2 * P, 2 * P))
    lead = 1 / sqrt(T)
    first = isinstance(algorithm, Collab1)
    for k in range(1, T + 1):
        step = algorithm.rho / T**2 / k if first else algorithm.step / sqrt(k)
        old, new = (k - 1) / (lead + k), (lead + 1) / (lead + k)
        move = np.block([[one - step * curve, 0 * one], [new * one, old * one]])
        mean = move @ mean + np.concatenate([step * slope, np.zeros(P)])
        spread = move @ spread @ move.T + step**2 * noise
    judged = slice(0, P) if first else slice(P, 2 * P)
    return mean[judged], spread[judged, judged]


def excess(algorithm, seed, factor=1.0, runs=6000):
    """Return the score of f(θ_T) − f*, with noise that much larger than it should be."""
    objective = problem()
    mean, spread = moments(algorithm, objective, SPREAD)
    exact = float(objective.excess(mean)) + np.trace(objective.hessian @ spread)
    found = finals(algorithm, objective, LaplaceNoise(factor * SPREAD), seed, runs)
    return [score(algorithm.kind, objective.excess(found), exact)]


@shared
def means():
    """Return the scores of the mean of Algorithm 1 against its run without noise."""
    objective = problem()
    found = finals(FIRST, objective, LaplaceNoise(GENTLE), 41, 4000)
    exact = finals(FIRST, objective, QUIET, 41, 1)[0]
    return [score(f"θ_{j}", found[:, j], exact[j]) for j in range(P)]


@shared
def spreads():
    """Return the scores of what the noise costs."""
    return excess(FIRST, 42) + excess(SECOND, 43)


def scores():
    """Return every score of sound algorithms."""
    return means() + spreads()


def test_the_noise_does_not_move_the_mean():
    require(means(), error=0.003)


def test_what_the_noise_costs_is_what_the_recursion_says():
    require(spreads(), error=0.015)


def test_the_mean_of_the_recursion_is_the_run_without_noise():
    objective = problem()
    for algorithm in (FIRST, SECOND):
        mean, _ = moments(algorithm, objective, SPREAD)
        assert np.abs(finals(algorithm, objective, QUIET, 1, 1)[0] - mean).max() < 1e-13


@pytest.mark.no_evidence
def test_noise_four_percent_large_is_seen():
    assert seen(excess(FIRST, 42, 1.04)) > 5
    assert seen(excess(SECOND, 43, 1.04)) > 5


BUDGETS = (0.003, 0.0095, 0.03, 0.095, 0.3)
SIZES = (1000, 3162, 10_000, 31_623, 100_000)


def psi(n, epsilon, seed):
    """Return the mean and relative standard error of ψ after 100 rounds of Algorithm 2."""
    objective, rounds, runs = problem(n, 1.0), 100, 400
    privacy = Privacy(epsilon=epsilon, sensitivity=Declared(bound=20.0))
    noise = privacy.noise_for(objective.records, rounds, 20.0, objective.n_features)
    algorithm = Collab2(step=0.4)
    found = objective.relative_fitness(finals(algorithm, objective, noise, seed, runs, rounds))
    alone = objective.relative_fitness(finals(algorithm, objective, QUIET, seed, 1, rounds))[0]
    assert alone < 0.01 * found.mean()  # noise decides
    return found.mean(), found.std(ddof=1) / found.mean() / sqrt(runs)


def slope(points):
    """Return the least-squares slope of log ψ, and its standard error, from (x, ψ, error)."""
    x, y, errors = np.array(points).T
    x, y = np.log(x), np.log(y)
    shares = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    return float(shares @ y), float(np.sqrt(np.sum((shares * errors) ** 2)))


def test_psi_falls_as_the_square_of_budgets_and_of_records():
    """Independent seeds for each point; slopes −2 ± 0.1, their standard error below 0.025."""
    budgets = [(e, *psi(1000, e, 50 + j)) for j, e in enumerate(BUDGETS)]
    sizes = [(n, *psi(n, BUDGETS[0], 60 + j)) for j, n in enumerate(SIZES)]
    for points in (budgets, sizes):
        found, error = slope(points)
        assert error < 0.025
        assert abs(found + 2) <= 0.1
