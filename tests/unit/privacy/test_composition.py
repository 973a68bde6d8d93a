"""The cost of answers together, in both ways to compute it: never below what is true."""

import time
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from math import exp, inf, log
from typing import Any

import mpmath
import numpy as np
import pytest

from asyncdp_sim.audits import recomposed
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.neighbours import neighbours
from asyncdp_sim.audits.per_answer import noise_composes
from asyncdp_sim.audits.recomposed import Law, Sampled, laplace, response
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.privacy import composition, pairs
from asyncdp_sim.privacy.accountants import Pure
from asyncdp_sim.privacy.composition import answers_of, charge_of, together
from asyncdp_sim.privacy.pairs import GenericPair, LaplacePair, SampledGaussianPair
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import load
from tests.one_in import one_in
from tests.tables import table
from tests.verification.optimism import forgotten
from tests.verification.pure_law import delta_of as pure_delta
from tests.verification.test_audit_faults import SCENE

# The cost of answers together is never below what is true, and hardly above it, at any δ.
#
# The truth is worked out in forty digits: of randomised response by its binomial law, of one and
# of two Gaussian answers over samples by their densities. Of many of those it is bounded from
# below, by the event that one of them is large.

COMPOSED = pytest.mark.oracle("joint ε of pure answers, by privacy loss distributions")
OVER_SAMPLES = pytest.mark.oracle("ε of answers over samples of records, and their variance")

mpmath.mp.dps = 40
SAMPLED = ("privacy.mechanism=gaussian", "privacy.accountant=pld", "privacy.delta=1e-12")


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Any:
    forgotten()
    yield
    forgotten()


def of(pair: pairs.Pair, answers: int, delta: float, **how: Any) -> composition.Composition:
    return together(((pair, answers),), delta, **how)


response_delta = partial(pure_delta, laplace=False)


def above(found, charge, answers, least, most):
    """Return whether δ of randomised response is nowhere below the binomial law's."""
    points = np.linspace(least, most, 25).tolist()
    return all(found.delta(each) >= response_delta(each, charge, answers) for each in points)


TABLE = table(__file__, "responses.toml")
RESPONSES = TABLE["responses"]


@COMPOSED
@pytest.mark.parametrize(("charge", "answers", "delta"), RESPONSES)
def test_randomised_response_costs_what_its_binomial_law_says(charge, answers, delta):
    found = of(GenericPair(charge), answers, delta)
    epsilon = found.epsilon(delta)
    assert response_delta(epsilon, charge, answers) <= found.delta(epsilon) <= delta
    assert response_delta(epsilon * (1 - 1e-4), charge, answers) > delta


@COMPOSED
@pytest.mark.parametrize(("charge", "budget", "answers", "delta"), TABLE["few_of_many"])
def test_few_answers_of_a_budget_for_many_cost_no_less_than_they_do(charge, budget, answers, delta):
    """On the coarse lattice of all answers, where losses one step above ε are most of δ."""
    step = composition.fine_step(((GenericPair(charge), budget),), delta)
    found = of(GenericPair(charge), answers, delta, step=step)
    assert response_delta(found.epsilon(delta), charge, answers) <= delta


ROUNDED = {"off": (0.2, 200, 1e-40, 0.73, 0.999), "factor": (20.0, 3, 1e-26, 0.9, 0.9999)}
"""Where δ is too low without each margin: ε₀, K, δ, and ends of ε over K ε₀."""


@COMPOSED
@pytest.mark.parametrize("margin", ROUNDED)
def test_rounding_never_makes_delta_too_low(margin):
    """And does without the margin for it."""
    charge, answers, delta, *ends = ROUNDED[margin]
    found = of(GenericPair(charge), answers, delta)
    least, most = (charge * answers * end for end in ends)
    assert above(found, charge, answers, least, most)
    bare = replace(found, **{margin: {"off": 1e-300, "factor": 1.0}[margin]})
    assert not above(bare, charge, answers, least, most)


@COMPOSED
def test_the_law_as_it_is_holds_where_delta_is_large_and_its_margin_where_it_is_small():
    found = of(GenericPair(0.5), 20, 1e-6, tilted=False)
    for epsilon in (-3.0, -0.5, 0.0, 0.4, 2.0, 4.0, 9.4):
        exact = response_delta(abs(epsilon), 0.5, 20)
        if epsilon < 0:
            exact = 1 - exp(epsilon) + exp(epsilon) * exact
        assert exact <= found.delta(epsilon) <= exact * (1 + 1e-6) + 1e-12


