"""Closed forms of channels, queues, losses and contention, and the arguments that they refuse."""

import math
from functools import partial
from itertools import product
from math import pi, sqrt, tan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from analysis.exact.per_update import gossip_map_of
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.theory.formulas import binomial_quantile, channels, exchanges, t_quantile
from asyncdp_sim.theory.formulas.dcf import Contention, exact, fixed_point, states
from tests.one_in import one_in
from tests.theory.broadcast import clean_given, no_collision_given, responders
from tests.theory.lock import refusing
from tests.theory.polar import smallest_entry
from tests.theory.queueing import constant_tail, exponential_tail, mean_square
from tests.together import together
from tests.unit.theory.test_moments import problem
from tests.verification.chains import flow, stationary

# Closed forms of channels, queues, losses and contention, by hand.


def test_two_answers_by_hand():
    assert no_collision_given(2, 0.2, 1.0) == pytest.approx(0.8**2)
    assert clean_given(2, 1.0, 5.0) == pytest.approx(0.64)  # one clean, both clean


@pytest.mark.parametrize(
    ("n", "q", "d"), [(1, 0.4, 0.2), (6, 0.5, 0.05), (40, 0.1, 0.5), (9, 1, 0)]
)
def test_over_all_numbers_of_listeners(n, q, d):
    (begun, unharmed), law = exchanges.broadcast(n, q, 3 * d, 3.0), responders(n, q)
    clean = sum(m * clean_given(m, d, 1.0) * law[m] for m in range(1, n + 1))
    assert begun == pytest.approx(n * q)
    assert unharmed == pytest.approx(clean, rel=1e-12)


def test_mean_until_all():
    assert exchanges.mean_until_all(1) == 1
    assert exchanges.mean_until_all(2) == pytest.approx(3)
    assert exchanges.mean_until_all(3) == pytest.approx(5.5)
    assert exchanges.mean_until_all(86) == pytest.approx(
        86 * sum(1 / j for j in range(1, 87)), rel=1e-14
    )


def close(one, other, rel=1e-13):
    return all(
        getattr(one, name) == pytest.approx(getattr(other, name), rel=rel)
        for name in ("update_rate", "busy_fraction", "refusal_probability")
    )


def test_equal_rates_are_a_case_of_unequal_ones():
    assert close(exchanges.refusing_unequal([0.7] * 5, [0.3] * 5), refusing(5, 0.7, 0.3))


def test_unequal_rates_by_a_markov_chain():
    """Two owners, exponential services: idle, serving 1, serving 2, solved by hand."""
    (a, b), (m, n) = (0.5, 2.0), (0.4, 0.1)
    idle = 1 / (1 + a * m + b * n)
    refused = idle * (a * m * b + b * n * a)
    served = idle * (a + b)
    learner = exchanges.refusing_unequal([a, b], [m, n])
    assert learner.update_rate == pytest.approx(served, rel=1e-14)
    assert learner.busy_fraction == pytest.approx(1 - idle, rel=1e-14)
    assert learner.refusal_probability == pytest.approx(refused / (refused + served), rel=1e-14)


def bursts(attempts, *numbers):
    names = ("to_bad", "to_good", "loss_good", "loss_bad")
    return channels.lost_in_bursts(attempts, **dict(zip(names, numbers, strict=True)))


@together
@pytest.mark.parametrize("loss", [0.0, 0.2, 0.9, 1.0])
@pytest.mark.parametrize("attempts", [1, 2, 7])
def test_by_summing_over_outcomes(loss, attempts):
    arrives = [loss**r * (1 - loss) for r in range(attempts)]
    sent = sum(r * p for r, p in enumerate(arrives, 1)) + attempts * loss**attempts
    assert channels.delivered(loss, attempts) == pytest.approx(sum(arrives), abs=1e-15)
    assert channels.mean_attempts(loss, attempts) == pytest.approx(sent, rel=1e-14)


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_losses_that_do_not_come_in_bursts(attempts):
    """The state matters to nothing, or is drawn anew every time."""
    for chain in ((0.1, 0.3, 0.4, 0.4), (0.25, 0.75, 0.2, 1.0)):
        assert bursts(attempts, *chain) == pytest.approx(
            1 - channels.delivered(0.4, attempts), rel=1e-13
        )


def test_bursts_by_hand():
    assert bursts(1, 0.1, 0.3, 0.05, 0.8) == pytest.approx(0.75 * 0.05 + 0.25 * 0.8)
    assert bursts(4, 0.2, 0.0, 0.3, 1.0) == 1
    assert bursts(1, 1.0, 1.0, 1.0, 0.0) == 0.5
    assert bursts(2, 1.0, 1.0, 1.0, 1.0) == 1  # answers of two attempts keep the state


