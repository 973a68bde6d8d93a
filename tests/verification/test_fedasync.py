"""FedAsync with fresh answers: its mean follows gradient descent on the whole objective, exactly.

With i_k uniform and independent, E θ_{k+1} = E θ_k − αη ∇f(E θ_k), whatever the noise; on a
quadratic, E θ_k = θ* − (I − 2αηH)^k θ* from θ_0 = 0, with 2H the Hessian of f.
"""

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import FedAsync, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.mechanisms import LaplaceNoise

from .networks import network
from .zscores import require, score, shared

pytestmark = pytest.mark.oracle("the mean model")

N, P, UPDATES, RUNS = 3, 2, 60, 800
SIGMA, STEP, MIXING = 0.2, 0.1, 0.6


def problem():
    """Return a quadratic whose owners differ in size, features and target.

    Targets differ little, so that few runs tell the mean.
    """
    rng = np.random.default_rng(3)
    features = [rng.normal(size=(n, 1)) + 0.4 * rng.normal(size=(n, P)) for n in (40, 10, 20)]
    targets = [x @ [1.0, -1.0] + i / 4 for i, x in enumerate(features)]
    return Quadratic.from_records(features, targets, SIGMA, None)


def finals(algorithm, objective, scales, seed, updates, runs, buffer=1):
    """Return final models over the request protocol, shape (runs, p)."""
    n_owners, used = len(scales), buffer * updates
    parts = {"answers_allowed": (used,) * n_owners, "answers_per_update": buffer}
    net, streams = network(n_owners, updates, **parts), Streams(seed)
    scopes = [streams.within("replicate", number) for number in range(1, runs + 1)]
    traces = [simulate(net, scope) for scope in scopes]
    steps = algorithm.steps(Setting(objective.weights, objective.n_features, updates, SIGMA, None))
    reply = AnswerModel(objective, LaplaceNoise(scales))
    return replay(traces, steps, reply, scopes, updates).final


def descended(final, objective, rate, updates):
    """Return scores of every coordinate of final models against descent on the whole objective."""
    slope = gradient(objective, np.zeros((1, P)))
    hessian = np.stack([gradient(objective, row[None]) - slope for row in np.eye(P)]).T
    best = -np.linalg.solve(hessian, slope)
    shrunk = np.linalg.matrix_power(np.eye(P) - rate * hessian, updates)
    exact = best - shrunk @ best
    return [score(f"θ_{j}", final[:, j], exact[j]) for j in range(P)]


def measure(seed):
    """Return scores of every coordinate of the final model."""
    objective, algorithm = problem(), FedAsync(step=STEP, mixing=MIXING)
    final = finals(algorithm, objective, np.full(N, 0.05), seed, UPDATES, RUNS)
    return descended(final, objective, MIXING * STEP, UPDATES)


def gradient(objective, point):
    """Return ∇f at a point: σθ + Σ (n_i/n) times owner i's mean gradient."""
    answers = [objective.gradient(np.array([i]), point)[0] for i in range(N)]
    return SIGMA * point[0] + np.sum(objective.weights[:, None] * np.array(answers), axis=0)


sound = shared(measure)


def scores():
    """Return every score of a sound algorithm."""
    return sound(5)


@pytest.mark.long
def test_the_mean_model_is_that_of_gradient_descent():
    require(sound(5), error=0.003)
