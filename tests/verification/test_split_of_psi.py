"""The parts of ψ at the end against the exact moments and the fixed point of the mean map."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.exact.per_update import moments
from asyncdp_sim.learning.algorithms import AsyncGossip
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.runs.replicates import InProcess, Workers
from asyncdp_sim.runs.split import split_psi

from .gossip_cases import Case, OwnersOnly, correlated
from .networks import replicates
from .zscores import Score, require

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("bias, selection, transient and noise in ψ at the end"),
]

CHANCE = np.array([0.5, 0.3, 0.2])
FIT = correlated(n_owners=3, records=8, n_features=2, sigma=0.5, seed=1)
CASE = Case(FIT, rho=600.0, updates=100, scale=0.3 / (3 * FIT.weights), probability=CHANCE)
"""Owners of unequal shares, hence a bias; steps so strong that T updates forget the start, hence a
limit over one sequence has the law of a stationary model."""
REPLICATES, SEED = 1000, 5


def fixed_point(process):
    """Return where the mean map leaves θ_L: u_L = m Σ π_i ū_i + a, u_i = M_i ū_i + e_i."""
    n, p = process.n_owners, process.n_features
    inverse = np.linalg.inv(np.eye(p) - process.factor / 2)  # u_i of u_L
    slope = np.eye(p) + inverse @ process.factor / 2
    drift = (inverse @ process.drift[:, :, None])[:, :, 0]
    weight = process.central_factor * process.probability / 2
    matrix = sum(weight[i] * slope[i] for i in range(n))
    constant = weight @ drift + process.central_drift
    return np.linalg.solve(np.eye(p) - matrix, constant) + process.optimum


def measured():
    """Return the parts of ψ in a run."""
    owners = np.random.default_rng(SEED).choice(3, p=CHANCE, size=(REPLICATES, CASE.updates))
    traces = [OwnersOnly(row) for row in owners]
    task, numbers = Task(FIT, CASE.steps, CASE.reply, 1), list(range(1, REPLICATES + 1))
    scopes = replicates(SEED, REPLICATES)
    models = replay(traces, task.steps, task.reply, scopes, CASE.updates).final
    over = (SEED, numbers, traces, models, Workers(1, InProcess()))
    return split_psi(AsyncGossip(rho=CASE.rho), task, *over)


def scores(parts):
    """Return what theory says of the parts, by name."""
    process, least = CASE.process, FIT.least
    still = moments(process).expected_excess()[-1] / least
    private = moments(process, CASE.variance).expected_excess()[-1] / least
    later = moments(replace(process, updates=8 * CASE.updates))
    limit = later.expected_excess()[-1] / least
    # ψ of a mean of R limits: ψ at their expectation, plus a share 1/R of their spread.
    point = fixed_point(process)
    bias = float(FIT.relative_fitness(point))
    slope = 2 * FIT.hessian @ (point - FIT.optimum) / least
    error = np.sqrt(slope @ later.covariance[-1] @ slope / REPLICATES)
    expected = {
        "bias": (parts.bias, bias + (limit - bias) / REPLICATES, error),
        "limit": (parts.bias + parts.selection, limit, parts.limit_se),
        # after T updates hardly anything is left of the start: ψ varies as it does in the limit
        "without noise": (parts.bias + parts.selection + parts.transient, still, parts.limit_se),
        "noise": (parts.noise, private - still, parts.noise_se),
    }
    return {
        name: Score(name, mean, exact, float((mean - exact) / error), float(error / exact))
        for name, (mean, exact, error) in expected.items()
    }


@pytest.fixture(scope="module")
def sound():
    return measured()


def test_the_parts_are_those_of_theory(sound):
    require(list(scores(sound).values()), error=0.08)
    assert sound.reason is None


def test_the_mean_map_ends_where_the_moments_do():
    later = moments(replace(CASE.process, updates=8 * CASE.updates))
    assert np.allclose(later.mean[-1], fixed_point(CASE.process), rtol=1e-9)
    assert np.allclose(moments(CASE.process).mean[-1], later.mean[-1], rtol=1e-2)  # T forgets
