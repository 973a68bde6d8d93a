"""Charges against dp-accounting's privacy loss distributions and Rényi bounds, and by hand.

Gaussian answers of noise multiplier z compose exactly: m of them are one of z/√m, whose ε(δ) solves
Φ(1/(2z) − εz) − e^ε Φ(−1/(2z) − εz) = δ. Their zero-concentrated privacy is ρ = m/(2z²).
"""

from functools import cache
from math import inf, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from scipy.special import ndtr

from asyncdp_sim.privacy import Clip, Gaussian, Ledger, Privacy, Pure, accountants
from asyncdp_sim.privacy.budgets import PerOwnerCap, UntilSpent, pure_answers, pure_total
from tests.one_in import one_in
from tests.together import together

pytestmark = pytest.mark.oracle("ε of a thousand answers, Gaussian or pure")

ANSWERS = 1000
CASES = [(20.0, 1e-6), (50.0, 1e-4), (50.0, 1e-9), (100.0, 1e-6), (300.0, 1e-4), (300.0, 1e-9)]
"""Noise multipliers and δ: ε from 0.3 to 8 for a thousand answers."""
CLIP = Clip(bound=1.0)


def gaussian(multiplier, delta, answers=ANSWERS, epsilon=inf):
    return Gaussian(np.array([answers]), np.array([epsilon]), np.array([multiplier]), delta)


def stated(multiplier, delta, released=ANSWERS):
    """Return ε that the ledger would state."""
    return float(gaussian(multiplier, delta).spent(np.array([released]))[0])


@cache
def composed(accountant, multiplier, delta):
    made = accountant()
    made.compose(SelfComposedDpEvent(GaussianDpEvent(multiplier), ANSWERS))
    return made.get_epsilon(delta)


@one_in(3, ("multiplier", "delta"), CASES)
def test_a_thousand_gaussian_answers_cost_what_their_loss_distribution_says(multiplier, delta):
    """Within a millionth of it (1 % would do), and never below."""
    exact = composed(PLDAccountant, multiplier, delta)
    assert 1 <= stated(multiplier, delta) / exact <= 1 + 2e-6


@pytest.mark.parametrize(("multiplier", "delta"), CASES)
def test_renyi_bounds_are_looser(multiplier, delta):
    assert 0.85 < stated(multiplier, delta) / composed(RdpAccountant, multiplier, delta) < 1


@pytest.mark.no_evidence
@pytest.mark.parametrize("wrong", [0.99, 1.01])
def test_noise_or_answers_one_percent_off_are_seen(wrong):
    """Planted: an accountant that takes the noise for a hundredth more, or less, than it is."""
    exact = composed(PLDAccountant, 50.0, 1e-9)
    assert not 1 <= stated(50.0 * wrong, 1e-9) / exact <= 1 + 2e-6
    released = round(ANSWERS * wrong**-2)
    assert not 1 <= stated(50.0, 1e-9, released) / exact <= 1 + 2e-6


@together
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 0.01])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 20.0])
def test_a_multiplier_gives_its_epsilon_by_the_formula(epsilon, delta):
    z = accountants.gaussian_multiplier(epsilon, delta)
    found = ndtr(1 / (2 * z) - epsilon * z) - np.exp(epsilon) * ndtr(-1 / (2 * z) - epsilon * z)
    assert found <= delta
    assert found == pytest.approx(delta, rel=1e-3)
    assert accountants.gaussian_epsilon(z, delta) <= epsilon
    assert accountants.gaussian_epsilon(z, delta) == pytest.approx(epsilon, rel=1e-5)
    assert (
        accountants.gaussian_epsilon(z * (1 - 1e-6), delta) > epsilon
    )  # hardly less is too little


def test_no_noise_and_nothing_but_noise():
    assert accountants.gaussian_epsilon(0.0, 1e-6) == inf
    assert accountants.gaussian_epsilon(inf, 1e-6) == 0
    assert accountants.gaussian_multiplier(inf, 1e-6) == 0
    exact = gaussian(0.0, 1e-6)
    assert [exact.spent(np.array([k]))[0] for k in (0, 1, 5)] == [0, inf, inf]
    assert [exact.zcdp(np.array([k]))[0] for k in (0, 1, 5)] == [0, inf, inf]


