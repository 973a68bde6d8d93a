"""Staircase noise of vectors has its law, and tells neighbours apart by ε and no more.

The law is checked by an independent route: shells of ‖w‖₁ one by one, by Gauss–Legendre quadrature.
"""

import re
from math import exp, fsum, lgamma, log
from pathlib import Path

import numpy as np
import pytest
from scipy.special import kolmogorov, ndtri

from asyncdp_sim.privacy.mechanisms.staircase import StaircaseNoise
from asyncdp_sim.theory.formulas.staircase import Staircase, best_gamma
from tests.conformance.planted import Independent

from .shared import shared
from .zscores import Score, require, score, seen

pytestmark = pytest.mark.long

RUNS, DELTA = 100_000, 0.4
PAGE = Path(__file__).parents[2] / "docs" / "privacy" / "staircase.md"
FIRST = np.zeros(RUNS, dtype=np.int64)
CASES = {"low": (0.5, 0.3, 2), "even": (1.5, 0.7, 4), "steep": (6.0, 0.2, 3), "one": (2.0, 0.3, 1)}
"""ε, γ, p."""
LAWS = [(0.05, 0.7, 3), (1.0, 0.3, 1), (2.0, 0.2, 10), (8.0, 0.01, 5), (0.3, 0.5, 60)]
EXTREME = [(1e-3, 0.5, 1), (1e-3, 0.9, 300), (50.0, 0.3, 300), (50.0, 1e-9, 1), (50.0, 0.9, 2)]


class OneDraw(StaircaseNoise):
    """Planted bug: the first coordinate's noise on all of them."""

    def hide(self, owners, gradients, rows):
        noise = super().hide(owners, np.zeros_like(gradients), rows)
        return gradients + noise[:, :1]


def noise(case, kind=StaircaseNoise, factor=1.0):
    epsilon, gamma, size = case
    scale = np.array([DELTA / epsilon * factor])
    return kind(scale, np.array([epsilon]), np.array([gamma]), size)


def drawn(found, seed, count=RUNS):
    rows = found.rows(np.random.default_rng(seed), count, found.size)
    assert rows.shape == (count, found.width(found.size))
    return found.hide(FIRST[:count], np.zeros((count, found.size)), rows)


