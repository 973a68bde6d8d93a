"""Each mechanism draws its law, and neighbours are told apart by what is charged and no more.

A unit Laplace draw has E w² = 2 and E w⁴ = 24 (excess kurtosis 3), a normal one E w⁴ = 3. Discrete
Laplace W of a = e^(−γ/b) has P(k) = (1 − a)/(1 + a) a^|k| and variance 2a/(1 − a)².
"""

import numpy as np
import pytest
from scipy.special import kolmogorov, ndtr, ndtri

from asyncdp_sim.privacy.mechanisms import DiscreteLaplaceNoise, GaussianNoise, LaplaceNoise
from tests.one_in import one_in

from .zscores import Score, counts, require, score, seen, shared

pytestmark = pytest.mark.oracle(
    "draws of noise, and likelihood ratios between neighbouring datasets"
)

RUNS, P, SCALE = 250_000, 4, 2.5
GRID, MOST = 0.5, 30
"""Spacing, and the largest number of steps that is counted on its own."""
FIRST = np.zeros(RUNS, dtype=np.int64)


def mechanism(name, factor=1.0):
    scale = np.array([SCALE * factor])
    if name == "discrete":
        return DiscreteLaplaceNoise(scale, np.array([GRID]))
    return {"laplace": LaplaceNoise, "gaussian": GaussianNoise}[name](scale)


def noise(found, seed, gradient=0.0):
    """Return a million draws of what is added to a gradient, one after another."""
    rows = found.rows(np.random.default_rng(seed), RUNS, P)
    assert rows.shape == (RUNS, found.width(P))
    return found.add_noise(FIRST, np.full((RUNS, P), gradient), rows).ravel() - gradient


def laplace_cdf(x):
    half = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, half, 1 - half)


def against(name, drawn, cdf):
    """Kolmogorov and Smirnov: the largest distance between two distribution functions."""
    ordered, n = cdf(np.sort(drawn)), len(drawn)
    above = np.arange(1, n + 1) / n - ordered
    distance = max(above.max(), (1 / n - above).max())
    tail = kolmogorov(np.sqrt(n) * distance)
    z = float(-ndtri(tail)) if tail > 0 else np.inf
    return Score(name, distance, 0.0, z, 1 / np.sqrt(n))


def moments(name, drawn, variance, fourth):
    """The mean against the spread, the variance, and the fourth moment: the kurtosis."""
    return [
        score(f"{name} mean", drawn, 0.0, np.sqrt(variance)),
        score(f"{name} variance", drawn**2, variance),
        score(f"{name} fourth", drawn**4, fourth),
    ]


def laplace(factor=1.0, drawn=None):
    drawn = noise(mechanism("laplace", factor), 61) if drawn is None else drawn
    found = moments("laplace", drawn, 2 * SCALE**2, 24 * SCALE**4)
    found.append(score("laplace |w|", np.abs(drawn), SCALE))
    return [*found, against("laplace law", drawn / SCALE, laplace_cdf)]


def gaussian(factor=1.0, drawn=None):
    drawn = noise(mechanism("gaussian", factor), 62) if drawn is None else drawn
    found = moments("gaussian", drawn, SCALE**2, 3 * SCALE**4)
    return [*found, against("gaussian law", drawn / SCALE, ndtr)]


def discrete(factor=1.0, drawn=None):
    """Chi-square over the atoms, one score for each of the commonest, and the variance."""
    drawn = noise(mechanism("discrete", factor), 63) if drawn is None else drawn
    steps, a = drawn / GRID, np.exp(-GRID / SCALE)
    share = (1 - a) / (1 + a) * a ** np.abs(np.arange(-MOST, MOST + 1))
    beyond = a ** (MOST + 1) / (1 + a)
    places = np.clip(steps, -MOST - 1, MOST + 1).astype(int) + MOST + 1
    observed = np.bincount(places, minlength=2 * MOST + 3)
    expected = np.concatenate([[beyond], share, [beyond]])
    found = [counts("discrete atoms", observed, expected)]
    found += [
        score(f"P({k})", steps == k, (1 - a) / (1 + a) * a ** abs(k)) for k in (-5, -1, 0, 1, 5)
    ]
    # P(W ≤ k) at the atoms: what Kolmogorov's law says of steps is an upper bound
    below = np.cumsum(observed) / len(drawn) - np.cumsum(expected)
    tail = float(kolmogorov(np.sqrt(len(drawn)) * np.abs(below).max()))
    found.append(Score("discrete law", below.max(), 0.0, float(-ndtri(max(tail, 1e-300))), 1e-3))
    variance = 2 * GRID**2 * a / (1 - a) ** 2
    return [*found, *moments("discrete", drawn, variance, fourth_of_discrete(a))[:2]]


def fourth_of_discrete(a):
    k = np.arange(1, 4000.0)
    return float(2 * GRID**4 * (1 - a) / (1 + a) * np.sum(k**4 * a**k))


SOUND = {each.__name__: shared(each) for each in (laplace, gaussian, discrete)}