def beyond(loss: Any, pair: SampledGaussianPair) -> tuple[Any, Any]:
    """P and Q of the half line on which an answer over samples has a larger loss."""
    m, q = mpmath.mpf(pair.mu) / 2, mpmath.mpf(pair.probability)
    half = mpmath.mpf(loss) / 2
    x = (half + mpmath.asinh(mpmath.exp(m * m / 2) * mpmath.sinh(half) * (1 - q) / q)) / m
    without, moved, other = (mpmath.ncdf(shift - x) for shift in (0, m, -m))
    return (1 - q) * without + q * moved, (1 - q) * without + q * other


@cache
def sampled_delta(epsilon: Any, pair: SampledGaussianPair) -> Any:
    """δ of one answer over samples: that of the half line where its loss exceeds ε."""
    first, second = beyond(epsilon, pair)
    return first - mpmath.exp(epsilon) * second


@cache
def two_sampled_delta(epsilon: float, pair: SampledGaussianPair) -> Any:
    """δ of two: that of the second at ε − loss of the first, in the mean."""
    m, q = mpmath.mpf(pair.mu) / 2, mpmath.mpf(pair.probability)

    def rest(x: Any) -> Any:
        near, first, second = (mpmath.npdf(x - shift) for shift in (0, m, -m))
        law, other = (1 - q) * near + q * first, (1 - q) * near + q * second
        return law * sampled_delta(epsilon - mpmath.log(law / other), pair)

    reach = mpmath.sqrt(-2 * mpmath.log(sampled_delta(epsilon, pair)))
    return mpmath.quad(rest, [-reach - m, -m, 0, m, reach / 2, reach + m], maxdegree=7)


ONE = TABLE["one"]


@OVER_SAMPLES
@pytest.mark.parametrize(("mu", "q", "delta"), ONE)
def test_an_answer_over_a_sample_costs_what_its_law_says(mu, q, delta):
    pair = SampledGaussianPair(mu, q)
    found = of(pair, 1, delta)
    epsilon = found.epsilon(delta)
    assert sampled_delta(epsilon, pair) <= found.delta(epsilon) <= delta
    assert sampled_delta(epsilon * (1 - 1e-4) - 1e-9, pair) > delta


@pytest.mark.long
@OVER_SAMPLES
def test_two_answers_over_samples_cost_what_their_laws_say():
    for mu, q, delta in ((1.0, 0.1, 1e-6), (2.0, 1e-2, 1e-20)):
        pair = SampledGaussianPair(mu, q)
        epsilon = of(pair, 2, delta).epsilon(delta)
        with mpmath.workdps(20):
            assert two_sampled_delta(epsilon, pair) <= delta
            assert two_sampled_delta(epsilon * (1 - 1e-4), pair) > delta


def one_is_large(epsilon: float, pair: SampledGaussianPair, answers: int) -> float:
    """P(E) − e^ε Q(E) of the best event E that one of K answers is above some x: δ is no less."""
    from scipy.special import ndtr

    m, q, x = pair.mu / 2, pair.probability, np.linspace(0.0, 30.0, 30_001)
    first = (1 - q) * ndtr(-x) + q * ndtr(m - x)
    second = (1 - q) * ndtr(-x) + q * ndtr(-m - x)
    likely, unlikely = (-np.expm1(answers * np.log1p(-each)) for each in (first, second))
    return float((likely - exp(epsilon) * unlikely).max())


@OVER_SAMPLES
@one_in(3, ("mu", "q", "answers", "delta", "close"), TABLE["many_answers"])
def test_many_answers_of_which_one_gives_a_record_away(mu, q, answers, delta, close):
    """Of σ = ½, a library's grid says ε = 3.876 at δ = 10⁻¹², where δ is 2.6·10⁻¹² at least."""
    pair = SampledGaussianPair(mu, q)
    found = of(pair, answers, delta)
    epsilon = found.epsilon(delta)
    assert one_is_large(epsilon, pair, answers) <= delta
    assert one_is_large(epsilon * (1 - close), pair, answers) > delta
    for less in (0.5, 0.8, 0.95):
        assert one_is_large(epsilon * less, pair, answers) <= found.delta(epsilon * less)


