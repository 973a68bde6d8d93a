"""Dual averaging with fresh answers on a quadratic: its path, its mean and its noise, exactly.

In the eigenvectors of 2H, with eigenvalues μ, c = μ − σ those of the losses alone, d_k = σk + β_k,
β_k = max(k, 1)^e/η and e_k the deviation from θ*, uniform independent owners and unbiased noise:

    E e_(k+1) = [(d_k − c) E e_k + (β_(k+1) − β_k) e_0]/d_(k+1),

without the mean where owners are alike and there is no noise. For e = 0, with B = β/σ, C = c/σ,
that is e_k = e_0 Π_(j<k) (j + B − C)/(j + 1 + B). Noise alone has the
variance Σ_(j≤k) E (N w_i)² v_i/d_k².
"""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import DualAveraging, FedAsync, Setting, Turn
from asyncdp_sim.learning.algorithms.dual_averaging import DualAveragingSteps
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.network import Latency, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.privacy.mechanisms import LaplaceNoise, NoNoise
from asyncdp_sim.streams import Streams

from .networks import network
from .shared import shared
from .zscores import require, score, seen

pytestmark = pytest.mark.long

P, UPDATES, RUNS, SIGMA, STEP = 2, 60, 800, 0.2, 0.15
SIZES = (40, 10, 20)
NUMBERS = 40
"""Coordinates that noise alone is measured on."""
EXPONENTS = (0.0, 0.5)


def problem(sizes=SIZES):
    """Return a quadratic whose owners differ in size, features and target."""
    rng = np.random.default_rng(3)
    features = [rng.normal(size=(n, 1)) + 0.4 * rng.normal(size=(n, P)) for n in sizes]
    targets = [x @ [1.0, -1.0] + i / 4 for i, x in enumerate(features)]
    return Quadratic.from_records(features, targets, SIGMA, None)


def held(k, exponent):
    """Return β_k."""
    return max(k, 1) ** exponent / STEP


def mean_model(objective, exponent, updates, start=0.0):
    """Return E θ_T."""
    values, vectors = np.linalg.eigh(2 * objective.hessian)
    best = vectors.T @ objective.free_optimum
    first = vectors.T @ np.full(P, start) - best
    error = first
    for k in range(updates):
        old, new = held(k, exponent), held(k + 1, exponent)
        kept = (SIGMA * k + old - (values - SIGMA)) * error + (new - old) * first
        error = kept / (SIGMA * (k + 1) + new)
    return vectors @ (error + best)


def learned(objective, exponent, noise, seed, runs, updates=UPDATES, gradients=None, **parts):
    """Return final models (R, p), the steps and the traces."""
    streams, size = Streams(seed), len(objective.weights)
    net = network(size, updates, **parts)
    scopes = [streams.within("replicate", number) for number in range(1, runs + 1)]
    traces = [simulate(net, scope) for scope in scopes]
    p = P if gradients is None else NUMBERS
    setting = Setting(objective.weights, p, updates, SIGMA, None)
    steps = DualAveraging(step=STEP, exponent=exponent).steps(setting)
    reply = Reply(objective if gradients is None else gradients, noise)
    return replay(traces, steps, reply, scopes, updates).final, steps, traces


def measure(exponent, runs=RUNS):
    """Return scores of every coordinate of the mean final model."""
    seed = 6 + round(10 * exponent)
    objective = problem()
    final, *_ = learned(objective, exponent, LaplaceNoise(np.full(3, 0.05)), seed, runs)
    exact = mean_model(objective, exponent, UPDATES)
    return [score(f"θ_{j}, e = {exponent}", final[:, j], exact[j]) for j in range(P)]


class Nothing:
    """Gradients of no records."""

    def gradient(self, owners, points):
        """Return zeros."""
        return np.zeros((len(owners), points.shape[1]))


def loudness(exponent, runs=RUNS):
    """Return the score of the variance that noise alone gives a coordinate."""
    seed = 7 + round(10 * exponent)
    objective, scale = problem(), np.array([0.5, 1.0, 0.7])
    noise = LaplaceNoise(scale)
    final, *_ = learned(objective, exponent, noise, seed, runs, gradients=Nothing())
    each = np.square(3 * objective.weights) * noise.variance
    exact = UPDATES * each.mean() / (SIGMA * UPDATES + held(UPDATES, exponent)) ** 2
    return [score(f"variance, e = {exponent}", np.square(final).mean(axis=1), exact)]


@shared
def sound():
    """Return every score of the sound algorithm."""
    found = [measure(exponent) + loudness(exponent) for exponent in EXPONENTS]
    return [each for part in found for each in part]


def scores():
    """Return every score of a sound algorithm."""
    return sound()


def test_mean_and_variance_are_exact():
    require([each for each in sound() if "θ" in each.name], error=0.0035)
    require([each for each in sound() if "variance" in each.name], error=0.009)


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("updates", [1, 7, 60])
def test_one_owner_without_noise_goes_the_exact_way(exponent, updates):
    objective = problem((30,))
    final, *_ = learned(objective, exponent, NoNoise(np.zeros(1)), 1, 2, updates)
    assert np.allclose(final, mean_model(objective, exponent, updates), rtol=0, atol=1e-14)


