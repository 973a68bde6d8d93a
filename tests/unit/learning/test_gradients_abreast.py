"""Gradients of many models at once have the bits of one, in NumPy and compiled."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import (
    Hinge,
    HuberLoss,
    LinearRecords,
    LogisticLoss,
    Squared,
)
from asyncdp_sim.learning.objectives import records as module
from asyncdp_sim.learning.objectives.gradients import slopes
from asyncdp_sim.learning.objectives.gradients.slopes import ABREAST, stacked, unstacked
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


def test_stacks_hold_models_in_order_and_zeros_behind_them():
    for count in range(3 * ABREAST):
        points = np.arange(1.0, 2 * count + 1).reshape(count, 2)
        stacks = stacked(points)
        assert stacks.shape == (-(-count // ABREAST), ABREAST, 2)
        assert np.array_equal(unstacked(stacks, count), points)
        assert stacks.sum() == points.sum()


@pytest.mark.parametrize("p", [1, 2, 9, 50, 200])
def test_a_product_beside_others_has_the_bits_of_one_alone(p):
    rng = np.random.default_rng(9)
    for m in (1, 7, 100, 6553):
        features = np.asfortranarray(rng.normal(size=(m + 5, p)))
        for x in (features[:m], np.asfortranarray(features[:m])):
            z = rng.normal(size=(3, ABREAST, m))
            assert np.array_equal(slopes.product_beside(z, x), np.matmul(z, x))


def cases():
    """Predictions, targets and bounds: of all sizes, and all that are no plain numbers."""
    rng = np.random.default_rng(5)
    for rows, m in [(1, 1), (3, 7), (8, 1000), (33, 257)]:
        z = rng.normal(size=(rows, m)) * 10.0 ** rng.integers(-9, 9, (rows, m))
        yield z, rng.normal(size=m), np.abs(rng.normal(size=m))
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, -5e-324, 1.0])
    for target in odd[[0, 1, 5, 7, 9]]:
        for bound in (np.inf, 1.0, 5e-324, 1e308):
            yield odd[None], np.full(10, target), np.full(10, bound)


def clipped(worth, monkeypatch):
    monkeypatch.setattr(slopes, "WORTH", worth)
    slopes.compiled.cache_clear()
    slopes.slopes_of.cache_clear()
    ridge, found = slopes.slopes_of(Squared()), []
    for z, y, bound in cases():
        found.append(z.copy())
        with np.errstate(over="ignore", invalid="ignore"):
            ridge.put(found[-1], y, bound)
    assert slopes.compiled.cache_info().currsize == (worth < 0)
    return [each.tobytes() for each in found]


def test_compiled_slopes_have_the_bits_of_numpys(monkeypatch):
    assert clipped(np.inf, monkeypatch) == clipped(-1, monkeypatch)


def test_numba_is_read_once_it_would_have_paid(monkeypatch):
    monkeypatch.setattr(slopes, "WORTH", 100)
    z, y, bound = np.ones((4, 10)), np.zeros(10), np.ones(10)
    slopes.compiled.cache_clear()
    slopes.slopes_of.cache_clear()
    svm = slopes.slopes_of(Hinge())
    for done in range(4):
        ridge = slopes.slopes_of(Squared())  # another cell's, which goes on counting
        assert slopes.compiled.cache_info().currsize == (done == 3)
        ridge.put(z.copy(), y, bound)
        svm.put(z.copy(), y, bound)
    slopes.compiled.cache_clear()
    monkeypatch.setattr(slopes, "_installed", lambda: False)
    ridge.put(z.copy(), y, bound)
    assert slopes.compiled.cache_info().currsize == 0


@pytest.mark.parametrize(
    ("clip", "worth", "at_once"), [(1.0, 731, True), (1.0, 732, False), (None, 0, False)]
)
def test_numba_is_read_at_once_for_what_is_expected_to_pay(clip, worth, at_once, monkeypatch):
    """Three answers over 732/3 records each on average."""
    monkeypatch.setattr(slopes, "WORTH", worth)
    slopes.compiled.cache_clear()
    slopes.slopes_of.cache_clear()
    some = linear(Squared(), clip, 10)
    some.expect(3)
    some.gradient(np.array([2]), np.ones((1, 10)))  # an owner with one record
    assert slopes.compiled.cache_info().currsize == at_once