@OVER_SAMPLES
def test_samples_of_all_records_have_the_exact_gaussian_curve():
    for mu, answers, delta in ((0.5, 1, 1e-6), (0.03, 63, 1e-12), (0.1, 10**5, 1e-3)):
        epsilon = of(SampledGaussianPair(mu, 1 - 2.0**-53), answers, delta).epsilon(delta)
        assert pairs.delta_of(epsilon, mu * answers**0.5) <= delta * (1 + 1e-9)
        assert pairs.delta_of(epsilon * (1 - 1e-4), mu * answers**0.5) > delta


PAIRS = [
    SampledGaussianPair(1.0, 0.1), SampledGaussianPair(1e-3, 0.5), SampledGaussianPair(12.0, 1e-9),
    LaplacePair(0.7), LaplacePair(1e-7), GenericPair(2.0),
]  # fmt: skip


def below(pair: pairs.Pair, losses: Any) -> tuple[Any, Any]:
    """P(loss > ℓ) and Q(loss > ℓ), in forty digits."""
    if isinstance(pair, SampledGaussianPair):
        return beyond(losses, pair)
    charge = mpmath.mpf(pair.pure)
    if losses >= charge:
        return mpmath.mpf(0), mpmath.mpf(0)
    if isinstance(pair, GenericPair):
        return 1 / (1 + mpmath.exp(-charge)), 1 / (1 + mpmath.exp(charge))
    return 1 - mpmath.exp((losses - charge) / 2) / 2, mpmath.exp((-losses - charge) / 2) / 2


@OVER_SAMPLES
@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_cells_have_no_less_than_their_probability_and_no_less_of_it_at_the_upper_end(pair):
    """Nor more than 10⁻⁹ of it, relatively; what is beyond them is told."""
    top = pair.top(1e-30)
    count = 41
    step = top / (count - 0.5 if pair.pure < inf else count)
    cells = pair.cells(step, count)
    ends = [below(pair, step * mpmath.mpf(place)) for place in range(count + 1)]
    grown = mpmath.exp(mpmath.mpf(step))
    for place, (one, other) in enumerate(pairwise(ends)):
        likely, unlikely = one[0] - other[0], one[1] - other[1]
        if likely == 0:
            assert cells.logs[place] == -inf
            continue
        stated = mpmath.exp(mpmath.mpf(float(cells.logs[place])))
        assert likely <= stated <= likely * (1 + mpmath.mpf(1e-9))
        upper = (likely - unlikely * grown**place) / (1 - 1 / grown)
        assert upper <= stated * mpmath.mpf(float(cells.upper[place]))
        assert stated * cells.upper[place] <= upper + likely * 1e-6
    rest = ends[-1][0] + ends[-1][1]
    assert rest * (1 - 1e-9) <= cells.beyond <= 2 * rest


@pytest.mark.long
@COMPOSED
@pytest.mark.parametrize(
    ("name", "large"), [("CUT", 0.5), ("TAIL", 0.05), ("CONVERGED", 0.5)], ids=str
)
def test_what_is_cut_off_or_coarse_counts_against_privacy(name, large, monkeypatch):
    """Even where hundreds of times too much is."""
    monkeypatch.setattr(composition, name, large)
    for pair, delta in (
        (SampledGaussianPair(1.0, 0.1), 1e-6),
        (SampledGaussianPair(4.0, 0.01), 0.01),
    ):
        found, twice = of(pair, 1, delta), of(pair, 2, delta)
        for epsilon in np.linspace(0.0, 4.0, 20).tolist():
            assert sampled_delta(epsilon, pair) <= found.delta(epsilon)
        with mpmath.workdps(20):
            for epsilon in (0.2, 1.0, 2.0):
                assert two_sampled_delta(epsilon, pair) <= twice.delta(epsilon)


@COMPOSED
def test_epsilon_at_delta_is_one_whose_delta_that_is():
    for answers in range(1, 60):
        found = of(LaplacePair(0.3), answers, 1e-4)
        assert found.delta(found.uncapped(1e-4)) <= 1e-4


@pytest.mark.long
@COMPOSED
def test_a_charge_and_a_number_of_answers_fit_the_budget_they_are_found_for():
    kinds = ((LaplacePair, 7), (GenericPair, 3000), (pairs.sampled_gaussian(0.01), 400))
    for kind, answers in kinds:
        for epsilon, delta in ((0.2, 1e-6), (3.0, 1e-40)):
            charge = charge_of(kind, epsilon, delta, answers)
            spent = of(kind(charge), answers, delta).epsilon(delta)
            assert epsilon * (1 - 1e-4) <= spent <= epsilon
            fits = answers_of(kind, charge, epsilon, delta, 10**9)
            assert of(kind(charge), fits, delta).epsilon(delta) <= epsilon
            assert of(kind(charge), fits + 1, delta).epsilon(delta) > epsilon


