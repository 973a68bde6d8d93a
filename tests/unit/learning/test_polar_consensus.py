"""Secure consensus: the mean to half a spacing, on the bounds too, and what two servers learn."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncdp_sim.learning.algorithms.obfuscation import (
    MODULUS,
    RESOLUTION,
    draw_masks,
    secure_consensus,
)
from tests.together import together


def agreed(models, bound, seed=1):
    """Return the consensus of models (S, p), masked by one generator."""
    masks = draw_masks([np.random.default_rng(seed)], *models.shape)
    return secure_consensus(models, bound, masks[0])


def printed(models, bound, masks, modulus):
    """Return the mean by the rule as printed, in floats; the paper's modulus is 2|X|."""
    announced = (models + bound + masks.sum(axis=0) - masks.sum(axis=1)) % modulus
    return announced.sum(axis=0) % modulus / len(models) - bound


def off_by(models, bound, mean):
    """Return the largest error of the mean, in spacings |X|·2⁻⁴⁰."""
    exact = [sum(map(Fraction, column)) / len(column) for column in models.T.tolist()]
    errors = [abs(Fraction(found) - each) for found, each in zip(mean.tolist(), exact, strict=True)]
    return float(max(errors) * RESOLUTION / Fraction(bound))


@settings(max_examples=60, deadline=None)
@given(
    n_servers=st.integers(2, 9),
    bound=st.floats(1e-6, 1e6),
    seed=st.integers(0, 10**6),
    edge=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_mean_is_exact_to_half_a_spacing(n_servers, bound, seed, edge):
    """``edge`` is the share of coordinates that sit on a bound, of either sign."""
    generator = np.random.default_rng(seed)
    models = generator.uniform(-bound, bound, (n_servers, 8))
    ends = np.where(generator.random(models.shape) < 0.5, bound, -bound)
    models = np.where(generator.random(models.shape) < edge, ends, models)
    mean = agreed(models, bound, seed).mean
    assert off_by(models, bound, mean) <= 0.5 + 2**-12
    assert np.all(np.abs(mean) <= bound)


@together
@pytest.mark.parametrize("bound", [0.1, 1.0, 1e5 / 3])
@pytest.mark.parametrize("n_servers", [2, 3, 5, 100])
def test_all_servers_on_either_bound(n_servers, bound):
    models = np.repeat([[bound, -bound, 0.0]], n_servers, axis=0)
    assert agreed(models, bound).mean.tolist() == [bound, -bound, 0.0]


@pytest.mark.parametrize("widen", [1, 3], ids=["2|X|", "2S|X|"])
def test_the_printed_rule_wraps_on_the_bound(widen):
    """Modulo 2|X| as printed, and modulo 2S|X| too: the sum of models on the bound wraps to 0."""
    masks = np.zeros((3, 3, 1))
    models = np.ones((3, 1))
    assert printed(models, 1.0, masks, 2.0 * widen).tolist() == [-1.0]
    assert agreed(models, 1.0).mean.tolist() == [1.0]


def test_half_a_spacing_is_met():
    """x half way between two points is off by half a spacing, to the even one."""
    models = np.full((2, 1), 0.5 / RESOLUTION)
    assert off_by(models, 1.0, agreed(models, 1.0).mean) == 0.5


def test_messages_by_hand():
    """S = 2, |X| = 1, x = (−1, ½): points 0 and 1.5·2⁴⁰; R_12 = 5, R_21 = 2⁶³ − 1."""
    masks = np.zeros((2, 2, 1), dtype=np.uint64)
    masks[0, 1], masks[1, 0] = 5, MODULUS - 1
    found = secure_consensus(np.array([[-1.0], [0.5]]), 1.0, masks)
    assert found.messages.ravel().tolist() == [MODULUS - 6, 3 * RESOLUTION // 2 + 6]
    assert found.mean.tolist() == [-0.25]


def test_replicates_are_on_their_own():
    models = np.random.default_rng(1).uniform(-1, 1, (4, 3, 2))
    masks = draw_masks([np.random.default_rng(seed) for seed in range(4)], 3, 2)
    together = secure_consensus(models, 1.0, masks)
    for row in range(4):
        alone = draw_masks([np.random.default_rng(row)], 3, 2)[0]
        found = secure_consensus(models[row], 1.0, alone)
        assert np.array_equal(found.mean, together.mean[row])
        assert np.array_equal(found.messages, together.messages[row])
        assert np.array_equal(found.unmasked(1), together.unmasked(1)[row])
    assert together.masks[:, [0, 1, 2], [0, 1, 2]].max() == 0


def test_two_servers_hide_nothing():
    """Each finds the other's model on the grid, for every coordinate and without any doubt."""
    models = np.random.default_rng(1).uniform(-1, 1, (2, 1000))
    models[1, :2] = 1.0, -1.0
    found = agreed(models, 1.0)
    points = found.unmasked(viewer=0)[1]
    assert np.max(np.abs(points / RESOLUTION - 1 - models[1])) <= 0.5 / RESOLUTION
    points = found.unmasked(viewer=1)[0]
    assert np.max(np.abs(points / RESOLUTION - 1 - models[0])) <= 0.5 / RESOLUTION


def test_what_is_unmasked_still_adds_up_to_the_mean():
    """Given the mean, the last of the others follows from the rest: nothing more is leaked."""
    models = np.random.default_rng(1).uniform(-1, 1, (4, 50))
    found = agreed(models, 1.0)
    rest = np.delete(found.unmasked(viewer=2), 2, axis=0).sum(axis=0) % np.uint64(MODULUS)
    others = (np.rint(np.delete(models, 2, axis=0) * RESOLUTION) + RESOLUTION).sum(axis=0)
    assert np.array_equal(rest, others.astype(np.uint64))


@pytest.mark.parametrize("outside", [1.0000001, -2.0, float("nan"), float("inf")])
def test_models_outside_the_box(outside):
    with pytest.raises(ValueError, match="a model is outside"):
        agreed(np.array([[0.0], [outside]]), 1.0)
