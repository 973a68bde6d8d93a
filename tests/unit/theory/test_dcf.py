"""802.11's contention: the chain, the fixed point, and where they are the same."""

from itertools import product

import pytest

from asyncdp_sim.theory.formulas.dcf import Contention, exact, fixed_point, states


def test_alone_an_owner_sends_once_in_half_a_window_and_a_slot():
    """It counts (W − 1)/2 others on average: τ = 2/(W + 1)."""
    for found in (exact(1, 8, 0), exact(1, 8, 1), fixed_point(1, 8, 3)):
        assert found.sent == pytest.approx(2 / 9, rel=1e-12)
        assert found.success == pytest.approx(2 / 9, rel=1e-12)


@pytest.mark.parametrize(("n_owners", "window"), [(2, 2), (2, 16), (3, 4), (4, 3)])
def test_without_doublings_owners_are_independent_and_the_fixed_point_exact(n_owners, window):
    chain, point = exact(n_owners, window, 0), fixed_point(n_owners, window, 0)
    for name in ("idle", "success", "sent"):
        assert getattr(chain, name) == pytest.approx(getattr(point, name), rel=1e-10)


@pytest.mark.parametrize(("n_owners", "window"), [(2, 2), (2, 8), (3, 4)])
def test_frozen_counts_without_doublings_are_independent_only_of_one_owner(n_owners, window):
    """The one that has succeeded draws from a slot less: the fixed point is an approximation."""
    chain, point = (f(n_owners, window, 0, frozen=True) for f in (exact, fixed_point))
    assert chain.sent == pytest.approx(point.sent, rel=0.06)
    assert chain.sent != pytest.approx(point.sent, rel=1e-6)


def test_frozen_and_alone_an_owner_sends_once_in_half_a_window():
    """Each answer costs its airtime, and (W − 1)/2 slots before it, as with either count."""
    for f, frozen in product((exact, fixed_point), (True, False)):
        access = f(1, 8, 1, frozen=frozen).access(0.1, 1.0, 0.5)
        assert access.success_rate == pytest.approx(1 / (1.5 + 3.5 * 0.1), rel=1e-12)


def test_two_that_always_collide_get_nothing_through():
    assert exact(2, 1, 0) == Contention(idle=0.0, success=0.0, sent=2.0)
    assert fixed_point(2, 1, 0).success == pytest.approx(0, abs=1e-12)


def test_the_chain_of_two_slots_by_hand():
    """W = 2 without doublings: an owner sends in 2/3 of the slots."""
    found = exact(2, 2, 0)
    assert (found.idle, found.success, found.sent) == pytest.approx((1 / 9, 4 / 9, 4 / 3))
    access = found.access(0.5, 1.0, 0.25, 0.75)
    length = (1 / 9) * 0.5 + (4 / 9) * 1.25 + (4 / 9) * 1.75
    assert access.success_rate == pytest.approx((4 / 9) / length)
    assert access.attempt_rate == pytest.approx((4 / 3) / length)
    assert access.success_probability == pytest.approx(1 / 3)


def test_states_are_owners_spread_over_windows_and_counts():
    assert states(2, 4, 1) == 12 * 13 // 2
    assert states(3, 2, 2) == 14 * 15 * 16 // 6