def test_zero_concentrated_privacy_adds_up():
    """ρ = m/(2z²): and ε ≤ ρ + 2√(ρ ln 1/δ), the bound that every zCDP paper has."""
    found = Gaussian(np.array([50, 50]), np.full(2, inf), np.array([3.0, 10.0]), 1e-6)
    released = np.array([[0, 50], [10, 20], [50, 7]])
    rho = found.zcdp(released)
    assert rho == pytest.approx(released / (2 * np.array([9.0, 100.0])), rel=1e-14)
    assert np.all(found.spent(released) <= rho + 2 * np.sqrt(rho * np.log(1e6)))


def test_calibrated_noise_spends_the_budget_and_never_more():
    """To a hundred-thousandth, for random ε, δ and K, by every number of answers."""
    rng = np.random.default_rng(91)
    for _ in range(150):
        epsilon, delta = 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-12, -2)
        answers = int(10 ** rng.uniform(0, 6))
        parts = {"mechanism": "gaussian", "delta": delta, "sensitivity": CLIP}
        privacy = Privacy(epsilon=epsilon, budget=PerOwnerCap(answers=answers), **parts)
        accountant = privacy.accountant_for(1, 1)
        released = np.array([[answers], [max(answers // 2, 1)], [1], [0]])
        charged = accountant.spent(released)[:, 0]
        assert np.all(charged <= epsilon)
        assert np.all(np.diff(charged) <= 0)
        if charged[0] > 0:  # else δ alone covers it
            assert charged[0] == pytest.approx(epsilon, rel=1e-5)


def test_as_many_gaussian_answers_as_fit():
    rng = np.random.default_rng(92)
    for _ in range(60):
        price, delta = 10 ** rng.uniform(-2, 0.5), 10 ** rng.uniform(-9, -3)
        epsilon = price * 10 ** rng.uniform(0, 2)
        multiplier = accountants.gaussian_multiplier(price, delta)
        fits = accountants.gaussian_answers(multiplier, epsilon, delta)
        assert fits >= 1
        assert stated(multiplier, delta, fits) <= epsilon
        assert stated(multiplier, delta, fits + 1) > epsilon
    one = accountants.gaussian_multiplier(0.5, 1e-6)
    assert accountants.gaussian_answers(one, 0.5, 1e-6) == 1
    assert accountants.gaussian_answers(one * sqrt(7), 0.5, 1e-6) == 7
    assert accountants.gaussian_answers(one * sqrt(7) * (1 - 1e-7), 0.5, 1e-6) == 6
    for count in range(1, 400):  # to the last bit, where a root is all but a whole number
        multiplier = one * sqrt(count)
        fits = accountants.gaussian_answers(multiplier, 0.5, 1e-6)
        assert multiplier / np.sqrt(fits) >= one * (1 - 4e-16)
        assert multiplier / np.sqrt(fits + 1) < one


def test_as_many_pure_answers_as_fit_in_decimals():
    """0.1 + 0.1 + 0.1 is 0.3 to whoever wrote it, if not to binary numbers."""
    cases = [(0.1, 0.3, 3), (0.1, 0.29, 2), (0.7, 2.1, 3), (1e-3, 1.0, 1000), (0.3, 1.0, 3)]
    cases += [(1.0, 1.0, 1), (0.2, 0.1, 0), (1e-5, 0.3, 30_000), (1e-9, 1e3, 10**12)]
    for price, epsilon, fits in cases:
        assert pure_answers(price, epsilon) == fits
        assert pure_total(price, fits) <= epsilon
        assert pure_total(price, fits + 1) > epsilon
    assert 3 * 0.1 > 0.3  # what plain floats would say
    rng = np.random.default_rng(93)
    for _ in range(300):
        price = float(f"{10 ** rng.uniform(-4, 0):.{rng.integers(1, 4)}g}")
        epsilon = float(f"{price * 10 ** rng.uniform(0, 4):.4g}")
        fits = pure_answers(price, epsilon)
        assert pure_total(price, fits) <= epsilon < pure_total(price, fits + 1)


MECHANISMS = [("laplace", None), ("discrete-laplace", None), ("gaussian", 1e-6)]
UNEQUAL = [0.3, 2.0, 0.7, 10.0]
PRICE = UntilSpent(per_answer=0.01)
BUDGETS = [PerOwnerCap(answers=[1, 7, 50, 50]), UntilSpent(answers=9), PRICE]


def shared_by(owners, mechanism, delta, budget):
    parts = {"mechanism": mechanism, "delta": delta, "budget": budget, "sensitivity": CLIP}
    return Privacy(epsilon=UNEQUAL, overlap=owners, **parts).accountant_for(len(UNEQUAL), 50)


@together
@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
@pytest.mark.parametrize("owners", [1, 2, 3, 4])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_owners_that_share_a_record_spend_the_least_epsilon_together(
    owners, mechanism, delta, budget
):
    """Whichever κ they are, however many answers each has released."""
    accountant = shared_by(owners, mechanism, delta, budget)
    rng = np.random.default_rng(94)
    least = min(UNEQUAL) if owners > 1 else max(UNEQUAL)
    rows = [accountant.answers, *(rng.integers(0, accountant.answers + 1) for _ in range(20))]
    for released in rows:
        together = accountant.together(released, owners)
        assert together <= least * (1 + 1e-12)
        if isinstance(accountant, Pure):
            assert together == pytest.approx(np.sort(accountant.spent(released))[-owners:].sum())
        else:
            rho = np.sort(accountant.zcdp(released))[-owners:].sum()
            exact = 0.0 if rho == 0 else accountants.gaussian_epsilon(1 / sqrt(2 * rho), delta)
            assert together == pytest.approx(exact, rel=1e-9)
    if budget is not PRICE:
        assert accountant.together(rows[0], owners) == pytest.approx(least, rel=1e-5)


def released(*numbers):
    """A trace that knows how many answers each owner has released."""
    return SimpleNamespace(released=np.array(numbers))


def test_the_ledger_reports_what_a_shared_record_costs():
    pure = Pure(np.full(3, 10), np.full(3, 1.0), np.full(3, 1.0))
    ledger = Ledger.from_traces(pure, [released(1, 5, 3), released(10, 0, 2)])
    assert ledger.released.tolist() == [[1, 5, 3], [10, 0, 2]]
    assert ledger.spent == pytest.approx(ledger.released / 10)
    assert [ledger.shared(k) for k in (1, 2, 3)] == pytest.approx([1.0, 1.2, 1.2])
    assert ledger.ratio() == 1.0
    assert ledger.zcdp is None
    open_to_all = Ledger.from_traces(pure, [released(1, 5, 3)], (0, 4, 0))
    assert open_to_all.spent.tolist() == [[pytest.approx(0.1), inf, pytest.approx(0.3)]]
    normal = gaussian(5.0, 1e-6, epsilon=3.0)
    [[charged]] = Ledger.from_traces(normal, [released(8)]).zcdp
    assert charged == pytest.approx(8 / 50)
    assert Ledger.from_traces(gaussian(0.0, 1e-6), [released(8)]).ratio() is None


@pytest.mark.no_evidence
def test_each_owners_own_part_would_be_unsound_for_unequal_budgets():
    """With ε_i/κ each, a record of owners 1 and 2 costs (0.3 + 2)/2, and owner 1 promised 0.3."""
    promised, each = min(UNEQUAL), np.array(UNEQUAL) / 2
    naive = Pure(np.full(4, 9), each, each).together(np.array([9, 9, 0, 0]), 2)
    assert naive == pytest.approx(1.15)
    assert naive > 3 * promised
    ours = shared_by(2, "laplace", None, UntilSpent(answers=9))
    assert ours.together(ours.answers, 2) <= promised
