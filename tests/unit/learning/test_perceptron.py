"""A network with one hidden layer against a loop over records and units, written out again."""

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
from tests.unit.learning.problems import records

LOSSES = [Squared(), LogisticLoss()]
SIZES, D, H = (40, 1, 9), 3, 4
NET = Perceptron(D, H)


def name(loss):
    return type(loss).__name__


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


def spelled(x, theta, hidden=H):
    """z and ∂z/∂θ of one row (x, 1): unit after unit its weights and threshold, w₂, b₂."""
    d = len(x) - 1
    outer = theta[hidden * (d + 1) : hidden * (d + 2)]
    z, slopes, activations = theta[-1], [], []
    for h in range(hidden):
        unit = theta[h * (d + 1) : (h + 1) * (d + 1)]
        a = math.tanh(sum(unit[j] * x[j] for j in range(d)) + unit[d])
        z += outer[h] * a
        activations.append(a)
        slopes += [outer[h] * (1 - a * a) * x[j] for j in range(d + 1)]
    return z, np.array([*slopes, *activations, 1.0])


def test_the_layout_by_hand():
    """H = 1, d = 2: z = w tanh(w₁x₁ + w₂x₂ + b) + c."""
    net, theta = Perceptron(2, 1), np.array([0.5, -1.0, 0.25, 3.0, -2.0])
    x = np.array([[2.0, 0.25, 1.0]])
    assert net.numbers == 5
    found = net.outputs(x, theta, net.active(x, theta))
    assert found == pytest.approx([3 * math.tanh(1.0) - 2])
    assert Perceptron(10, 8).numbers == 10 * 8 + 8 + 8 + 1


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_fitness_equals_a_loop_over_records(loss):
    here = objective(loss)
    for theta in models(3):
        total = 0.0
        for x, y in zip(here.features, here.targets, strict=True):
            for row, target in zip(x, y, strict=True):
                z, _ = spelled(row, theta)
                total += float(loss.value(np.array([z]), np.array([target]))[0])
        told = 0.05 / 2 * float(theta @ theta) + total / sum(SIZES)
        assert float(here.fitness(theta)) == pytest.approx(told, rel=1e-13)


@pytest.mark.parametrize(("hidden", "norm"), [(1, "l1"), (7, "l1"), (7, "l2")])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_bits_do_not_depend_on_how_many_points_are_asked_for(loss, hidden, norm):
    """Owners of 1, 2, 50 and 1500 records, so that stacks of models are cut in many ways."""
    net = Perceptron(D, hidden)
    x, y = data(loss, (50, 1, 2, 1500))
    here = PerceptronObjective(net, x, y, loss, 0.3, None)
    clipped = PerceptronRecords(net, x, y, loss, 0.5, norm)
    points, owners = models(33, net), np.random.default_rng(4).integers(4, size=33)
    owners[:4] = [3, 1, 0, 3]
    for ask in (here.gradient, clipped.gradient, lambda _, at: here.excess(at)):
        everything = ask(owners, points)
        for rows in ([0], [0, 1], [0, 1, 2], [32], [7, 3], list(range(33))[::-1]):
            assert np.array_equal(ask(owners[rows], points[rows]), everything[rows])


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
    worst = float(found.largest_gradient(thetas)[0])
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
