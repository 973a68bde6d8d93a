"""FedAsync and FedBuff with fresh answers: means follow descent on the whole objective, exactly.

With i_k uniform and independent, FedAsync has E θ_{k+1} = E θ_k − αη ∇f(E θ_k), whatever the noise.
Under ``request`` all B answers of an update of FedBuff are read at one θ_k, and their owners are
uniform and independent: η_g η_l in place of αη, whatever B and the noise. On a quadratic then
E θ_k = θ* − (I − 2αηH)^k θ* from θ_0 = 0, with 2H the Hessian of f. The spread tells B: an update's
noise is the mean of B draws, so that with one owner whose gradients are zero the variance of θ
falls as 1/B.
"""

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import FedAsync, FedBuff
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.privacy.mechanisms import LaplaceNoise

from .networks import learned, network, runs
from .zscores import require, score, shared

BUFFERED = pytest.mark.oracle("the mean model, and the noise of an update")

N, P, SIGMA, BUFFER, UPDATES = 3, 2, 0.2, 3, 40
ASYNC = FedAsync(step=0.1, mixing=0.6)
BUFF = FedBuff(step=0.1, server_step=0.6, buffer=BUFFER)
RATE = 0.1 * 0.6


def problem():
    """Return a quadratic whose owners differ in size, features and target.

    Targets differ little, so that few runs tell the mean.
    """
    rng = np.random.default_rng(3)
    features = [rng.normal(size=(n, 1)) + 0.4 * rng.normal(size=(n, P)) for n in (40, 10, 20)]
    targets = [x @ [1.0, -1.0] + i / 4 for i, x in enumerate(features)]
    return Quadratic.from_records(features, targets, SIGMA, None)


def finals(algorithm, objective, scales, seed, updates, count):
    """Return final models over the request protocol, shape (count, p)."""
    buffer = algorithm.answers_per_update
    allowed = (buffer * updates,) * len(scales)
    net = network(len(scales), updates, answers_allowed=allowed, answers_per_update=buffer)
    traces = list(runs(net, seed, count))
    return learned(algorithm, objective, LaplaceNoise(scales), traces, seed).final


@shared
def descended(algorithm, seed, updates, count):
    """Return scores of every coordinate of final models against descent on the whole objective."""
    objective = problem()
    final = finals(algorithm, objective, np.full(N, 0.05), seed, updates, count)
    slope = gradient(objective, np.zeros((1, P)))
    hessian = np.stack([gradient(objective, row[None]) - slope for row in np.eye(P)]).T
    best = -np.linalg.solve(hessian, slope)
    exact = best - np.linalg.matrix_power(np.eye(P) - RATE * hessian, updates) @ best
    return [score(f"θ_{j}", final[:, j], exact[j]) for j in range(P)]


def gradient(objective, point):
    """Return ∇f at a point: σθ + Σ (n_i/n) times owner i's mean gradient."""
    answers = [objective.gradient(np.array([i]), point)[0] for i in range(N)]
    return SIGMA * point[0] + np.sum(objective.weights[:, None] * np.array(answers), axis=0)


class Bowl:
    """f(θ) = (σ/2)‖θ‖², whose one owner answers zero: what is left is noise."""

    weights, n_features, sigma, theta_max = np.ones(1), 8, SIGMA, None

    def gradient(self, owners, points):  # noqa: ARG002
        """Return no gradient."""
        return np.zeros_like(points)


@shared
def spread():
    """Return the score of θ², a mean over coordinates: Σ_k q^{2k} (η_g η_l)² 2b²/B.

    Here q = 1 − η_g η_l σ.
    """
    scale, shrink = 0.5, (1 - RATE * SIGMA) ** 2
    final = finals(BUFF, Bowl(), np.full(1, scale), 9, UPDATES, 500)
    exact = RATE**2 * 2 * scale**2 / BUFFER * (1 - shrink**UPDATES) / (1 - shrink)
    return [score("θ²", np.mean(final**2, axis=1), exact)]


def scores():
    """Return every score of sound algorithms."""
    return descended(ASYNC, 5, 60, 800) + descended(BUFF, 8, UPDATES, 500) + spread()


@pytest.mark.oracle("the mean model")
@pytest.mark.long
def test_the_mean_model_is_that_of_gradient_descent():
    require(descended(ASYNC, 5, 60, 800), error=0.003)


@BUFFERED
def test_the_mean_of_buffered_answers_is_that_of_gradient_descent():
    require(descended(BUFF, 8, UPDATES, 500), error=0.003)


@BUFFERED
@pytest.mark.long
def test_the_noise_of_an_update_is_that_of_a_mean():
    require(spread(), error=0.03)
