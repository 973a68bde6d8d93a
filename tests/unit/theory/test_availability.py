import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from asyncdp_sim.errors import SpecError
from asyncdp_sim.network.availability import Diurnal
from asyncdp_sim.theory.formulas.clocks import merged
from tests.theory.availability import diurnal_integral, on_fraction, on_off_dispersion, thinned
from tests.theory.clocks import merged_equal
from tests.together import together


def test_owners_who_always_listen_are_the_merged_clocks():
    assert thinned([0.5, 2.0, 3.0], [1.0, 1.0, 1.0]) == merged([0.5, 2.0, 3.0])


def test_equal_owners_are_heard_at_rate_n_lambda_p():
    heard = thinned([2.0] * 8, [0.25] * 8)
    assert heard == merged_equal(8, 0.5)
    assert heard.rate == 4


def test_owners_that_never_listen_are_never_heard():
    heard = thinned([1.0, 4.0, 1.0], [0.5, 0.0, 0.25])
    assert heard.rate == 0.75
    assert heard.probability == pytest.approx((2 / 3, 0, 1 / 3), rel=1e-15)


def test_on_fraction():
    assert on_fraction(3.0, 1.0) == 0.75
    assert on_fraction(0.2, 0.0) == 1
    assert on_fraction(2.0, 5.0) + on_fraction(5.0, 2.0) == pytest.approx(1, rel=1e-15)
    a, b = 0.7, 0.3
    assert on_fraction(1 / a, 1 / b) == pytest.approx(b / (a + b), rel=1e-15)


def moments(rate, leaving, returning, time):
    """Return mean and variance of the count by the counting generator, truncated at 60 ticks."""
    size, modulation = 60, np.array([[-leaving, leaving], [returning, -returning]])
    heard = np.diag([rate, 0.0])
    generator = np.kron(np.eye(size), modulation - heard) + np.kron(np.eye(size, k=1), heard)
    start = np.zeros(2 * size)
    start[:2] = returning / (leaving + returning), leaving / (leaving + returning)
    law = (start @ expm(generator * time)).reshape(size, 2).sum(axis=1)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    number = np.arange(size)
    mean = law @ number
    return mean, law @ (number - mean) ** 2


@pytest.mark.parametrize("case", [(3.0, 0.5, 0.5, 2.0), (1.0, 2.0, 0.3, 4.0), (2.0, 0.1, 4, 0.7)])
def test_dispersion_by_the_chain_of_states_and_counts(case):
    rate, leaving, returning, time = case
    mean, variance = moments(*case)
    assert mean == pytest.approx(rate * time * on_fraction(1 / leaving, 1 / returning), rel=1e-10)
    assert variance / mean == pytest.approx(on_off_dispersion(*case), rel=1e-10)


def test_dispersion_in_short_and_long_windows():
    assert on_off_dispersion(3.0, 0.5, 0.5) == 4
    assert on_off_dispersion(3.0, 0.5, 0.5, 1e9) == pytest.approx(4, rel=1e-8)
    # 1 + λat/(a+b) to first order
    assert on_off_dispersion(2e6, 0.2, 0.3, 1e-9) - 1 == pytest.approx(8e-4, rel=1e-9)
    rising = [on_off_dispersion(3.0, 0.5, 0.5, t) for t in np.geomspace(1e-5, 1e5, 200)]
    assert np.all(np.diff(rising) > 0)


def test_dispersion_is_smooth_where_the_series_takes_over():
    below, above = (on_off_dispersion(1e5, 0.5, 0.5, 1e-3 * (1 + d)) for d in (-1e-12, 1e-12))
    assert below - 1 == pytest.approx(above - 1, rel=1e-11)


def test_integrated_rate_is_the_integral_of_what_the_simulator_draws():
    rates, phases, spec = (0.5, 2.0, 1.5), (0.1, -3.6, 0.75), Diurnal(period=7.0, low=0.2, high=0.9)

    def rate(t):
        return sum(r * spec.at(t, p) for r, p in zip(rates, phases, strict=True))

    times = np.array([0.0, 0.3, 2.5, 6.9, 7.0, 16.4])
    for t, value in zip(times, diurnal_integral(times, rates, phases, 7, 0.2, 0.9), strict=True):
        exact = quad(rate, 0, t, epsabs=1e-13, epsrel=1e-13, limit=200)[0]
        assert value == pytest.approx(exact, rel=1e-12, abs=1e-13)


