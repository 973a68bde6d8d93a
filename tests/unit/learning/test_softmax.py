"""Multinomial logistic regression: its optimum, bounds and curvature, and labels that are none."""

import numpy as np
import pytest
from scipy.optimize import minimize

from asyncdp_sim.learning.longest_gradients import largest
from asyncdp_sim.learning.objectives import Logistic, Softmax
from asyncdp_sim.learning.objectives.losses import LogisticLoss
from asyncdp_sim.learning.objectives.models import LinearObjective
from asyncdp_sim.learning.objectives.softmax import SoftmaxLoss, SoftmaxRecords
from tests.unit.learning.problems import records
from tests.unit.learning.test_record_gradients import of_classes

# Multinomial logistic regression: its optimum, its bounds, and labels that are none.

OPTIMUM = pytest.mark.oracle("optimum of multinomial logistic regression")

ORDER = {"l1": 1, "l2": 2}
SIZES, D = (40, 1, 9), 3


def labels(classes: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return labels, of which those of the first class are the most frequent."""
    values = (-1.0, 1.0) if classes == 2 else tuple(np.arange(1.0, classes + 1))
    return rng.choice(values, size=n, p=np.arange(classes, 0, -1) / (classes * (classes + 1) / 2))


def data(classes, sizes=SIZES, d=D, seed=1):
    x, _ = records(seed, sizes, d)
    rng = np.random.default_rng(seed)
    return x, [labels(classes, n, rng) for n in sizes]


def models(count, classes, d=D, seed=2, size=0.7):
    return np.random.default_rng(seed).normal(size=(count, (classes - 1) * d)) * size


def objective(classes, theta_max=None, sigma=0.05, sizes=SIZES, d=D, seed=1):
    return LinearObjective(
        SoftmaxRecords(*data(classes, sizes, d, seed), SoftmaxLoss(classes)), sigma, theta_max
    )


@pytest.mark.oracle("largest gradient over a domain")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_bound_of_a_domain_is_never_exceeded_and_is_all_but_reached(classes, norm):
    rng = np.random.default_rng(4)
    x, y = data(classes, (500,))
    row_norm = float(np.linalg.norm(x[0], ord=ORDER[norm], axis=1).max())
    bound = Softmax(regularisation=1.0, classes=classes).gradient_bound(row_norm, 1.0, D, norm)
    here = SoftmaxRecords(x, y, SoftmaxLoss(classes), None, norm)
    assert here.gradient_bound(None) == pytest.approx(bound)
    worst = largest(here, 0, rng.normal(size=(400, (classes - 1) * D)) * 30)
    assert 0.9 * bound < worst <= bound


@OPTIMUM
@pytest.mark.parametrize("theta_max", [None, 0.3, 0.05])
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_the_optimum_agrees_with_another_solver(classes, theta_max):
    """Whose own slope is checked: no coordinate leads downwards within the box."""
    here = objective(classes, theta_max, sizes=(60, 30))
    x, y = np.concatenate(here.rows.features), np.concatenate(here.rows.targets)
    spelled, count = of_classes(classes), (classes - 1) * D

    def fitness(theta):
        total = np.zeros(count)
        value = 0.0
        for row, target in zip(x, y, strict=True):
            one, slope = spelled(row, target, theta)
            value, total = value + one, total + slope
        return 0.05 / 2 * theta @ theta + value / len(y), 0.05 * theta + total / len(y)

    box = None if theta_max is None else [(-theta_max, theta_max)] * count
    aims = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    found = minimize(
        fitness, np.zeros(count), jac=True, bounds=box, method="L-BFGS-B", options=aims
    )
    left = found.x - fitness(found.x)[1]
    bound = np.inf if theta_max is None else theta_max
    assert np.abs(np.clip(left, -bound, bound) - found.x).max() < 1e-5
    assert np.allclose(here.optimum, found.x, atol=1e-4)
    assert float(here.fitness(here.optimum)) <= found.fun * (1 + 1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_excess_is_the_difference_of_fitness_and_keeps_its_digits_near_the_optimum(classes):
    here = objective(classes)
    for theta in models(4, classes, size=3.0):
        told = float(here.fitness(theta) - here.least)
        assert float(here.excess(theta)) == pytest.approx(told, rel=1e-9)
    away = models(1, classes)[0]
    near = [float(here.excess(here.optimum + 10.0**-k * away)) * 10.0 ** (2 * k) for k in (3, 5, 7)]
    assert np.allclose(near, near[-1], rtol=1e-2)
    assert float(here.excess(here.optimum + 1e3 * away)) > 0
    several = np.stack([here.optimum + size * away for size in (1e-5, 1.0, 1e3)])
    assert here.excess(several).tolist() == [float(here.excess(each)) for each in several]


@OPTIMUM
@pytest.mark.parametrize("clip", [None, 0.4])
def test_two_classes_are_logistic_regression_of_the_first(clip):
    """θ is that of the first class: logistic regression's is its opposite."""
    x, y = data(2)
    two, one = Softmax(regularisation=0.1, classes=2), Logistic(regularisation=0.1)
    assert np.allclose(two.objective(x, y).optimum, -one.objective(x, y).optimum, rtol=1e-7)
    assert isinstance(one.objective(x, y), LinearObjective)
    assert isinstance(one.phi, LogisticLoss)
    points, owners = models(3, 2), np.array([0, 1, 2])
    found = two.records(x, y, clip, "l1").gradient(owners, points)
    assert np.allclose(found, -one.records(x, y, clip, "l1").gradient(owners, -points), rtol=1e-12)
    assert two.gradient_bound(3.0, 1.0, D, "l1") == one.gradient_bound(3.0, 1.0, D, "l1")


def test_the_optimum_of_records_of_one_class_is_found():
    """Scores are far apart there and losses small: a difference of scores has lost their digits."""
    x = np.random.default_rng(1).normal(size=(40, 6, D))
    for rows in x:
        here = Softmax(regularisation=1e-3, classes=3).objective([rows], [np.ones(6)])
        assert here.rows.loss.value(np.array([[40.0, 1.0]]), np.ones(1))[0] == pytest.approx(
            np.log1p(np.exp(-39.0) + np.exp(-40.0)), rel=1e-12, abs=0
        )
        assert np.isfinite(here.optimum).all()


@pytest.mark.parametrize("seed", [3, 13, 26, 55])
def test_the_optimum_of_few_records_of_large_numbers_is_found(seed):
    """Classes are all but certain there, so that p_y − 1 has few digits."""
    rng = np.random.default_rng(seed)
    x = [np.column_stack([rng.normal(5e5, 2e5, 3), rng.normal(40, 10, 3), np.ones(3)])]
    two, three = [np.array([-1.0, 1.0, -1.0])], [np.array([1.0, 2.0, 3.0])]
    least = Logistic(regularisation=1e-3).objective(x, two).least
    found = Softmax(regularisation=1e-3, classes=2).objective(x, two).least
    assert found == pytest.approx(least, rel=1e-9)
    fit = Softmax(regularisation=1e-3, classes=3).objective(x, three)
    assert (fit.excess(fit.optimum * np.array([[0.999], [1.001]])) > 0).all()


def test_a_record_without_a_label_contributes_nothing():
    loss = SoftmaxLoss(3)
    z, y = np.random.default_rng(1).normal(size=(4, 2)), np.array([0.0, 1.0, 2.0, 3.0])
    assert loss.value(z, y)[0] == 0
    assert (loss.slope(z, y)[0] == 0).all()
    assert (loss.value(z, y)[1:] > 0).all()
    assert (np.abs(loss.slope(z, y)[1:]).sum(axis=1) > 0).all()


# The bound on softmax's curvature is above the curvature of every model, and is reached.


@pytest.mark.parametrize("classes", [3, 4, 6])
def test_no_model_has_more(classes):
    """A mutant lived whose bound was a quarter of what it is."""
    rng = np.random.default_rng(classes)
    loss, x = SoftmaxLoss(classes), rng.normal(size=(30, 3))
    y = rng.integers(1, classes + 1, size=30).astype(float)
    most = 0.0
    for scale in (0.0, 1.0, 30.0):
        z = rng.normal(size=(30, classes - 1)) * scale
        if scale == 30.0:  # two classes share all chances
            z[:, :2], z[:, 2:] = scale, -scale
        here, bound = loss.curvatures(x, z, y)
        assert np.linalg.eigvalsh(bound - here).min() > -1e-9
        most = max(most, np.linalg.eigvalsh(here).max() / np.linalg.eigvalsh(bound).max())
    assert most == pytest.approx(1.0, abs=1e-6)