@pytest.mark.parametrize(
    ("tail", "second", "third"), [(exponential_tail, 2, 6), (constant_tail, 1, 1)]
)
@one_in(2, "rate", [0.4, 1.4])
def test_moments_are_integrals_of_the_tail(tail, second, third, rate):
    m = 0.5
    wait = exchanges.fifo_wait(rate, m, second * m**2)
    nodes, weights = np.polynomial.legendre.leggauss(8)  # in each service time: smooth there
    times = np.add.outer(m * np.arange(80), m / 2 * (1 + nodes))
    beyond = np.array([[tail(rate, m, t) for t in row] for row in times]) * m / 2
    mean, square = (beyond @ weights).sum(), (2 * times * beyond @ weights).sum()
    assert wait == pytest.approx(mean, rel=1e-9)
    assert mean_square(rate, m, second * m**2, third * m**3) == pytest.approx(square, rel=1e-8)
    assert tail(rate, m, 0.0) == pytest.approx(rate * m)


def test_mean_wait_by_a_markov_chain():
    """Erlang-2 service in two stages; Little's law for those that wait, up to 150 of them."""

    def rates(state):
        number, stage = state
        if number < 150:
            yield 0.6, (number + 1, stage if number else 1)
        if number:
            yield 2.0, (number, 2) if stage == 1 else (number - 1, 1 if number > 1 else 0)

    law = stationary(rates, (0, 0))
    waiting = flow(law, lambda state: max(state[0] - 1, 0))
    assert exchanges.fifo_wait(0.6, 1.0, 1.5) == pytest.approx(waiting / 0.6, rel=1e-10)


# 802.11's contention: the chain, the fixed point, and where they are the same.


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


def test_aloha_infinite_peaks_at_half():
    assert channels.aloha_infinite(0.5) == pytest.approx(1 / (2 * math.e))
    assert channels.slotted_aloha_infinite(1.0) == pytest.approx(1 / math.e)
    assert channels.aloha_infinite(0.0) == channels.slotted_aloha_infinite(0.0) == 0


def test_aloha_formula_and_limits():
    by_hand = (math.exp(-0.2) / 1.2) ** 4
    assert channels.aloha(5, 0.4, 0.5).success_probability == pytest.approx(by_hand, rel=1e-14)
    assert channels.aloha(5, 0.4, 0.5).success_rate == pytest.approx(
        5 * 0.4 / 1.2 * by_hand, rel=1e-14
    )
    assert channels.aloha(1, 0.4, 0.5) == channels.RandomAccess(1, 0.4 / 1.2)
    assert channels.aloha(3, 2.0, 0.0) == channels.RandomAccess(1, 6)
    many = channels.aloha(10**6, 0.5e-6, 1.0)
    assert many.success_rate == pytest.approx(channels.aloha_infinite(0.5), rel=1e-5)
    capture = channels.aloha_capture(10**6, 0.5e-6, 1.0, 3.0)
    assert capture.success_rate == pytest.approx(
        channels.aloha_infinite_capture(0.5, 3.0), rel=1e-5
    )
    assert channels.aloha_capture(5, 0.4, 0.5, 0.0).success_probability == pytest.approx(
        1, rel=1e-14
    )
    strict = channels.aloha_capture(5, 0.4, 0.5, 1e12).success_probability
    assert strict == pytest.approx(by_hand, rel=1e-10)


def test_tdma_saturated():
    assert channels.tdma(5, 0.2, 0.1) == channels.tdma(5, 0.2, 0.1, 1e9) == 5
    assert channels.tdma(5, 0.2, 0.2, 1e-9) == pytest.approx(5e-9, rel=1e-8)


def giving_up(load, delay, **how):
    """Return the throughput of an infinite population that listens first and gives up."""
    return channels.csma_giving_up(load, delay, **how).success_rate


detecting = partial(giving_up, detecting=True)


def test_published_shapes_of_csma():
    assert giving_up(2.0, 0.0) == pytest.approx(2 / 3)
    g = 1.7
    perfect = g * (1 + g) * math.exp(-g) / (g + math.exp(-g))
    assert channels.csma_one_persistent_infinite(g, 0.0) == pytest.approx(perfect, rel=1e-14)
    for a in (0.01, 0.3, 0.5):
        e = math.exp(-a * g)
        tobagi_hunt = g * e / (g * e + 2 * a * g * (1 - e) + 2 - e)
        assert detecting(g, a) == pytest.approx(tobagi_hunt, rel=1e-13)
        kleinrock_tobagi = g * e / (g * (1 + 2 * a) + e)
        assert giving_up(g, a) == pytest.approx(kleinrock_tobagi, rel=1e-13)
    for formula in (giving_up, channels.csma_one_persistent_infinite, detecting):
        assert formula(0.0, 0.3) == 0
        assert formula(1e-6, 0.3) == pytest.approx(1e-6, rel=1e-5)
    peak = max(giving_up(g, 0.01) for g in np.geomspace(0.1, 100, 400))
    assert peak == pytest.approx(0.815, abs=0.001)
    peak = max(channels.csma_one_persistent_infinite(g, 0.01) for g in np.geomspace(0.1, 10, 400))
    assert peak == pytest.approx(0.529, abs=0.001)


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.9])
def test_csma_owners_and_limits(delay):
    alone = channels.csma(1, 2.0, 0.5, delay * 0.5)
    assert alone.success_probability == 1
    assert alone.success_rate == pytest.approx(1 / (0.5 + 0.5 * (1 + delay)), rel=1e-13)
    assert channels.csma_detecting(1, 2.0, 0.5, delay * 0.5).success_rate == pytest.approx(
        alone.success_rate, rel=1e-13
    )
    for finite, infinite in (
        (channels.csma, giving_up),
        (channels.csma_detecting, detecting),
    ):
        many = finite(10**6, 0.8e-6, 2.0, 2 * delay)
        assert 2 * many.success_rate == pytest.approx(infinite(1.6, delay), rel=1e-5)
        assert many.success_rate == many.success_probability * many.attempt_rate


