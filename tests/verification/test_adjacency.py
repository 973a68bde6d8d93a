"""Adding a record instead of replacing one: what moves, and what the noise gives away."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Clip, Privacy

pytestmark = pytest.mark.no_evidence

XI, K, EPSILON = 1.0, 5, 1.0
OWNER = np.zeros(1, dtype=np.int64)


def mean_gradient(x, y, theta):
    records = Ridge(regularisation=0.1).records([np.asfortranarray(x)], [y], XI, "l1")
    return records.gradient(OWNER, theta[None])[0]


def test_adding_a_record_moves_the_mean_by_less_than_replacing_one():
    """By at most 2Ξ/(n + 1), which is reached; replacing one moves it by 2Ξ/n."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20):
        x, y = rng.standard_normal((n, 3)), 100 * rng.standard_normal(n)
        theta = rng.standard_normal(3)
        before = mean_gradient(x, y, theta)
        more = rng.standard_normal(3), 100 * rng.standard_normal()
        after = mean_gradient(np.vstack([x, more[0]]), np.append(y, more[1]), theta)
        assert np.abs(after - before).sum() <= 2 * XI / (n + 1) * (1 + 1e-12)
        alike = np.tile(x[:1], (n, 1)), np.full(n, 1e6)
        opposite = np.vstack([alike[0], x[:1]]), np.append(alike[1], -1e6)
        reached = mean_gradient(*opposite, theta) - mean_gradient(*alike, theta)
        assert np.abs(reached).sum() == pytest.approx(2 * XI / (n + 1))


def noise_of(n):
    privacy = Privacy(epsilon=EPSILON, sensitivity=Clip(bound=XI))
    return privacy.noise_for(np.array([n]), K, XI, 2)


def test_noise_scaled_by_the_number_of_records_tells_it_beyond_every_epsilon():
    """The log-likelihood ratio of a far answer grows at ε/(2ΞK) a unit: without end."""
    gradient = np.full((1, 2), 0.1)
    far = [np.array([[size, 0.0]]) for size in (1e3, 1e4)]
    ratios = [
        float(
            (
                noise_of(20).log_likelihood(OWNER, gradient, answer)
                - noise_of(21).log_likelihood(OWNER, gradient, answer)
            )[0]
        )
        for answer in far
    ]
    assert ratios[1] > ratios[0] > EPSILON
    assert (ratios[1] - ratios[0]) / 9e3 == pytest.approx(EPSILON / (2 * XI * K))


def test_the_number_of_records_is_estimated_from_the_noise_alone():
    """With a relative standard deviation of 1/√(Kp), by the mean of |w|."""
    rng, answers, repeats = np.random.default_rng(2), 50, 4000
    noise = noise_of(20)
    rows = noise.rows(rng, answers * repeats, 2).reshape(repeats, -1) * noise.scale[0]
    estimates = 2 * XI * K / (EPSILON * np.abs(rows).mean(axis=1))
    relative = np.abs(rows).mean(axis=1).std(ddof=1) / noise.scale[0]
    expected = 1 / np.sqrt(2 * answers)
    assert abs(relative / expected - 1) < 4 / np.sqrt(2 * repeats)
    assert np.median(estimates) == pytest.approx(20, rel=0.02)
