"""Lemma 3 as printed, what it follows from, and servers that stay within both."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.theory import polar

STEPS = 0.05 / np.arange(1, 13)
BOUNDS = polar.Obfuscation(
    n_servers=4, n_clients=3, window=2, gradient_norm=0.5, weight_bound=6.0, additive_bound=0.4
)
COMPLETE = np.full((4, 4), 0.25)


def ring(size, give):
    """Return the averaging in which every server gives a share to each of two neighbours."""
    shifted = np.roll(np.eye(size), 1, axis=0)
    return (1 - 2 * give) * np.eye(size) + give * (shifted + shifted.T)


def test_reach_by_hand():
    """C(M̄L + ΔY) = 3(3 + 0.8), C(M̄L/S + ΔY) = 3(0.75 + 0.8); at every step Δ times the M̄."""
    assert BOUNDS.reach == pytest.approx(11.4)
    assert BOUNDS.mean_reach == pytest.approx(4.65)
    assert BOUNDS.mean_reach_inside == pytest.approx(2.25)
    every = polar.Obfuscation(**{**vars(BOUNDS), "every_step": True})
    assert every.reach == pytest.approx(2 * 3 * (3 + 0.4))
    assert every.mean_reach == pytest.approx(2 * 3 * (0.75 + 0.4))
    assert every.mean_reach_inside == pytest.approx(4.5)


def test_lemma_3_by_a_slow_sum():
    steps, start, rho = STEPS[:5], 1.5, 0.2
    beta = 1 - rho / 64
    theta, far = beta**-2, 2 * 3 * (6 * 0.5 + 0.4)
    found = polar.lemma_3(BOUNDS, steps, start, rho)
    for k in range(5):
        sums = sum(beta ** (k + 1 - m) * steps[m - 1] for m in range(1, k + 1))
        exact = (
            4 * theta * beta ** (k + 1) * start + 4 * steps[k] * far + 2 * theta * 4 * far * sums
        )
        assert found[k] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("mixed", [polar.mixing(ring(4, 0.3), 5), polar.printed_mixing(4, 0.3, 5)])
def test_disagreement_by_a_slow_sum(mixed):
    found = polar.disagreement(BOUNDS, STEPS[:5], 1.5, mixed)
    for k in range(5):
        exact = min(4 * mixed[k], 1.5) * 1.5
        for m in range(k + 1):
            pushed = min(4 * mixed[k - m] * BOUNDS.mean_reach, 1.5 * BOUNDS.reach)
            exact += STEPS[m] * pushed
        assert found[k] == pytest.approx(exact, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    n_servers=st.integers(2, 9),
    n_clients=st.integers(1, 100),
    window=st.integers(1, 50),
    norms=st.tuples(st.floats(0, 10), st.floats(0.1, 50), st.floats(0, 10)),
    every_step=st.booleans(),
    rho=st.floats(1e-3, 0.5),
    start=st.floats(0, 10),
    steps=st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=20),
)
def test_lemma_3_follows_from_what_is_derived(
    n_servers, n_clients, window, norms, every_step, rho, start, steps
):
    bounds = polar.Obfuscation(
        n_servers=n_servers,
        n_clients=n_clients,
        window=window,
        gradient_norm=norms[0],
        weight_bound=norms[1],
        additive_bound=norms[2],
        every_step=every_step,
    )
    alpha = np.array(steps)
    derived = polar.disagreement(
        bounds, alpha, start, polar.printed_mixing(n_servers, rho, len(alpha))
    )
    printed = polar.lemma_3(bounds, alpha, start, rho)
    assert np.all(derived + alpha * bounds.mean_reach <= printed * (1 + 1e-12))


def test_lemma_3_is_loose_for_complete_averaging():
    """Figure 3's setting with L = Y = 1: δ within 2α, and 1.3·10⁵ times that in the lemma."""
    bounds = polar.Obfuscation(
        n_servers=5, n_clients=100, window=10, gradient_norm=1, weight_bound=50, additive_bound=1
    )
    steps = np.full(4000, 1e-3)
    ratio = polar.lemma_3(bounds, steps, 0.0, 0.2)[-1] / (1e-3 * bounds.mean_reach)
    assert ratio == pytest.approx(1.3e5, rel=0.05)
    assert ratio > 8 * 5**4


def test_servers_that_swap_models_never_agree():
    """The paper's condition, doubly stochastic and connected, is not enough."""
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert (
        np.abs(np.linalg.matrix_power(swap, 99) - 0.5).max() > polar.printed_mixing(2, 1.0, 99)[-1]
    )


def test_smallest_entries():
    assert polar.smallest_entry(COMPLETE) == 0.25
    assert polar.smallest_entry(ring(6, 0.1)) == pytest.approx(0.1)
    assert polar.smallest_entry(np.full((300, 300), 1 / 300)) == 1 / 300
    beta = 1 - 0.25 / 64
    assert polar.printed_mixing(4, 0.25, 3) == pytest.approx([1 / beta, 1.0, beta])