def test_the_recursion_is_a_product_where_the_proximal_term_is_constant():
    objective = problem((30,))
    values, vectors = np.linalg.eigh(2 * objective.hessian)
    b, c, j = 1 / STEP / SIGMA, (values - SIGMA) / SIGMA, np.arange(UPDATES)[:, None]
    left = np.prod((j + b - c) / (j + 1 + b), axis=0)
    first = vectors.T @ (1 - objective.free_optimum)
    expected = vectors @ (left * first) + objective.free_optimum
    assert np.allclose(mean_model(objective, 0.0, UPDATES, 1.0), expected, rtol=0, atol=1e-14)


def stale():
    """Return final models over stale answers, what the rule gives by hand, and the staleness."""
    objective = problem()
    late = {"protocol": Push(), "latency": Latency(answer=Exponential(mean=0.4))}
    final, _, traces = learned(objective, 0.5, NoNoise(np.zeros(3)), 3, 3, **late)
    return final, [by_hand(objective, trace) for trace in traces], traces


def by_hand(objective, trace):
    """Return the model after one trace's answers, each of a model as old as the trace says."""
    path, total = [np.zeros(P)], np.zeros(P)
    for k, used in enumerate(trace.updates, 1):
        owner, read = int(used["owner"]) - 1, path[-1 - int(used["staleness"])]
        answer = objective.gradient(np.array([owner]), read[None])[0]
        total = total + 3 * objective.weights[owner] * answer
        path.append(-total / (SIGMA * k + held(k, 0.5)))
    return path[-1]


def test_stale_answers_are_of_the_models_that_were_read():
    final, expected, traces = stale()
    assert np.mean(np.concatenate([t.updates["staleness"] for t in traces])) > 0.5
    assert np.allclose(final, expected, rtol=0, atol=1e-13)


def test_staleness_that_is_ignored_is_seen(monkeypatch):
    """Planted bug: gradients at the model as it is when the answer is used."""
    monkeypatch.setattr(
        "asyncdp_sim.learning.replay.reads.StaleReads.points", lambda _, __, fresh: fresh
    )
    final, expected, _ = stale()
    assert np.abs(final - expected).max() > 1e-4


def swapped(algorithm):
    """Return the models after three answers that were read together, in two orders."""
    objective, rng = problem(), np.random.default_rng(1)
    steps = algorithm.steps(Setting(objective.weights, P, UPDATES, SIGMA, None))
    answers, found = rng.normal(size=(3, P)), []
    for order in ([0, 1, 2], [2, 0, 1]):
        state = steps.init([Streams(1).within("replicate", 1)])
        read = steps.query(state, Turn(np.array([0])))
        for late, owner in enumerate(order):
            turn = Turn(np.array([owner]), staleness=np.array([late]))
            steps.apply(state, turn, read.copy(), answers[owner][None].copy())
        found.append(state.central[0])
    return found


def test_the_order_of_answers_that_were_read_together_does_not_matter():
    assert np.allclose(*swapped(DualAveraging(step=STEP)), rtol=1e-13, atol=0)
    assert not np.allclose(*swapped(FedAsync(step=STEP, mixing=0.6)), rtol=1e-3, atol=0)


def made(monkeypatch, **changes):
    """Plant a bug in what the algorithm is filled in with."""
    fill = DualAveraging.steps
    monkeypatch.setattr(DualAveraging, "steps", lambda *how: replace(fill(*how), **changes))


def test_owners_weighed_alike_are_seen(monkeypatch):
    made(monkeypatch, weight=np.ones(3))
    assert seen(measure(0.5, runs=100)) > 5


def test_a_step_four_percent_long_is_seen(monkeypatch):
    made(monkeypatch, step=1.04 * STEP)
    objective = problem((30,))
    final, *_ = learned(objective, 0.5, NoNoise(np.zeros(1)), 1, 2)
    assert np.abs(final - mean_model(objective, 0.5, UPDATES)).max() > 1e-3
    assert seen(measure(0.5)) > 5


def test_a_count_from_nought_is_seen(monkeypatch):
    """Planted bug: the regulariser and β_k of one answer less."""
    right = DualAveragingSteps.apply

    def apply(self, state, turn, points, answers):
        state.k -= 1
        right(self, state, turn, points, answers)
        state.k += 1

    monkeypatch.setattr(DualAveragingSteps, "apply", apply)
    monkeypatch.setattr(DualAveragingSteps, "proximal", lambda _, k: held(k, 0.5))
    objective = problem((30,))
    final, *_ = learned(objective, 0.5, NoNoise(np.zeros(1)), 1, 2)
    assert np.abs(final - mean_model(objective, 0.5, UPDATES)).max() > 1e-3


def test_a_sum_that_forgets_is_seen(monkeypatch):
    """Planted bug: the model comes from the last answer alone."""
    right = DualAveragingSteps.apply

    def apply(self, state, turn, points, answers):
        state.dual[:] = 0
        right(self, state, turn, points, answers)

    monkeypatch.setattr(DualAveragingSteps, "apply", apply)
    assert seen(measure(0.5, runs=100)) > 5
    assert seen(loudness(0.5, runs=100)) > 5
