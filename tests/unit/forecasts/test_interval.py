"""The ± of a mean: by hand where values are symmetric, and by coverage where they are skewed."""

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.forecasts.advice.contest import Played
from asyncdp_sim.forecasts.population import half_width


def student(values):
    return 1.984 * values.std(ddof=1) / np.sqrt(len(values))


def test_that_of_symmetric_values_is_by_students_t():
    """Of 100 values with standard deviation s: t(0.975; 99) s/√100."""
    values = np.tile([1.0, 3.0], 50)
    assert half_width(values) == pytest.approx(1.984 * np.sqrt(100 / 99) / 10, rel=1e-3)
    assert half_width(np.append(values, np.inf)) == np.inf
    assert half_width(np.full(5, 2.0)) == 0.0


def test_it_is_the_same_for_values_turned_around_and_grows_with_them():
    values = np.random.default_rng(1).gamma(0.5, size=40)
    assert half_width(-values) == pytest.approx(half_width(values))
    assert half_width(7 + 3 * values) == pytest.approx(3 * half_width(values))
    assert half_width(values) > 1.1 * student(values)


@pytest.mark.parametrize("scale", [1e-30, 1e90, 1e101, 1e150, 1e300])
def test_it_grows_with_values_whose_cubes_overflow(scale):
    values = np.random.default_rng(1).gamma(0.5, size=40)
    assert half_width(scale * values) == pytest.approx(scale * half_width(values), rel=1e-9)


def test_by_hand():
    """Values 0, 0, 0, 4: m = 1, s = 2, second and third central moment 3 and 6, t = 3.18245."""
    g = 6 / 3**1.5
    low, high = (sign * 3.18245 / 2 - g / 24 for sign in (-1, 1))
    longest = max(abs(3 / g * (np.cbrt(1 + g * q) - 1)) for q in (low, high))
    assert half_width(np.array([0.0, 0.0, 0.0, 4.0])) == pytest.approx(2 * longest, rel=1e-5)


def skewed(trial, runs=60):
    """Return made-up ψ of skewness 3, as that of simulated runs."""
    return np.random.default_rng([7, trial]).gamma(4 / 9, size=runs)


@pytest.mark.long
def test_means_of_skewed_runs_and_their_ratios_are_covered():
    """Student's t is seen to be too narrow."""
    trials, mean = 3000, 4 / 9
    means, by_t, ratios = 0, 0, 0
    for trial in range(trials):
        runs = skewed(trial)
        means += abs(runs.mean() - mean) <= half_width(runs)
        by_t += abs(runs.mean() - mean) <= student(runs)
        shared = 1 + skewed(trial + trials)
        ratio, half = Played(shared + runs).over(Played(shared))
        ratios += abs(ratio - (1 + 2 * mean) / (1 + mean)) <= half
    for hits in (means, ratios):
        assert binom.cdf(hits, trials, 0.95) > 0.01
    assert binom.cdf(by_t, trials, 0.95) < 1e-6
