"""A network with one hidden layer: its layout, and the bounds of its outputs and gradients."""

import math

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import (
    LogisticLoss,
    Perceptron,
    PerceptronObjective,
    PerceptronRecords,
    Squared,
)
from asyncdp_sim.learning.recording import largest
from tests.together import together
from tests.unit.learning.problems import name, records

LOSSES = [Squared(), LogisticLoss()]
SIZES, D, H = (40, 1, 9), 3, 4
NET = Perceptron(D, H)


def data(loss, sizes=SIZES, d=D, seed=1):
    x, y = records(seed, sizes, d)
    if loss.classifies:
        y = [np.where(t < 0, -1.0, 1.0) for t in y]
    return [np.asfortranarray(np.column_stack([a, np.ones(len(a))])) for a in x], y


def models(count, net=NET, seed=2, size=0.7):
    return np.random.default_rng(seed).normal(size=(count, net.numbers)) * size


def objective(loss, theta_max=None, sigma=0.05, sizes=SIZES, hidden=H, d=D):
    x, y = data(loss, sizes, d)
    return PerceptronObjective(Perceptron(d, hidden), x, y, loss, sigma, theta_max)


def test_the_layout_by_hand():
    """H = 1, d = 2: z = w tanh(w₁x₁ + w₂x₂ + b) + c."""
    net, theta = Perceptron(2, 1), np.array([0.5, -1.0, 0.25, 3.0, -2.0])
    x = np.array([[2.0, 0.25, 1.0]])
    assert net.numbers == 5
    found = net.outputs(x, theta, net.active(x, theta))
    assert found == pytest.approx([3 * math.tanh(1.0) - 2])
    assert Perceptron(10, 8).numbers == 10 * 8 + 8 + 8 + 1


@together
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("theta_max", [0.2, 1.5, 6.0])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_no_gradient_over_a_box_exceeds_its_bound(loss, theta_max, norm):
    """At random and at saturated models of the box; and the bound is within a factor of three."""
    x, y = data(loss, (60,))
    found = PerceptronRecords(NET, x, y, loss, None, norm)
    bound, rng = found.gradient_bound(theta_max), np.random.default_rng(5)
    thetas = rng.uniform(-1, 1, size=(2000, NET.numbers)) * theta_max
    thetas[::2] = np.sign(thetas[::2]) * theta_max
    thetas[1::2, -1] = theta_max * np.sign(thetas[1::2, -1])
    thetas[1::2, -1 - H : -1] = theta_max * np.sign(thetas[1::2, -1 - H : -1])
    thetas[1::4, : -1 - H] *= np.random.default_rng(6).uniform(0, 0.3, (500, 1))
    worst = largest(found, 0, thetas)
    assert bound / 3 < worst <= bound
    assert found.gradient_bound(None) is None


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_bound_of_an_outputs_slope_is_reached_by_one_unit(norm):
    """‖∂z/∂θ‖ over all a ∈ [−1, 1] and |w₂| ≤ θ_max, by a fine grid."""
    a = np.linspace(0, 1, 20001)
    for c in (0.1, 0.5, 0.8, 3.0):
        inner = c * (1 - a * a)
        told = 1 + a + inner if norm == "l1" else np.sqrt(1 + a * a + inner * inner)
        assert float(Perceptron(1, 1).longest(c, 1.0, norm)) == pytest.approx(told.max(), rel=1e-6)


def test_the_reach_of_outputs_is_that_of_saturated_units():
    """All parameters at θ_max = 6 and all features at 1: z = 6(H tanh 24 + 1)."""
    theta, x = np.full(NET.numbers, 6.0), np.ones((1, D + 1))
    assert NET.outputs(x, theta, NET.active(x, theta)) == pytest.approx([NET.reach(6.0)], rel=1e-12)
