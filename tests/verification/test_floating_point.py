"""Mironov (2012): low bits of floating-point answers tell gradients apart; those on a grid do not.

Laplace draws are ±ln V with V = j/2⁵³, and g + b w is rounded, so that only some of the numbers
near an answer can come about from a gradient. Where an answer can come about from g and not from
its neighbour g', the likelihood ratio is infinite, and so is ε. The attack is written here for
numpy's way from uniform numbers to Laplace draws.
"""

from functools import cache
from math import exp, log

import numpy as np
import pytest

from asyncdp_sim.privacy.mechanisms import DiscreteLaplaceNoise, LaplaceNoise, grid_steps

pytestmark = pytest.mark.oracle("low bits of floating-point answers")

RUNS, NEAR = 1500, 12
"""Answers; and candidates on either side of the likeliest uniform number."""
BOUND, RECORDS, EPSILON = 5.0, 10, 1.0
SENSITIVITY = 2 * BOUND / RECORDS
FIRST = np.zeros(RUNS, dtype=np.int64)


def double_from(uniform):
    """Return numpy's Laplace draw from a uniform number."""
    if uniform >= 0.5:
        return -log(2.0 - uniform - uniform)
    return log(uniform + uniform)


def possible(answer, gradient, scale):
    """Whether g + b w in floating-point numbers can be this answer, for any uniform number."""
    residual = answer - gradient
    half = exp(-abs(residual) / scale) / 2
    centre = round((1 - half if residual > 0 else half) * 2.0**53)
    candidates = range(max(1, centre - NEAR), min(2**53 - 1, centre + NEAR) + 1)
    return any(gradient + double_from(j * 2.0**-53) * scale == answer for j in candidates)


def floating(gradient, seed=81):
    """Return answers of the floating-point mechanism, ε-differentially private on paper."""
    noise = LaplaceNoise(np.array([SENSITIVITY / EPSILON]))
    rows = noise.rows(np.random.default_rng(seed), RUNS, 1)
    return noise.add_noise(FIRST, np.full((RUNS, 1), gradient), rows)[:, 0]


@cache
def discrete():
    """Return the discrete mechanism on the grid that a scenario would have."""
    grid = grid_steps(BOUND, np.array([float(RECORDS)]), 1, np.array([SENSITIVITY / EPSILON]))
    return DiscreteLaplaceNoise((SENSITIVITY + grid) / EPSILON, grid)


def on_grid(gradient, seed=82):
    rows = discrete().rows(np.random.default_rng(seed), RUNS, 1)
    return discrete().add_noise(FIRST, np.full((RUNS, 1), gradient), rows)[:, 0]


def ruled_out(gradient):
    """Return the share of answers that cannot have come about from a gradient."""
    scale = SENSITIVITY / EPSILON
    return np.mean([not possible(y, gradient, scale) for y in floating(0.3).tolist()])


def test_numpys_draws_are_understood():
    """Or else the attack would prove nothing: no answer is denied to the gradient it is of."""
    uniform = np.random.default_rng(80).random(RUNS).tolist()
    drawn = np.random.default_rng(80).laplace(size=RUNS).tolist()
    assert [double_from(u) for u in uniform] == drawn
    assert ruled_out(0.3) == 0


@pytest.mark.parametrize("neighbour", [0.3 + SENSITIVITY, 0.3 - SENSITIVITY, 0.3 + 1e-9])
def test_floating_point_answers_rule_neighbours_out(neighbour):
    """Three of four answers do, however near the neighbour is: the mechanism has no finite ε."""
    assert ruled_out(neighbour) > 0.6


def test_answers_on_a_grid_rule_nothing_out():
    """Each answer of either gradient is on the grid, within e^ε as likely of the other."""
    grid = discrete().grid[0]
    one, two = np.full((RUNS, 1), 0.3), np.full((RUNS, 1), 0.3 + SENSITIVITY)
    for answers in (on_grid(0.3), on_grid(0.3 + SENSITIVITY, 83)):
        assert np.array_equal(answers / grid, np.rint(answers / grid))
        told = [discrete().log_likelihood(FIRST, g, answers[:, None]) for g in (one, two)]
        assert np.all(np.isfinite(told))
        assert np.abs(told[0] - told[1]).max() <= EPSILON * (1 + 1e-9)


def test_every_step_near_a_gradient_comes_about_from_its_neighbour_too():
    """The supports are the same: the commonest 60 steps are all seen from both."""
    coarse = DiscreteLaplaceNoise(np.array([16.0]), np.array([1.0]))
    rows = coarse.rows(np.random.default_rng(84), 200_000, 1)
    owners = np.zeros(len(rows), dtype=np.int64)
    for gradient in (0.3, 7.4):
        seen = coarse.add_noise(owners, np.full((len(rows), 1), gradient), rows)
        assert set(range(-30, 31)) <= set(seen[:, 0].astype(int).tolist())


def test_the_gradients_low_bits_leave_no_trace():
    """Gradients that round alike give the same bits; in floating point they do not."""
    grid = discrete().grid[0]
    low = 0.3 + np.random.default_rng(85).uniform(-1, 1, 50) * 1e-4 * grid
    assert np.all(np.rint(low / grid) == np.rint(0.3 / grid))
    assert len(np.unique(low)) == 50
    for gradient in low.tolist():
        assert on_grid(gradient).tobytes() == on_grid(0.3).tobytes()
        assert floating(gradient).tobytes() != floating(0.3).tobytes()
