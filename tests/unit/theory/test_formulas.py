"""Closed forms of channels, queues, losses and contention, and the arguments that they refuse."""

import math
from importlib import import_module
from math import exp, pi, sqrt, tan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.privacy.mechanisms import laplace_scale
from asyncdp_sim.theory.formulas import binomial_quantile, channels, exchanges, t_quantile
from asyncdp_sim.theory.formulas.channels import dcf_exact, dcf_fixed_point
from tests.one_in import one_in
from tests.tables import table
from tests.theory import lock
from tests.theory.broadcast import clean_given, responders
from tests.theory.queueing import constant_tail, exponential_tail, mean_square
from tests.together import together
from tests.verification.chains import flow, stationary

# Closed forms of channels, queues, losses and contention, by hand.

BY_HAND = [
    pytest.param(module, case, id=case["says"])
    for module, cases in table(__file__, "by_hand.toml").items()
    for case in cases
]


@together
@pytest.mark.parametrize(("module", "case"), BY_HAND)
def test_a_formula_has_the_value_by_hand(module, case):
    names = vars(math) | {"np": np, "lock": lock, "laplace_scale": laplace_scale}
    names |= vars(import_module(module))
    if "refused" in case:
        with pytest.raises(SpecError, match=case["refused"]):
            eval(case["of"], names)
        return
    found, expected = eval(case["of"], names), eval(case["is"], names)
    if case.get("rel") == 0:
        assert found == expected
    else:
        usual = 0 if "abs" in case else 1e-12
        close = pytest.approx(expected, rel=case.get("rel", usual), abs=case.get("abs", 0))
        assert found == close


@pytest.mark.parametrize(
    ("n", "q", "d"), [(1, 0.4, 0.2), (6, 0.5, 0.05), (40, 0.1, 0.5), (9, 1, 0)]
)
def test_over_all_numbers_of_listeners(n, q, d):
    (begun, unharmed), law = exchanges.broadcast(n, q, 3 * d, 3.0), responders(n, q)
    clean = sum(m * clean_given(m, d, 1.0) * law[m] for m in range(1, n + 1))
    assert begun == pytest.approx(n * q)
    assert unharmed == pytest.approx(clean, rel=1e-12)


@together
@pytest.mark.parametrize("loss", [0.0, 0.2, 0.9, 1.0])
@pytest.mark.parametrize("attempts", [1, 2, 7])
def test_by_summing_over_outcomes(loss, attempts):
    arrives = [loss**r * (1 - loss) for r in range(attempts)]
    sent = sum(r * p for r, p in enumerate(arrives, 1)) + attempts * loss**attempts
    assert channels.delivered(loss, attempts) == pytest.approx(sum(arrives), abs=1e-15)
    assert channels.mean_attempts(loss, attempts) == pytest.approx(sent, rel=1e-14)


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


@pytest.mark.parametrize(("n_owners", "window"), [(2, 2), (2, 16), (3, 4), (4, 3)])
def test_without_doublings_owners_are_independent_and_the_fixed_point_exact(n_owners, window):
    chain, point = dcf_exact(n_owners, window, 0), dcf_fixed_point(n_owners, window, 0)
    for name in ("idle", "success", "sent"):
        assert getattr(chain, name) == pytest.approx(getattr(point, name), rel=1e-10)


@pytest.mark.parametrize(("n_owners", "window"), [(2, 2), (2, 8), (3, 4)])
def test_frozen_counts_without_doublings_are_independent_only_of_one_owner(n_owners, window):
    """The one that has succeeded draws from a slot less: the fixed point is an approximation."""
    chain, point = (f(n_owners, window, 0, frozen=True) for f in (dcf_exact, dcf_fixed_point))
    assert chain.sent == pytest.approx(point.sent, rel=0.06)
    assert chain.sent != pytest.approx(point.sent, rel=1e-6)


def giving_up(load, delay, *, detecting=False):
    """Return the throughput of an infinite population that listens first and gives up."""
    return channels.csma_giving_up(load, delay, detecting=detecting).success_rate


def detecting(load, delay):
    return giving_up(load, delay, detecting=True)


def test_published_shapes_of_csma():
    g = 1.7
    for a in (0.01, 0.3, 0.5):
        e = exp(-a * g)
        tobagi_hunt = g * e / (g * e + 2 * a * g * (1 - e) + 2 - e)
        assert detecting(g, a) == pytest.approx(tobagi_hunt, rel=1e-13)
        kleinrock_tobagi = g * e / (g * (1 + 2 * a) + e)
        assert giving_up(g, a) == pytest.approx(kleinrock_tobagi, rel=1e-13)
    for formula in (giving_up, channels.csma_one_persistent_infinite, detecting):
        assert formula(0.0, 0.3) == 0
        assert formula(1e-6, 0.3) == pytest.approx(1e-6, rel=1e-5)


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.9])
def test_csma_owners_and_limits(delay):
    for finite, infinite in ((channels.csma, giving_up), (channels.csma_detecting, detecting)):
        alone = finite(1, 2.0, 0.5, delay * 0.5)
        assert alone.success_probability == 1
        assert alone.success_rate == pytest.approx(1 / (0.5 + 0.5 * (1 + delay)), rel=1e-13)
        many = finite(10**6, 0.8e-6, 2.0, 2 * delay)
        assert 2 * many.success_rate == pytest.approx(infinite(1.6, delay), rel=1e-5)
        assert many.success_rate == many.success_probability * many.attempt_rate


def test_csma_two_owners_by_hand():
    """E last start of one other owner: ∫₀^a (e^{−λy} − e^{−λa}) dy."""
    rate, a = 0.7, 0.3
    late, found = exp(-rate * a), channels.csma(2, rate, 1.0, a)
    last = (1 - late) / rate - a * late
    assert found.success_rate == pytest.approx(late / (1 + a + last + 1 / (2 * rate)), rel=1e-13)
    assert found.success_probability == pytest.approx(late / (2 - late), rel=1e-14)


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
