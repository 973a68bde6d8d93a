"""Error of colluders is the noise; that of curious servers, what they do not see.

Answers that were worked out from successive queries differ from gradients by Laplace noise of
known variance 2b², their mean by 2b²/K. Averaging K answers tells a record with a probability
that has a closed form. Weights and additive perturbations of servers that are not seen make the
error of those that are.
"""

from functools import cache

import numpy as np
import pytest

from analysis.privacy.transcripts import from_rounds, transcribed
from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.algorithms.polar import draw_additive, draw_weights
from asyncdp_sim.scenario import Scenario
from scenarios.curious_servers import additive_spread, guess, guess_error, weight_spread
from tests import scenes
from tests.tables import table
from tests.theory.collusion import averaged_deviation
from tests.verification.averaging import averaging_advantage

from .zscores import require, score, shared

pytestmark = pytest.mark.no_evidence

RUNS, T, P, RECORDS, BOUND, EPSILON = 250, 8, 12, 50, 4.0, 20.0
HIDDEN = 1


TABLE = table(__file__, "collusion.toml")


@cache
def transcripts():
    problem, noted, _ = transcribed(parse(Scenario, scenes.fields(**TABLE["transcripts"])))
    return problem, [noted.transcript(replicate) for replicate in range(RUNS)]


def residuals():
    """Worked-out answers less gradients, (RUNS, T − 1, P)."""
    problem, found = transcripts()
    steps, gradients = problem.task.steps, problem.task.reply.gradients
    how = (HIDDEN, steps.weights, steps.rate / np.arange(1, T + 1), steps.sigma)
    owners = np.full(T - 1, HIDDEN)
    every = (from_rounds(each, *how) for each in found)
    return np.array([each.answers - gradients.gradient(owners, each.points) for each in every])


@shared
def noise():
    """Variance of single answers, and of the mean of a run's, against the theory."""
    off = residuals()
    of_all = averaged_deviation(BOUND, RECORDS, EPSILON, T)
    each, mean = of_all * np.sqrt(T), of_all * np.sqrt(T / (T - 1))  # √2 b of each
    single = np.square(off).mean(axis=(1, 2)) / each**2
    averaged = np.square(off.mean(axis=1)).mean(axis=1) / mean**2
    return [score("one answer", single, 1.0), score("mean answer", averaged, 1.0)]


@shared
def advantages():
    generator = np.random.default_rng(31)
    made = []
    for epsilon, count in ((0.5, 1), (1.0, 3), (2.0, 20)):
        told = np.abs(generator.laplace(size=(40_000, count)).sum(axis=1)) < epsilon / 2
        exact = averaging_advantage(epsilon, count)
        made.append(score(f"ε = {epsilon}, K = {count}", told, exact, scale=1.0))
    return made


CASES = {(1, 3): 1, (2, 2): 1, (5, 4): 3}
"""τ by window and |N_h|."""
TOTAL, MOST, WINDOWS = 5.0, 15.0, 6000


def generators(*numbers):
    return [np.random.default_rng([*numbers, c]) for c in range(WINDOWS)]


def drawn(window, n):
    return draw_weights(generators(6, window, n), window, n, TOTAL, MOST)


@shared
def weights():
    """Var(A)/(E A)² of τ servers against ρ²(n − τ)/τ."""
    made = []
    for (window, n), servers in CASES.items():
        total = drawn(window, n)[:, :, :servers].sum(axis=(1, 2))
        expected = TOTAL * servers / n
        exact = weight_spread(window, n, TOTAL, MOST) * (n - servers) / servers
        made.append(score(f"Δ = {window}, n = {n}", np.square(total / expected - 1), exact))
    return made


@shared
def additive():
    """Σ d of τ servers, where E‖d‖² is known: two servers, uniform in the ball."""
    found = draw_additive(generators(7), 3, 2, P, 2.0)[:, :, 0].sum(axis=1)
    found = np.square(found).sum(axis=1)
    exact = additive_spread(3, 2, TOTAL, 2.0**2 * P / (P + 2), 1.0)
    return [score("additive", found / (TOTAL / 2) ** 2, exact)]


def scores():
    """Return every score of a sound simulator."""
    return noise() + advantages() + weights() + additive()


def test_what_was_worked_out_is_off_by_the_noise():
    require(noise(), error=0.03)


def test_what_averaging_tells_of_a_record():
    require(advantages(), error=0.003)


def test_weights_that_are_not_seen():
    require(weights(), error=0.03)


def test_perturbations_that_are_not_seen():
    require(additive(), error=0.03)


def test_the_guess_is_off_as_predicted():
    """The whole of it, weights and perturbations, in one setting."""
    (window, n, servers), both = (4, 3, 2), generators(8)
    weight = draw_weights(both, window, n, TOTAL, MOST)
    moved = draw_additive(both, window, n, P, 1.0)
    spread = weight_spread(window, n, TOTAL, MOST)
    spread += additive_spread(window, n, TOTAL, float(np.square(moved).sum(axis=3).mean()), 1.0)
    found = guess(np.full(P, P**-0.5), weight, moved, servers)
    assert found == pytest.approx(guess_error(spread, n, servers), rel=0.03)
