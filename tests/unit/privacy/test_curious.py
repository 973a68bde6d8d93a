"""Knowledge of curious servers: by hand, and where the laws of weights are simple."""

from math import sqrt

import numpy as np
import pytest

from analysis.privacy.curious import additive_spread, guess, guess_error, weight_spread


def test_a_guess_by_hand() -> None:
    """Two windows of one step, two servers, g = (2, 0): the first sees (2, 1) and (6, 1)."""
    weights = np.array([[[1.0, 1.0]], [[3.0, -1.0]]])
    additive = np.array([[[[0.0, 1.0], [0.0, -1.0]]], [[[0.0, 1.0], [0.0, -1.0]]]])
    found = guess(np.array([2.0, 0.0]), weights, additive, 1)
    assert found.error == pytest.approx(sqrt(1 - ((4 + 12) / 2) ** 2 / ((5 + 37) / 2 * 4)))
    assert found.cosine == pytest.approx((2 / sqrt(5) + 6 / sqrt(37)) / 2)
    everything = guess(np.array([2.0, 0.0]), weights, additive, 2)
    assert (everything.error, everything.cosine) == (0.0, 1.0)


def test_weights_of_each_coordinate() -> None:
    weights = np.array([[[[1.0, 3.0], [2.0, 0.0]]]])
    nothing = np.zeros((1, 1, 2, 2))
    found = guess(np.array([1.0, 1.0]), weights, nothing, 1)
    assert found.cosine == pytest.approx(4 / sqrt(20))
    assert guess(np.array([1.0, 1.0]), weights, nothing, 2).cosine == pytest.approx(1)


def test_nothing_seen_is_nothing_known() -> None:
    weights = np.array([[[0.0, 1.0]], [[2.0, -1.0]]])
    found = guess(np.ones(1), weights, np.zeros((2, 1, 2, 1)), 1)
    assert found.cosine == 0.5


@pytest.mark.parametrize("ratio", [1.0, 2.0, 10.0])
def test_two_cells(ratio: float) -> None:
    """One of two weights is uniform on [(M − M̄)/2, (M + M̄)/2]: ρ² = Var/(M/2)² = (M̄/M)²/3."""
    assert weight_spread(1, 2, 5.0, 5.0 * ratio) == pytest.approx(ratio**2 / 3)


@pytest.mark.parametrize(("window", "servers"), [(1, 3), (4, 5)])
def test_positive_weights(window: int, servers: int) -> None:
    """Where M̄ = M, m cells are a uniform split of M, of variance M²(m − 1)/(m²(m + 1)) each."""
    expected = 1 / (window * servers + 1)
    assert weight_spread(window, servers, 2.0, 2.0) == pytest.approx(expected)


def test_errors_between_knowing_all_and_nothing() -> None:
    found = [guess_error(2.0, 5, servers) for servers in range(1, 6)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(sqrt(8 / 9))
    assert found[-1] == 0
    one_more = [guess_error(2.0, servers + 1, servers) for servers in (1, 2, 8)]
    assert one_more == pytest.approx([sqrt(2 / (servers + 2)) for servers in (1, 2, 8)])
    assert guess_error(0.0, 3, 1) == 0


def test_additive_perturbations() -> None:
    """Two servers, d_1 = −d_2: (Δ E‖d‖²)/((M/2)²‖g‖²)."""
    found = additive_spread(3, 2, 5.0, 0.7, 2.0)
    assert found == pytest.approx(3 * 0.7 / (2.5**2 * 4))