def scores():
    """Return every score of sound mechanisms; a law's distance has no symmetric z."""
    found = [each for sound in SOUND.values() for each in sound()]
    return [each for each in found if not each.name.endswith("law")]


def has_its_law(name, variance, excess, close):
    require(SOUND[name](), error=0.01)
    named = {each.name.split()[-1]: each.mean for each in SOUND[name]()}
    assert named["variance"] == pytest.approx(variance * SCALE**2, rel=0.01)
    assert named["fourth"] / named["variance"] ** 2 - 3 == pytest.approx(excess, abs=close)


def test_laplace_has_its_law():
    has_its_law("laplace", 2, 3, 0.15)


def test_gaussian_has_its_law():
    has_its_law("gaussian", 1, 0, 0.03)


def test_discrete_laplace_has_its_law():
    atoms, *others = SOUND["discrete"]()
    require(others, error=0.01)
    require([atoms], error=0.1)


def test_discrete_laplace_is_exactly_on_its_grid():
    for grid in (0.5, 2.0**-13, 2.0**-40, 8.0):
        found = DiscreteLaplaceNoise(np.array([SCALE]), np.array([grid]))
        answers = noise(found, 64, 0.0)
        assert np.array_equal(answers / grid, np.rint(answers / grid))
        moved = found.add_noise(FIRST[:9], np.full((9, P), np.pi), np.zeros((9, 2 * P)))
        assert np.array_equal(moved, np.full((9, P), np.rint(np.pi / grid) * grid))


@pytest.mark.no_evidence
@pytest.mark.parametrize("measure", [laplace, gaussian, discrete])
@one_in(2, "factor", [0.99, 1.01])
def test_noise_one_percent_off_is_seen(measure, factor):
    assert seen(measure(factor)) > 5


@pytest.mark.long
@pytest.mark.no_evidence
def test_another_law_of_the_same_variance_is_seen():
    """By the distance of the distribution functions, and by the kurtosis."""
    normal = np.sqrt(2) * noise(mechanism("gaussian"), 62)
    double = noise(mechanism("laplace"), 61) / np.sqrt(2)
    rounded = noise(mechanism("laplace"), 61)
    for found in (laplace(drawn=normal), gaussian(drawn=double)):
        named = {each.name.split()[-1]: each for each in found}
        assert abs(named["variance"].z) <= 4
        assert named["law"].z > 5
        assert abs(named["fourth"].z) > 5
    assert seen(discrete(drawn=np.trunc(rounded / GRID) * GRID)) > 5


def neighbours(runs, sensitivity, seed):
    """Return pairs of gradients that differ by at most the sensitivity in L1."""
    rng = np.random.default_rng(seed)
    one = rng.normal(size=(runs, P)) * 10 ** rng.uniform(-2, 2, (runs, 1))
    step = rng.laplace(size=(runs, P)) * rng.integers(0, 2, (runs, P))
    length = np.maximum(np.abs(step).sum(axis=1, keepdims=True), 1e-300)
    return one, one + step / length * sensitivity * rng.uniform(0.5, 1, (runs, 1))


@pytest.mark.parametrize("sensitivity", [0.01, 0.4, 3.0, 500.0])
def test_rounding_adds_at_most_a_step_per_coordinate(sensitivity):
    """‖γ round(g/γ) − γ round(g'/γ)‖₁ ≤ Δ + pγ; charging Δ alone would be too little."""
    found, runs = mechanism("discrete"), 50_000
    quiet = np.zeros((runs, 2 * P))
    one, two = neighbours(runs, sensitivity, 65)
    apart = found.add_noise(FIRST[:runs], one, quiet) - found.add_noise(FIRST[:runs], two, quiet)
    length = np.abs(apart).sum(axis=1)
    assert np.all(length <= np.abs(one - two).sum(axis=1) + P * GRID + 1e-9)
    assert length.max() > sensitivity + 1e-6


@pytest.mark.parametrize("name", ["laplace", "discrete"])
def test_no_answer_tells_neighbours_apart_by_more_than_epsilon(name):
    """|ln P(y | g) − ln P(y | g')| ≤ ε, reached; with too small a scale it is exceeded."""
    epsilon, sensitivity, runs = 0.7, 0.6, 20_000
    charged = sensitivity + (P * GRID if name == "discrete" else 0.0)
    found = mechanism(name, charged / epsilon / SCALE)
    rng, owners = np.random.default_rng(66), FIRST[:runs]
    one, two = neighbours(runs, sensitivity, 67)
    two[:100] = one[:100] + np.array([sensitivity, 0, 0, 0])
    answers = found.add_noise(owners, one.copy(), found.rows(rng, runs, P))
    loss = found.log_likelihood(owners, one, answers) - found.log_likelihood(owners, two, answers)
    assert np.abs(loss).max() <= epsilon * (1 + 1e-9)
    assert np.abs(loss).max() > epsilon * (0.99 if name == "laplace" else 0.5)
