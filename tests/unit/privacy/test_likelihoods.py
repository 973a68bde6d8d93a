"""Likelihood of an answer under every mechanism: scipy's laws, and sums over answers."""

import numpy as np
import pytest
from scipy import stats

from asyncdp_sim.privacy.mechanisms import (
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    NoNoise,
)

P, SCALE, GRID = 4, 2.5, 0.5
MIXED = np.array([SCALE, 0.3])
FIRST = np.zeros(3, dtype=np.int64)


def densities(name, answers, gradient, scale):
    """ln p of independent coordinates by scipy's laws."""
    residual = answers - gradient
    if name == "laplace":
        return stats.laplace.logpdf(residual, scale=scale).sum(axis=1)
    if name == "gaussian":
        return stats.norm.logpdf(residual, scale=scale).sum(axis=1)
    steps = np.rint(answers / GRID) - np.rint(gradient / GRID)
    return stats.dlaplace.logpmf(steps, GRID / scale).sum(axis=1)


def of_both(name):
    if name == "discrete":
        return DiscreteLaplaceNoise(MIXED, np.full(2, GRID))
    return {"laplace": LaplaceNoise, "gaussian": GaussianNoise}[name](MIXED)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "discrete"])
def test_likelihoods_are_those_of_the_law(name):
    rng, found = np.random.default_rng(68), of_both(name)
    owners, gradients = np.tile([0, 1], 200), rng.normal(size=(400, P)) * 3
    answers = found.add_noise(owners, gradients.copy(), found.rows(rng, 400, P))
    told = found.log_likelihood(owners, gradients, answers)
    for owner in (0, 1):
        mine = owners == owner
        expected = densities(name, answers[mine], gradients[mine], MIXED[owner])
        assert told[mine] == pytest.approx(expected, rel=1e-11)


def test_one_draw_on_all_coordinates_is_likely_on_a_line_only():
    found = LaplaceNoise(np.array([SCALE]), "scalar-as-published")
    gradients = np.array([[0.1, 2.0, -3.0]] * 3)
    answers = found.add_noise(
        FIRST[:1], gradients[:1].copy(), found.rows(np.random.default_rng(1), 1, 3)
    )
    beside = answers + np.array([[0, 0, 1e-3]])
    tried = np.concatenate([answers, beside, gradients[:1]])
    told = found.log_likelihood(FIRST[:3], gradients, tried)
    shift = answers[0, 0] - 0.1
    assert told[0] == pytest.approx(-abs(shift) / SCALE - np.log(2 * SCALE), rel=1e-9)
    assert told[1] == -np.inf
    assert told[2] == pytest.approx(-np.log(2 * SCALE))


@pytest.mark.parametrize(
    "found",
    [
        LaplaceNoise(np.zeros(1)),
        LaplaceNoise(np.zeros(1), "scalar-as-published"),
        GaussianNoise(np.zeros(1)),
        NoNoise(np.zeros(1)),
        DiscreteLaplaceNoise(np.zeros(1), np.array([0.25])),
    ],
    ids=lambda found: f"{type(found).__name__} {getattr(found, 'shape', '')}",
)
def test_an_exact_answer_is_certain(found):
    gradients = np.array([[0.25, -1.5], [0.25, -1.5], [0.0, 0.0]])
    answers = np.array([[0.25, -1.5], [0.25, -1.25], [0.0, 0.0]])
    told = found.log_likelihood(FIRST[:3], gradients, answers)
    assert told.tolist() == [0, -np.inf, 0]


def test_an_answer_off_the_grid_cannot_be():
    found = DiscreteLaplaceNoise(MIXED, np.full(2, GRID))
    answers = np.array([[0.5, 1.0], [0.5, 1.1]])
    told = found.log_likelihood(FIRST[:2], np.zeros((2, 2)), answers)
    assert np.isfinite(told[0])
    assert told[1] == -np.inf
