"""Gradients of many models at once have the bits of one alone."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import (
    Hinge,
    LinearRecords,
    LogisticLoss,
    Squared,
)
from asyncdp_sim.learning.objectives import records as module
from tests.huber import HuberLoss
from tests.unit.learning.problems import records

SIZES = (700, 31, 1)


def linear(loss, clip, p):
    x, y = records(1, SIZES, p)
    y = [np.where(t < 0, -1.0, 1.0) for t in y] if loss.classifies else y
    return LinearRecords([np.asfortranarray(each) for each in x], y, clip, "l1", loss)


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("loss", [Squared(), LogisticLoss(), Hinge(), HuberLoss(0.7)])
def test_a_gradient_is_to_the_bit_what_it_is_alone(loss, clip, monkeypatch):
    """Wherever the model stands among others, however many of them: rows in blocks or at once."""
    rng = np.random.default_rng(2)
    for p, block in [(1, 2**16), (3, 2**16), (10, 1000), (50, 2**16), (200, 2**16)]:
        monkeypatch.setattr(module, "_BLOCK", block)
        some = linear(loss, clip, p)
        owners, points = rng.integers(0, 3, 100), rng.normal(size=(100, p))
        whole = some.gradient(owners, points)
        for count in (1, 2, 3, 33):
            rows = rng.permutation(100)[:count]
            assert np.array_equal(some.gradient(owners[rows], points[rows]), whole[rows])


def test_a_model_that_has_diverged_moves_no_other():
    some, rng = linear(Squared(), 0.5, 10), np.random.default_rng(3)
    owners, points = np.zeros(8, dtype=np.int64), rng.normal(size=(8, 10))
    alone = some.gradient(owners[1:], points[1:])
    points[0] = [np.inf, -np.inf, np.nan, *[1e300] * 7]
    with np.errstate(over="ignore", invalid="ignore"):
        beside = some.gradient(owners, points)
    assert np.array_equal(beside[1:], alone)
    assert np.isfinite(beside).all()
