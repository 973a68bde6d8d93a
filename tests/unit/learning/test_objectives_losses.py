"""Losses of linear models: values by hand, slopes by differences, tangents without cancellation."""

import math
from fractions import Fraction

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Hinge, LogisticLoss, Squared
from tests.huber import HuberLoss
from tests.together import together
from tests.unit.learning.problems import name

LOSSES = [Squared(), LogisticLoss(), Hinge(), HuberLoss(0.7)]
SMOOTH = [loss for loss in LOSSES if loss.curvature is not None]


def predictions(loss, count=400):
    rng = np.random.default_rng(5)
    z, y = rng.normal(size=count) * 2, rng.normal(size=count)
    return z, np.where(y < 0, -1.0, 1.0) if loss.classifies else y


@together
@pytest.mark.parametrize(
    ("loss", "z", "y", "value", "slope"),
    [
        (Squared(), 3.0, 1.0, 4.0, 4.0),
        (LogisticLoss(), 0.0, 1.0, math.log(2), -0.5),
        (LogisticLoss(), math.log(3), -1.0, math.log(4), 0.75),
        (LogisticLoss(), math.log(3), 1.0, math.log(4 / 3), -0.25),
        (LogisticLoss(), 800.0, -1.0, 800.0, 1.0),
        (LogisticLoss(), -800.0, -1.0, 0.0, 0.0),
        (Hinge(), 0.25, 1.0, 0.75, -1.0),
        (Hinge(), 0.25, -1.0, 1.25, 1.0),
        (Hinge(), 1.5, 1.0, 0.0, 0.0),
        (Hinge(), -1.0, -1.0, 0.0, 0.0),
        (HuberLoss(0.5), 1.25, 1.0, 0.03125, 0.25),
        (HuberLoss(0.5), 3.0, 1.0, 0.5 * (2 - 0.25), 0.5),
        (HuberLoss(0.5), -1.0, 1.0, 0.5 * (2 - 0.25), -0.5),
    ],
)
def test_value_and_slope_by_hand(loss, z, y, value, slope):
    z, y = np.array([z]), np.array([y])
    assert loss.value(z, y) == pytest.approx([value], rel=1e-15)
    assert loss.slope(z, y) == pytest.approx([slope], rel=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_slope_equals_numeric_differences(loss):
    z, y = predictions(loss)
    step = 1e-6
    numeric = (loss.value(z + step, y) - loss.value(z - step, y)) / (2 * step)
    assert np.allclose(loss.slope(z, y), numeric, atol=1e-8)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_bend_equals_numeric_differences_and_stays_below_the_curvature(loss):
    z, y = predictions(loss)
    step = 1e-6
    numeric = (loss.slope(z + step, y) - loss.slope(z - step, y)) / (2 * step)
    bend = loss.bend(z, y)
    assert np.all(bend <= loss.envelope(z, y) * (1 + 1e-12))
    for far in np.random.default_rng(1).normal(size=(20, len(z))) * 3:
        above = loss.slope(z, y) * far + loss.envelope(z, y) * far**2 / 2
        assert np.all(loss.value(z + far, y) - loss.value(z, y) <= above + 1e-12)
    assert np.allclose(bend, numeric, atol=1e-8)
    assert np.all(bend <= loss.curvature)
    at_most = loss.bend(np.zeros(1), np.ones(1) if loss.classifies else np.zeros(1))
    assert at_most == pytest.approx(loss.curvature)  # and no lower bound would do


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_no_slope_is_steeper_than_told(loss):
    rng = np.random.default_rng(6)
    y = np.sign(rng.normal(size=2000)) if loss.classifies else rng.uniform(-2, 2, 2000)
    z = rng.uniform(-3, 3, 2000)
    z[:2], y[:2] = [3, -3], [-1, 1] if loss.classifies else [-2, 2]
    steepest = loss.steepest(3.0, 2.0)
    found = np.abs(loss.slope(z, y)).max()
    assert found <= steepest
    assert found >= steepest * (0.95 if isinstance(loss, LogisticLoss) else 1)


def exact(loss, step, z, y, slope):
    """φ(z + step) − φ(z) − slope·step in rational arithmetic, or in 60 digits."""
    if isinstance(loss, LogisticLoss):
        from decimal import Decimal, localcontext

        with localcontext() as context:
            context.prec = 60
            z, y, step = Decimal(z), Decimal(y), Decimal(step)

            def value(at):
                return (1 + (-y * at).exp()).ln()

            q = 1 / (1 + (y * z).exp())
            return float(value(z + step) - value(z) + y * q * step)
    z, y, step, slope = map(Fraction, (z, y, step, slope))

    def value(at):
        r = abs(at - y)
        if isinstance(loss, Squared):
            return r * r
        if isinstance(loss, Hinge):
            return max(Fraction(0), 1 - y * at)
        delta = Fraction(loss.delta)
        return r * r / 2 if r <= delta else delta * (r - delta / 2)

    return float(value(z + step) - value(z) - slope * step)


@together
@pytest.mark.parametrize("size", [1e-8, 1e-4, 2.9e-3, 3.1e-3, 0.1, 1.0, 29.0, 40.0])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_distance_from_the_tangent_keeps_its_digits(loss, size):
    rng = np.random.default_rng(7)
    if isinstance(loss, Hinge):
        z, y = np.array([0.5, -1.5, 2.0, -3.0]), np.array([1.0, -1.0, 1.0, 1.0])
    elif isinstance(loss, LogisticLoss):
        z, y = rng.normal(size=8), np.where(rng.normal(size=8) < 0, -1.0, 1.0)
    else:
        z, y = np.array([0.5, -1.5, 2.0, 0.25]), np.array([0.25, 1.5, -1.0, 0.5])
    slope = loss.slope(z, y)
    for sign in (-1, 1):
        step = np.full(len(z), sign * size)
        found = loss.above_tangent(step, z, y, slope)
        told = [exact(loss, *map(float, each)) for each in zip(step, z, y, slope, strict=True)]
        assert np.all(found >= 0)
        # rounding 1 − y(z + step) costs the hinge an absolute ulp of the margin
        assert np.allclose(found, told, rtol=1e-10, atol=1e-15 if isinstance(loss, Hinge) else 0)


def test_a_hinge_at_its_kink_takes_the_subgradient_that_it_is_given():
    """At yz = 1 with α = ¼: u = −step, so ¾·(−step)₊ + ¼·step₊."""
    one = np.ones(2)
    found = Hinge().above_tangent(np.array([0.5, -0.5]), one, one, -0.25 * one)
    assert found.tolist() == [0.125, 0.375]