def shells(law):
    """Return nodes ‖w‖₁, and ln of the volume that each stands for, shell piece by shell piece."""
    p, reach = law.size, (law.size + 4 + 60 + np.sqrt(3600 + 120 * (law.size + 4))) / law.epsilon
    ends = np.concatenate([[0.0], law.gamma + np.arange(reach + 2)])
    x, weight = np.polynomial.legendre.leggauss(p // 2 + 4)
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    length = middle[:, None] + half[:, None] * x
    area = p * log(2) - lgamma(p) + (p - 1) * np.log(length)
    return length, area + np.log(weight) + np.log(half)[:, None]


def integral(law, power):
    """Return ∫ ‖w‖₁^power f(w) dw."""
    length, volume = shells(law)
    terms = np.exp(law.log_density(length) + volume + power * np.log(length))
    return fsum(terms.ravel().tolist())


@pytest.mark.parametrize("case", LAWS)
def test_density_integrates_to_its_moments(case):
    law = Staircase(*case)
    p = law.size
    assert integral(law, 0) == pytest.approx(1, rel=1e-9)
    assert law.mean_length == pytest.approx(integral(law, 1), rel=1e-9)
    assert law.variance == pytest.approx(2 * integral(law, 2) / (p * (p + 1)), rel=1e-9)


def series(epsilon, gamma, power):
    """Return ln Σ b^m (m + γ)^power, added up term by term."""
    reach = (power + 60 + np.sqrt(3600 + 120 * power)) / epsilon
    m = np.arange(int(reach) + 4.0)
    terms = power * np.log(m + gamma) - epsilon * m
    top = terms.max()
    return top + log(fsum(np.exp(terms - top).tolist()))


@pytest.mark.parametrize("case", LAWS + EXTREME)
def test_finite_sums_equal_the_series(case):
    """Also for ε from 1e-3 to 50 and hundreds of coordinates, where any one term would overflow."""
    (epsilon, gamma, p), law = case, Staircase(*case)
    whole, longer, square = (series(epsilon, gamma, p + q) for q in range(3))
    assert law.mean_length == pytest.approx(p / (p + 1) * exp(longer - whole), rel=1e-9)
    assert law.variance == pytest.approx(2 / (p + 1) / (p + 2) * exp(square - whole), rel=1e-9)
    # a (1 − b) Σ b^m 2^p (m + γ)^p/p! = 1
    volume = p * log(2) - lgamma(p + 1) + log(1 - exp(-epsilon)) + whole
    assert law.log_peak == pytest.approx(-volume, abs=1e-9 * max(1, abs(volume)))
    assert law.starts.sum() == pytest.approx(1)


@pytest.mark.parametrize("case", LAWS + EXTREME)
def test_quantiles_are_where_the_distribution_function_says(case):
    law = Staircase(*case)
    for share in (1e-6, 0.01, 0.5, 0.9, 0.999999):
        assert law.cdf(law.quantile(share)) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("case", [LAWS[0], LAWS[2], LAWS[3]])
def test_distribution_function_is_the_integral_of_the_density(case):
    law = Staircase(*case)
    length, volume = shells(law)
    shell = np.exp(law.log_density(length) + volume).sum(axis=1).cumsum()
    ends = law.gamma + np.arange(len(shell))
    found = np.array([law.cdf(end) for end in ends.tolist()])
    assert np.abs(found - shell).max() < 1e-12


def test_small_charges_give_laplace_noise_and_one_dimension_the_known_law():
    for p in (1, 4, 50):
        law = Staircase(1e-3, 0.5, p)
        assert law.variance * 1e-6 == pytest.approx(2, rel=1e-6)
        assert law.mean_length * 1e-3 == pytest.approx(p, rel=1e-6)
    epsilon, gamma = 1.3, 0.3
    b = exp(-epsilon)
    peak = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    assert Staircase(epsilon, gamma, 1).log_peak == pytest.approx(log(peak), rel=1e-12)
    assert Staircase(epsilon, 0.0, 3).variance == pytest.approx(Staircase(epsilon, 1.0, 3).variance)


def test_best_gamma_is_the_published_one():
    """Least E|w|: 1/(1 + e^(ε/2)); least E w²: the root of a cubic (Geng and Viswanath 2014)."""
    for epsilon in (0.3, 1.0, 4.0, 12.0):
        b = exp(-epsilon)
        root = ((b - 2 * b**2 + 2 * b**4 - b**5) / 2) ** (1 / 3)
        assert best_gamma(epsilon, 1, 1) == pytest.approx(1 / (1 + exp(epsilon / 2)), rel=5e-4)
        assert best_gamma(epsilon, 1) == pytest.approx((root / (1 - b) - b) / (1 - b), rel=5e-4)


@pytest.mark.parametrize(("epsilon", "size"), [(1.0, 1), (2.0, 2), (5.0, 2), (9.0, 4), (20.0, 12)])
def test_no_gamma_is_better_than_the_best(epsilon, size):
    chosen = Staircase(epsilon, best_gamma(epsilon, size), size)
    others = [Staircase(epsilon, gamma, size) for gamma in np.geomspace(1e-4, 1, 400).tolist()]
    assert chosen.variance <= min(law.variance for law in others) * (1 + 1e-6)
    assert chosen.variance < 2 / epsilon**2  # Laplace's


def test_the_gain_over_laplace_is_that_of_its_page():
    """And for many numbers, or a small ε, there is none."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.read_text("utf-8"), re.M)
    assert [int(p) for p, _ in rows] == [1, 2, 5, 10, 100]
    for p, shares in rows:
        for epsilon, share in zip((0.5, 1.0, 2.0, 5.0, 10.0), shares.split(" | "), strict=True):
            law = Staircase(epsilon, best_gamma(epsilon, int(p)), int(p))
            assert law.variance / (2 / epsilon**2) == pytest.approx(float(share), abs=5.1e-4)


def test_best_gamma_of_flat_laws_is_a_half():
    assert best_gamma(1e-3, 5) == best_gamma(0.5, 300) == 0.5


def against(case, samples):
    """Return the largest distance between the distribution functions of ‖w‖₁, and its z."""
    law, lengths = Staircase(*case), np.sort(np.abs(samples).sum(axis=1)) / DELTA
    some = lengths[:: len(lengths) // 1000]
    at = np.arange(0, len(lengths), len(lengths) // 1000) / len(lengths)
    distance = float(np.abs(np.array([law.cdf(x) for x in some.tolist()]) - at).max())
    tail = float(kolmogorov(np.sqrt(len(lengths)) * distance))
    return Score("law", distance, 0.0, float(-ndtri(max(tail, 1e-300))), 1 / np.sqrt(len(lengths)))


def measure(name, kind=StaircaseNoise, factor=1.0):
    """Moments that tell of the radius, of the direction, and of how coordinates depend."""
    case = CASES[name]
    law, w = Staircase(*case), drawn(noise(case, kind, factor), 71) / DELTA
    p, length = law.size, np.abs(w).sum(axis=1)
    fourth = integral(law, 4)
    together = p * (p + 1) * (p + 2) * (p + 3)
    found = [
        score(f"{name} mean", w[:, 0], 0.0, np.sqrt(law.variance)),
        score(f"{name} variance", w[:, -1] ** 2, law.variance),
        score(f"{name} length", length, law.mean_length),
        score(f"{name} fourth", w[:, 0] ** 4, 24 * fourth / together),
        score(f"{name} inner", length <= case[1], exp(law.log_peak) * volume(p, case[1])),
        against(case, w * DELTA),
    ]
    if p > 1:
        pairs = np.square(w[:, 0] * w[:, -1])
        found.append(score(f"{name} together", pairs, 4 * fourth / together))
        found.append(score(f"{name} signs", w[:, 0] * w[:, -1], 0.0, law.variance))
    return found


def volume(size, radius):
    return exp(size * log(2 * radius) - lgamma(size + 1))


@shared
def sound(name):
    return measure(name)


def scores():
    """Return every score of sound noise; a law's distance has no symmetric z."""
    return [each for name in CASES for each in sound(name) if each.name != "law"]


@pytest.mark.parametrize("name", CASES)
def test_noise_has_its_law(name):
    require(sound(name), error=0.06)


@pytest.mark.parametrize("name", ["even", "steep"])
@pytest.mark.parametrize("kind", [OneDraw, Independent])
def test_coordinates_drawn_in_another_way_are_seen(name, kind):
    assert seen(measure(name, kind)) > 5


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_noise_two_percent_off_is_seen(name, factor):
    assert seen(measure(name, factor=factor)) > 5


def test_balls_counted_from_the_wrong_one_are_seen(monkeypatch):
    monkeypatch.setattr(Staircase, "exceeded", property(lambda law: np.full(law.size, np.inf)))
    assert seen(measure("even")) > 5


def test_each_owner_has_its_own_noise():
    scale, epsilon = np.array([0.2, 3.0, 0.0, 0.2]), np.array([2.0, 0.1, np.inf, 1e4])
    found = StaircaseNoise.best(scale, epsilon, 3)
    owners = np.arange(RUNS) % 4
    rows = found.rows(np.random.default_rng(72), RUNS, 3)
    noisy = found.hide(owners, np.ones((RUNS, 3)), rows) - 1
    for owner in (0, 1):
        each = noisy[owners == owner]
        require([score("variance", each[:, 1] ** 2, found.variance[owner])], error=0.03)
        beyond = np.abs(each).sum(axis=1) > found.longest(3, 0.9)[owner]
        require([score("longest", beyond, 0.1)], error=0.03)
    assert not noisy[owners == 2].any()
    assert found.variance[2] == found.longest(3, 0.5)[2] == 0
    assert np.isfinite(found.variance).all()
    assert np.isfinite(noisy).all()


def test_blocks_do_not_change_what_is_drawn():
    found = noise(CASES["even"])
    one, two = np.random.default_rng(73), np.random.default_rng(73)
    whole = found.rows(one, 100, 4)
    assert np.array_equal(whole, np.concatenate([found.rows(two, n, 4) for n in (1, 59, 40)]))
    at_once = found.hide(FIRST[:100], np.zeros((100, 4)), whole)
    one_by_one = [found.hide(FIRST[:1], np.zeros((1, 4)), row[None]) for row in whole]
    assert np.array_equal(at_once, np.concatenate(one_by_one))


def test_what_was_drawn_is_found_again_and_exact_answers_are_certain():
    found = StaircaseNoise.best(np.array([0.3, 0.0]), np.array([1.5, np.inf]), 2)
    owners, gradients = np.array([0, 1, 1]), np.ones((3, 2))
    answers = found.hide(owners, gradients.copy(), found.rows(np.random.default_rng(74), 3, 2))
    steps = found.drawn(owners[:1], gradients[:1], answers[:1])
    assert steps * 0.3 + 1 == pytest.approx(answers[:1])
    answers[2] += 1
    assert found.log_likelihood(owners, gradients, answers)[1:].tolist() == [0, -np.inf]


SHIFTS = ("one coordinate", "two", "spread", "unequal", "small", "back and forth")


def shift(name, size):
    """Return a shift of L1 length Δ at most."""
    each = {
        "one coordinate": np.eye(size)[0],
        "two": np.eye(size)[0] - np.eye(size)[-1],
        "spread": np.ones(size),
        "unequal": np.arange(1.0, size + 1),
        "small": np.ones(size),
        "back and forth": (-1.0) ** np.arange(size),
    }[name]
    return each / np.abs(each).sum() * DELTA * (0.01 if name == "small" else 1 - 1e-9)


def losses(found, name, answers):
    """Return |ln f(w)/f(w + s)| at these answers to the gradient 0."""
    owners, zero = FIRST[: len(answers)], np.zeros_like(answers)
    moved = zero + shift(name, found.size)
    likely = found.log_likelihood(owners, zero, answers)
    return np.abs(likely - found.log_likelihood(owners, moved, answers))


def near_steps(found, seed):
    """Return answers as drawn, and some in the first ball, just inside each coordinate's step."""
    rng = np.random.default_rng(seed)
    corner = rng.uniform(-1, 1, (12_000, found.size)) * found.gamma[0] * DELTA
    edge = found.gamma[0] * DELTA * (1 - rng.uniform(0, 2e-2, (12_000, found.size)) / found.size)
    signs = (-1.0) ** np.arange(found.size)
    near = np.concatenate([corner, edge, -edge, edge * signs, -edge * signs, edge / found.size])
    return np.concatenate([drawn(found, seed, 20_000), near])


@pytest.mark.parametrize("name", SHIFTS)
@pytest.mark.parametrize("case", [*CASES.values(), (1.0, 0.0, 3), (0.01, 0.5, 20), (9.0, 1.0, 2)])
def test_no_answer_tells_neighbours_apart_by_more_than_epsilon(case, name):
    """The largest loss is ε, and it is reached."""
    if case[2] == 1 and name == "two":
        name = "one coordinate"
    found = noise(case)
    largest = losses(found, name, near_steps(found, 75)).max()
    assert largest <= case[0] * (1 + 1e-9)
    assert largest == pytest.approx(case[0])


@pytest.mark.parametrize("name", ["low", "even", "steep"])
def test_independent_coordinates_cost_epsilon_each(name):
    """Along one coordinate ε, along p of them pε, however small the shift; Laplace's cost adds."""
    epsilon, _, p = case = CASES[name]
    found = noise(case, Independent)
    answers = near_steps(noise(case), 76)
    assert losses(found, "one coordinate", answers).max() == pytest.approx(epsilon)
    for spread in ("spread", "small", "back and forth"):
        assert losses(found, spread, answers).max() == pytest.approx(p * epsilon)


@pytest.mark.parametrize("name", CASES)
def test_noise_for_too_small_a_sensitivity_costs_a_second_step(name):
    """Scaled by 0.8 < 1, a shift of Δ crosses two steps for some answers: 2ε, not ε/0.8."""
    epsilon, found = CASES[name][0], noise(CASES[name], factor=0.8)
    answers = near_steps(found, 77)
    assert losses(found, "one coordinate", answers).max() == pytest.approx(2 * epsilon)