def test_integrated_rate_of_special_cases():
    whole = np.arange(5) * 3.0
    assert diurnal_integral(whole, [2.0], [0.3], 3.0, 0.1, 0.7) == pytest.approx(0.8 * whole)
    assert diurnal_integral(5.5, [2.0], [0.3], 3.0, 0.4, 0.4) == pytest.approx(4.4, rel=1e-15)
    opposite = diurnal_integral([0.4, 1.1], [1.0, 1.0], [0.2, 0.7], 3.0, 0.0, 1.0)
    assert opposite == pytest.approx([0.4, 1.1], rel=1e-14)
    together = diurnal_integral(1.3, [1.0, 2.0], [0.2, 0.7], 3.0, 0.0, 1.0)
    one, two = (diurnal_integral(1.3, [r], [p], 3.0, 0.0, 1.0) for r, p in ((1.0, 0.2), (2.0, 0.7)))
    assert together == pytest.approx(one + two, rel=1e-14)
    assert diurnal_integral(0.0, [1.0], [0.9], 3.0, 0.0, 1.0) == 0
    fine = diurnal_integral(np.linspace(0, 9, 9001), [1.0], [0.6], 3.0, 0.0, 1.0)
    assert np.all(np.diff(fine) > 0)


def test_a_phase_is_a_shift_of_time():
    later = diurnal_integral([4.1], [1.5], [0.0], 5.0, 0.1, 0.8)
    sooner = diurnal_integral([1.1], [1.5], [0.0], 5.0, 0.1, 0.8)
    shifted = diurnal_integral([3.0], [1.5], [0.22], 5.0, 0.1, 0.8)
    assert shifted == pytest.approx(later - sooner, rel=1e-14)


@pytest.mark.parametrize(
    ("rates", "probabilities", "key"),
    [
        ([], [], "0 rates and 0 probabilities"),
        ([1.0, 1.0], [0.5], "2 rates and 1 probabilities"),
        ([1.0, 0.0], [0.5, 0.5], r"rates\[1\]"),
        ([1.0, 1.0], [0.5, 1.1], r"probabilities\[1\]: given 1.1; allowed is a number in \[0, 1\]"),
        ([1.0, 1.0], [math.nan, 0.5], r"probabilities\[0\]"),
        ([1.0, 1.0], [0.0, 0.0], "at least one number > 0"),
    ],
)
def test_bad_thinning_is_refused(rates, probabilities, key):
    with pytest.raises(SpecError, match=key):
        thinned(rates, probabilities)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ((0.0, 1.0, 1.0, 1.0), "rate"),
        ((1.0, 0.0, 1.0, 1.0), "leaving"),
        ((1.0, 1.0, -1.0, 1.0), "returning"),
        ((1.0, math.inf, 1.0, 1.0), "leaving"),
        ((1.0, 1.0, 1.0, 0.0), "time"),
        ((1.0, 1.0, 1.0, math.nan), "time"),
        ((1.0, 1.0, 1.0, -math.inf), "time"),
    ],
)
def test_bad_on_off_is_refused(arguments, key):
    with pytest.raises(SpecError, match=key):
        on_off_dispersion(*arguments)


def test_bad_means_are_refused():
    with pytest.raises(SpecError, match="mean_on: given 0"):
        on_fraction(0.0, 1.0)
    with pytest.raises(SpecError, match="mean_off: given -1"):
        on_fraction(1.0, -1.0)


GOOD = {"time": 1.0, "rates": [1.0], "phases": [0.0], "period": 2.0, "low": 0.2, "high": 0.8}


@together
@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"time": -1.0}, "time"),
        ({"time": [0.0, math.inf]}, "time"),
        ({"rates": [1.0, 1.0]}, "2 rates and 1 phases"),
        ({"rates": [], "phases": []}, "0 rates"),
        ({"rates": [0.0]}, r"rates\[0\]"),
        ({"phases": [math.inf]}, "phases: given an array with NaN or infinite numbers"),
        ({"phases": [math.nan]}, "phases"),
        ({"period": 0.0}, "period"),
        ({"low": -0.1}, "low"),
        ({"high": 1.1}, "high"),
        ({"high": 0.1}, "high: given 0.1; allowed is a number ≥ low = 0.2"),
    ],
)
def test_bad_diurnal_clocks_are_refused(changed, key):
    with pytest.raises(SpecError, match=key):
        diurnal_integral(**{**GOOD, **changed})
