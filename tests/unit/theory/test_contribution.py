import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.coupon_collector import answers, mean_until_all
from tests.theory.coupon_collector import all_contributed, someone_missing


def exact(n_owners, m):
    """P(M ≤ m) by inclusion and exclusion, in rationals."""
    terms = (
        (-1) ** j * comb(n_owners, j) * Fraction(n_owners - j, n_owners) ** m
        for j in range(n_owners + 1)
    )
    return sum(terms)


def test_mean_until_all():
    assert mean_until_all(1) == 1
    assert mean_until_all(2) == pytest.approx(3)
    assert mean_until_all(3) == pytest.approx(5.5)
    assert mean_until_all(86) == pytest.approx(86 * sum(1 / j for j in range(1, 87)), rel=1e-14)


@pytest.mark.parametrize("n_owners", [1, 2, 3])
def test_every_sequence_of_owners(n_owners):
    law = all_contributed(n_owners, 5)
    for m in range(6):
        sequences = list(itertools.product(range(n_owners), repeat=m))
        share = sum(len(set(s)) == n_owners for s in sequences) / len(sequences)
        assert law[m] == pytest.approx(share, abs=1e-15)


@pytest.mark.parametrize("n_owners", [1, 2, 5, 20, 86])
def test_no_digit_is_lost_at_either_end(n_owners):
    done, missing = all_contributed(n_owners, 1500), someone_missing(n_owners, 1500)
    for m in (0, 1, n_owners - 1, n_owners, n_owners + 1, 100, 400, 1500):
        true = exact(n_owners, m)
        assert done[m] == pytest.approx(float(true), rel=1e-12, abs=0)
        assert missing[m] == pytest.approx(float(1 - true), rel=1e-12, abs=0)


def test_the_tail_sums_to_the_mean():
    assert someone_missing(20, 2000).sum() == pytest.approx(mean_until_all(20), rel=1e-12)


@pytest.mark.parametrize(("n_owners", "updates"), [(1, 0), (1, 7), (3, 0), (4, 25), (86, 1000)])
def test_answers_are_binomial(n_owners, updates):
    law = answers(n_owners, updates)
    hits = np.arange(updates + 1)
    assert law.sum() == pytest.approx(1, abs=1e-11)
    assert law @ hits == pytest.approx(updates / n_owners, abs=1e-9)
    spread = updates / n_owners * (1 - 1 / n_owners)
    assert law @ (hits - updates / n_owners) ** 2 == pytest.approx(spread, abs=1e-8)
    for c in (0, updates // 2, updates):
        ways = comb(updates, c) * Fraction(1, n_owners) ** c
        true = ways * Fraction(n_owners - 1, n_owners) ** (updates - c)
        assert law[c] == pytest.approx(float(true), rel=1e-10)


@pytest.mark.parametrize("formula", [all_contributed, someone_missing, answers])
def test_bad_arguments_are_refused(formula):
    with pytest.raises(SpecError, match="n_owners"):
        formula(0, 10)
    with pytest.raises(SpecError, match="updates"):
        formula(3, -1)
    with pytest.raises(SpecError, match="updates"):
        formula(3, 1.5)
    with pytest.raises(SpecError, match="n_owners"):
        mean_until_all(-1)