@COMPOSED
@pytest.mark.parametrize("kind", [LaplacePair, GenericPair, pairs.sampled_gaussian(0.5)])
def test_a_budget_that_is_less_than_one_answer_costs_holds_none(kind):
    alone = charge_of(kind, 1.0, 1e-6, 1)
    assert answers_of(kind, alone, 1.0, 1e-6, 10**9) == 1
    assert answers_of(kind, alone, 0.3, 1e-6, 10**9) == 0


@COMPOSED
@pytest.mark.parametrize("kind", [LaplacePair, GenericPair])
def test_answers_whose_epsilon_adds_up_to_the_budget_fit_at_any_delta(kind):
    """Though at so small a δ rounding makes them cost a little more."""
    assert of(kind(1.0), 1, 1e-300).uncapped(1e-300) > 1
    assert answers_of(kind, 1.0, 1.0, 1e-300, 10**9) == 1
    assert answers_of(kind, 0.1, 0.3, 1e-300, 10**9) == 3


@COMPOSED
@pytest.mark.parametrize("epsilon", ["1e-100", "1e300"])
def test_an_epsilon_for_which_losses_are_no_floats_is_refused(epsilon):
    load(SCENE, (f"privacy.epsilon={epsilon}",))
    with pytest.raises(SpecError, match=r"privacy\.epsilon: given .* 1e-20 to 1e\+20 .* pld"):
        load(SCENE, ("privacy.accountant=pld", "privacy.delta=1e-6", f"privacy.epsilon={epsilon}"))


@COMPOSED
def test_many_unequal_answers_cost_no_less_than_themselves_and_hardly_more():
    costs = tuple((0.001 * (1 + np.arange(3000) % 1000)).tolist())
    grouped = composition.unlike(LaplacePair, 1.0, costs)
    assert len(grouped) <= composition.GROUPS
    given, dearer = np.sort(costs), np.repeat(*zip(*[(p.pure, k) for p, k in grouped], strict=True))
    assert np.all(np.sort(dearer) >= given)
    assert np.square(dearer).sum() <= 1.03 * np.square(costs).sum()


@COMPOSED
def test_the_ledger_grows_with_answers_up_to_the_budget():
    """On one lattice, that of all answers: with one for each number it need not."""
    most, charge = 300, charge_of(LaplacePair, 1.0, 1e-6, 300)
    own = Pure(np.array([most]), np.array([1.0]), np.array([most * charge]))
    counts = np.arange(1, most + 1)
    accountant = composition.ByLosses(own, LaplacePair, 1e-6)
    spent = accountant.spent(counts[:, None])[:, 0]
    assert np.all(np.diff(spent) > 0)
    assert 1 - 1e-4 <= spent[-1] <= 1
    fine = composition.fine_step(((LaplacePair(float(accountant.charges[0])), most),), 1e-6)
    for tilted in (True, False):
        steps = {accountant.losses(0, count, tilted=tilted).step for count in (1, 40, most)}
        assert steps == {fine}


@OVER_SAMPLES
@one_in(4, "q", ["0.2", "1e-4", "1e-5", "1e-9"])
def test_sampled_gaussian_answers_at_a_small_delta_take_no_time(q):
    begun = time.process_time()
    asked = (f"privacy.sampling={q}", "privacy.budget.answers=200", "run.updates=200")
    scenario = load(SCENE, (*SAMPLED, *asked))[0]
    spent = scenario.accountant.spent(scenario.accountant.answers)
    assert np.all((spent <= 1) & (spent >= 1 - 1e-3))
    assert time.process_time() - begun <= 10