def test_csma_two_owners_by_hand():
    """E last start of one other owner: ∫₀^a (e^{−λy} − e^{−λa}) dy."""
    rate, a = 0.7, 0.3
    late = math.exp(-rate * a)
    last = (1 - late) / rate - a * late
    exact = late / (1 + a + last + 1 / (2 * rate))
    assert channels.csma(2, rate, 1.0, a).success_rate == pytest.approx(exact, rel=1e-13)
    assert channels.csma(2, rate, 1.0, a).success_probability == pytest.approx(
        late / (2 - late), rel=1e-14
    )


# Bounds on how often tasks return: what is exact lies between them, and where they are one.

SHARES = (0.5, 0.3, 0.2)
TIMES = st.lists(st.floats(0.01, 10.0), min_size=3, max_size=3)


@given(tasks=st.integers(1, 60), service=TIMES, travel=TIMES)
def test_the_product_form_is_between(tasks, service, travel):
    exact, _ = exchanges.closed_network(tasks, SHARES, service, travel)
    low, high = exchanges.return_bounds(tasks, SHARES, service, travel)
    assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)


@given(service=TIMES, travel=TIMES)
def test_one_task_or_none_that_waits_leaves_one_value(service, travel):
    once = np.dot(SHARES, np.add(service, travel))
    assert exchanges.return_bounds(1, SHARES, service, travel) == pytest.approx((1 / once,) * 2)
    alone = 7 / np.dot(SHARES, travel)
    assert exchanges.return_bounds(7, SHARES, (0.0,) * 3, travel) == pytest.approx((alone,) * 2)


def test_with_many_tasks_the_busiest_owner_bounds():
    """By hand: D = 0.05 + 0.15 + 0.2 = 0.4, the busiest 0.2; queries travel for Z = 0.1."""
    low, high = exchanges.return_bounds(10, SHARES, (0.1, 0.5, 1.0), (0.1,) * 3)
    assert (low, high) == (pytest.approx(10 / 4.1), pytest.approx(5))
    assert exchanges.return_bounds(2, SHARES, (0.1, 0.5, 1.0), (0.1,) * 3)[1] == pytest.approx(
        2 / 0.5
    )


# Quantiles against SciPy's, in closed form, and as tables print them.


@pytest.mark.parametrize("trials", [1, 2, 7, 100, 99_999])
def test_the_binomial_quantile_is_that_of_scipy(trials):
    chance = np.concatenate(
        [[0.0, 1e-9, 1.0], np.linspace(0.001, 0.999, 57), np.exp(-np.arange(30))]
    )
    for share in (0.005, 0.025, 0.3, 0.995):
        assert (binomial_quantile(share, trials, chance) == binom.ppf(share, trials, chance)).all()


@pytest.mark.parametrize("share", [0.5, 0.6, 0.9, 0.975, 0.9995])
def test_one_and_two_degrees_of_freedom(share):
    assert t_quantile(1, share) == pytest.approx(tan(pi * (share - 0.5)), rel=1e-9, abs=1e-12)
    two = (2 * share - 1) * sqrt(2 / (4 * share * (1 - share)))
    assert t_quantile(2, share) == pytest.approx(two, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("freedom", "printed"), [(3, 3.182), (30, 2.042), (120, 1.980)])
def test_as_printed(freedom, printed):
    assert t_quantile(freedom, 0.975) == pytest.approx(printed, abs=5e-4)


# Arguments outside their domains, which formulas refuse by name.


REFUSED = [
    ("theta_max", lambda: gossip_map_of(problem(theta_max=0.5), rho=1.0, updates=4)),
    ("a zero on the diagonal", lambda: smallest_entry(np.eye(2)[::-1])),
    ("not connected", lambda: smallest_entry(np.eye(2))),
    ("doubly stochastic", lambda: smallest_entry(np.array([[0.9, 0.1], [0.5, 0.5]]))),
    ("doubly stochastic", lambda: smallest_entry(np.array([[1.5, -0.5], [-0.5, 1.5]]))),
    ("of shape", lambda: smallest_entry(np.full((2, 3), 0.5))),
]


@together
@pytest.mark.parametrize(("said", "call"), REFUSED)
def test_what_lies_outside_a_domain_is_refused_by_its_name(said, call):
    with pytest.raises(SpecError, match=said):
        call()
