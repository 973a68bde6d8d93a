"""Recursions over counts, and given the order of updates, against every order there is."""

import itertools

import numpy as np
import pytest

from analysis.exact.given_order import ordered, standard_error
from analysis.exact.per_update import moments
from analysis.exact.with_budgets import capped_moments, capped_size
from tests.one_in import one_in
from tests.verification.gossip_cases import Case, correlated, dense_moments

FIT = correlated(n_owners=3, records=12, n_features=2, sigma=0.2, seed=2)
UPDATES, CHANCE = 6, np.array([0.5, 0.3, 0.2])
KS = np.arange(UPDATES + 1)
CASES = [
    pytest.param(
        Case(FIT, 1.0, UPDATES, np.array([1.0, 2.0, 0.5]), noise, step, initial, CHANCE),
        id=f"{noise[:6]}-{step}-{initial}",
    )
    for noise in ("vector", "scalar-as-published")
    for step in ("proof", "text")
    for initial in ("zeros", "ones", "uniform")
]


def every_order(caps):
    """Return all orders of the updates that budgets allow, −1 after the last, and their P."""
    found, chance = [], []
    length = min(UPDATES, sum(caps))
    for order in itertools.product(range(3), repeat=length):
        left, p = np.array(caps), 1.0
        for owner in order:
            p *= CHANCE[owner] * (left[owner] > 0) / CHANCE[left > 0].sum()
            left[owner] -= 1
            if p == 0:
                break
        if p > 0:
            found.append([*order, *[-1] * (UPDATES - length)])
            chance.append(p)
    return np.array(found), np.array(chance)


@pytest.mark.parametrize("case", CASES)
@one_in(3, "caps", [(2, 3, 1), (1, 2, 1), (6, 6, 6)])
def test_all_ways_agree(case, caps):
    owners, chance = every_order(caps)
    assert chance.sum() == pytest.approx(1.0)
    given = ordered(case.process, owners, KS, case.variance, noise=case.noise, initial=case.initial)
    found = capped_moments(
        case.process, np.array(caps), case.variance, noise=case.noise, initial=case.initial
    )
    quiet = capped_moments(case.process, np.array(caps), noise=case.noise, initial=case.initial)
    shown = min(UPDATES, sum(caps)) + 1
    np.testing.assert_allclose((chance @ given.excess)[:shown], found.expected_excess(), rtol=1e-12)
    np.testing.assert_allclose(
        (chance @ given.noise_free)[:shown], quiet.expected_excess(), rtol=1e-12
    )
    assert np.all(given.excess[:, shown:] == given.excess[:, shown - 1 : shown])
    if min(caps) == UPDATES:
        exact = moments(case.process, case.variance, noise=case.noise, initial=case.initial)
        for name in ("mean", "second", "copies_mean", "copies_second", "cross_second"):
            np.testing.assert_allclose(getattr(found, name), getattr(exact, name), atol=1e-13)
        np.testing.assert_allclose(found.mean, dense_moments(case)[0][:, :2], atol=1e-13)


def test_another_fitness_may_judge_and_some_k_do():
    case, owners = CASES[0].values[0], every_order((2, 3, 1))[0]
    hessian, optimum = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.4, -0.1])
    some = np.array([0, 4])
    found = ordered(case.process, owners, some, case.variance, hessian=hessian, optimum=optimum)
    one = moments(case.process, case.variance)
    np.testing.assert_allclose(
        found.excess[:, 0], one.expected_excess(hessian, optimum)[0], rtol=1e-12
    )
    every = ordered(case.process, owners, KS, case.variance, hessian=hessian, optimum=optimum)
    np.testing.assert_allclose(found.excess, every.excess[:, some], rtol=1e-12)
    assert standard_error(np.array([[1.0], [3.0]])) == pytest.approx([1.0])


def test_an_owner_that_never_has_an_update_is_not_waited_for():
    case = CASES[0].values[0].but(probability=np.array([0.6, 0.4, 0.0]))
    found = capped_moments(case.process, np.array([2, 1, 6]), case.variance)
    assert found.mean.shape == (4, 2)
    assert np.all(np.isfinite(found.second))


def test_orders_do_not_mix(monkeypatch):
    case, owners = CASES[0].values[0], every_order((2, 3, 1))[0]
    together = ordered(case.process, owners, KS, case.variance).excess
    monkeypatch.setattr("analysis.exact.given_order.NUMBERS", 1)  # one at a time
    alone = ordered(case.process, owners, KS, case.variance).excess
    assert np.array_equal(together, alone)


def test_the_size_of_a_recursion_over_counts():
    process = CASES[0].values[0].process
    assert capped_size(process, np.array([1, 9, 2])) == 2 * 7 * 3 * 3 * 8**2