@OVER_SAMPLES
def test_renyi_privacy_is_never_better():
    """Worked out by an integral, at the orders that a library tries first."""
    for mu, q, answers, delta in ((1.0, 0.1, 100, 1e-6), (4.0, 1e-4, 1000, 1e-9)):
        m, x = mu / 2, np.linspace(-40, 40, 400_001)
        near, moved, other = (-np.square(x - shift) / 2 for shift in (0.0, m, -m))
        first = np.logaddexp(np.log1p(-q) + near, log(q) + moved)
        second = np.logaddexp(np.log1p(-q) + near, log(q) + other)
        bounds = []
        for alpha in (1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32):
            growth = alpha * first + (1 - alpha) * second - log(2 * np.pi) / 2
            total = np.exp(growth - growth.max()).sum() * (x[1] - x[0])
            renyi = (log(total) + growth.max()) / (alpha - 1)
            more = log(1 / delta) + (alpha - 1) * log(1 - 1 / alpha) - log(alpha)
            bounds.append(answers * renyi + more / (alpha - 1))
        found = of(SampledGaussianPair(mu, q), answers, delta).epsilon(delta)
        assert found <= min(bounds) * (1 + 1e-4)


# The second way of audits to compose answers: never above what is true, and hardly below it.

PURE: dict[Any, tuple[composition.PairOf, Law]] = {
    "laplace": (LaplacePair, laplace),
    "any": (GenericPair, response),
}
EACH = pytest.mark.parametrize(("kind", "law"), PURE.values(), ids=PURE)


@pytest.mark.long
@pytest.mark.parametrize(("of", "charge", "answers", "delta"), TABLE["audited"])
def test_answers_cost_at_least_as_much_as_an_audit_says_and_at_most_a_thousandth_more(
    of, charge, answers, delta
):
    kind, law = PURE[of] if of in PURE else (pairs.sampled_gaussian(of), Sampled(of))
    least = recomposed.epsilon_of(law, (charge,), delta, answers)
    most = together(((kind(charge), answers),), delta).epsilon(delta)
    assert most * (1 - 1e-3) <= least <= most
    if kind is GenericPair:
        assert pure_delta(least, charge, answers, laplace=False) >= delta


def test_samples_of_all_records_are_not_above_the_exact_gaussian_curve():
    for mu, answers, delta in ((0.5, 1, 1e-6), (0.03, 63, 1e-12), (0.1, 10**4, 1e-3)):
        least = recomposed.epsilon_of(Sampled(1 - 2.0**-53), (mu,), delta, answers)
        assert pairs.delta_of(least, mu * answers**0.5) >= delta * (1 - 1e-9)
        assert pairs.delta_of(least * (1 + 1e-3), mu * answers**0.5) < delta


@EACH
@pytest.mark.parametrize(("epsilon", "answers"), [(300.0, 3), (1000.0, 3), (2000.0, 50)])
def test_an_audit_composes_answers_that_hide_nothing(kind, law, epsilon, answers):
    charge = charge_of(kind, epsilon, 1e-6, answers)
    assert recomposed.charge_of(law, epsilon, 1e-6, times=answers) == pytest.approx(
        charge, rel=1e-4
    )


@one_in(2, ("kind", "law"), PURE.values(), ids=PURE)
@pytest.mark.parametrize(
    ("shape", "close"),
    [
        pytest.param(1.1 ** np.arange(12.0), 1e-3, id="12"),
        pytest.param(np.arange(1, 301.0), 2e-2, id="300", marks=pytest.mark.long),
    ],
)
def test_unequal_answers_cost_at_least_as_much_as_an_audit_says(kind, law, shape, close):
    relative = tuple((shape / shape.mean()).tolist())
    charge = charge_of(kind, 1.0, 1e-6, len(shape), relative)
    most = together(composition.unlike(kind, charge, relative), 1e-6).epsilon(1e-6)
    least = recomposed.epsilon_of(law, tuple(charge * each for each in relative), 1e-6)
    assert most * (1 - close) <= least <= most


@one_in(2, "settings", [(), ("privacy.mechanism=gaussian", "privacy.sampling=0.5")])
def test_noise_that_costs_half_a_thousandth_more_than_is_claimed_is_refuted(settings):
    composed = ("privacy.accountant=pld", "privacy.delta=1e-6", "privacy.budget.answers=100")
    scenario = load(SCENE, (*composed, "run.updates=100", *settings))[0]
    divisors = scenario.privacy.divisors(build_dataset(scenario).records)
    sound = owed(scenario)
    less = tuple(replace(claim, whole=claim.whole * (1 - 5e-4)) for claim in sound)
    for claims, refuted in ((sound, False), (less, True)):
        [fact] = noise_composes(scenario, neighbours(scenario).first, divisors, claims)
        assert fact.refutes is refuted
