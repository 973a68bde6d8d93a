import math

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.rounds import mean_gap, mean_round
from tests.theory.rounds import mean_round_of
from tests.together import together
from tests.verification.chains import flow, stationary


def exponential(time):
    return math.exp(-time)


def uniform(time):
    return min(1.0, max(0.0, 3.0 - time))


def test_small_rounds():
    assert mean_round(1, 4.0) == 0.25
    assert mean_round(3, 0.5) == pytest.approx(2 * (1 + 1 / 2 + 1 / 3), rel=1e-15)
    assert mean_gap(4, 0.5) == 0.5


def test_many_owners_grow_like_the_logarithm():
    n = 100_000
    assert mean_round(n, 1.0) == pytest.approx(math.log(n) + np.euler_gamma + 0.5 / n, rel=1e-11)


def test_round_by_a_markov_chain():
    """Owners missing, 5 … 1, then the next round: one round per mean length."""
    law = stationary(lambda missing: [(missing * 0.7, missing - 1 if missing > 1 else 5)], 5)
    rounds = flow(law, lambda missing: 0.7 if missing == 1 else 0.0)
    assert 1 / rounds == pytest.approx(mean_round(5, 0.7), rel=1e-13)


@together
@pytest.mark.parametrize("n_owners", [1, 2, 10, 1000])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_any_law_by_integration(n_owners, scale):
    assert mean_round_of(n_owners, exponential, scale) == pytest.approx(
        mean_round(n_owners, 1.0), rel=1e-10
    )
    expected = 2 + n_owners / (n_owners + 1)
    assert mean_round_of(n_owners, uniform, scale) == pytest.approx(expected, rel=1e-10)


def test_constant_and_zero_times():
    assert mean_round_of(7, lambda time: float(time < 0.3), 1.0) == pytest.approx(0.3, rel=1e-9)
    assert mean_round_of(7, lambda _: 0.0, 1.0) == 0


def test_heavy_tails():
    """The longest of two with P(T > t) = (1+t)^−2: 2·1 − 1/3."""
    assert mean_round_of(2, lambda t: (1 + t) ** -2.0, 1.0) == pytest.approx(5 / 3, rel=1e-10)


def test_simulated_rounds():
    draws = np.random.default_rng(1).gamma(2.0, 0.5, size=(40_000, 6)).max(axis=1)
    exact = mean_round_of(6, lambda t: math.exp(-2 * t) * (1 + 2 * t), 1.0)
    error = draws.std() / 200
    assert error < 0.003 * exact
    assert abs(draws.mean() - exact) < 4 * error


def test_bad_arguments_are_refused():
    with pytest.raises(SpecError, match="n_owners"):
        mean_round(0, 1.0)
    with pytest.raises(SpecError, match="rate"):
        mean_round(3, 0.0)
    with pytest.raises(SpecError, match="rate"):
        mean_gap(3, math.nan)
    with pytest.raises(SpecError, match="scale"):
        mean_round_of(3, exponential, 0.0)
    with pytest.raises(SpecError, match=r"P\(T > .*\) = .*probability"):
        mean_round_of(3, lambda time: time, 8.0)
    with pytest.raises(SpecError, match="finite mean"):
        mean_round_of(1, lambda time: 1 / (1 + time), 1.0)
