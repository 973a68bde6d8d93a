"""FedBuff with fresh answers: its mean follows gradient descent on the whole objective, exactly.

Under ``request`` all B answers of an update are read at one θ_k, and their owners are uniform and
independent, so E θ_{k+1} = E θ_k − η_g η_l ∇f(E θ_k), whatever B and the noise; on a quadratic,
E θ_k = θ* − (I − η_g η_l ∇²f)^k θ* from θ_0 = 0. The spread tells B: the noise of an update is the
mean of B draws, so that with one owner whose gradients are zero the variance of θ falls as 1/B.
"""

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import FedBuff

from .test_fedasync import SIGMA, N, descended, finals, problem
from .zscores import require, score, shared

pytestmark = pytest.mark.oracle("the mean model, and the noise of an update")

BUFFER, UPDATES, RUNS = 3, 40, 500
STEP, SERVER_STEP = 0.1, 0.6
ALGORITHM = FedBuff(step=STEP, server_step=SERVER_STEP, buffer=BUFFER)


def measure(seed):
    """Return scores of every coordinate of the final model."""
    objective = problem()
    final = finals(ALGORITHM, objective, np.full(N, 0.05), seed, UPDATES, RUNS, BUFFER)
    return descended(final, objective, SERVER_STEP * STEP, UPDATES)


class Bowl:
    """f(θ) = (σ/2)‖θ‖², whose one owner answers zero: what is left is noise."""

    weights, n_features = np.ones(1), 8

    def gradient(self, owners, points):  # noqa: ARG002
        """Return no gradient."""
        return np.zeros_like(points)


def spread(seed):
    """Return the score of θ², a mean over coordinates: Σ_k q^{2k} (η_g η_l)² 2b²/B.

    Here q = 1 − η_g η_l σ.
    """
    scale, rate = 0.5, SERVER_STEP * STEP
    final = finals(ALGORITHM, Bowl(), np.full(1, scale), seed, UPDATES, RUNS, BUFFER)
    shrink = (1 - rate * SIGMA) ** 2
    exact = rate**2 * 2 * scale**2 / BUFFER * (1 - shrink**UPDATES) / (1 - shrink)
    return [score("θ²", np.mean(final**2, axis=1), exact)]


sound_mean, sound_spread = shared(measure), shared(spread)


def scores():
    """Return every score of a sound algorithm."""
    return sound_mean(8) + sound_spread(9)


def test_the_mean_model_is_that_of_gradient_descent():
    require(sound_mean(8), error=0.003)


@pytest.mark.long
def test_the_noise_of_an_update_is_that_of_a_mean():
    require(sound_spread(9), error=0.03)
