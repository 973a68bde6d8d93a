"""θ* of every model: optimality conditions, independent solvers, and f(θ) − f(θ*) beside it."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic, Squared
from asyncdp_sim.learning.objectives.losses import Hinge, LogisticLoss
from asyncdp_sim.learning.objectives.minimisers import LARGEST_GAP, duality_gap
from asyncdp_sim.learning.objectives.models import LinearObjective
from tests.huber import HuberLoss
from tests.together import together
from tests.unit.learning.problems import name, records, slope_of

ORACLE = pytest.mark.oracle("optimum of a loss over records")


class Moments(Squared):
    """The squared loss by second moments of the records."""


SIZES = (40, 7, 23)
SMOOTH = [Squared(), Moments(), LogisticLoss(), HuberLoss(0.4), HuberLoss(1e-3)]
LOSSES = [*SMOOTH, Hinge()]
BOXES = [None, 100.0, 0.3, 0.05]


def linear(x, y, loss, sigma, theta_max):
    return LinearObjective(LinearRecords(x, y, loss=loss), sigma, theta_max)


def data(loss, seed=1, p=4, sizes=SIZES):
    x, y = records(seed, sizes, p)
    if loss.classifies:
        rng = np.random.default_rng(seed)
        y = [np.where(t + 2 * rng.normal(size=len(t)) < 0, -1.0, 1.0) for t in y]
    return x, y


def problem(loss, sigma=0.3, theta_max=None, **of):
    x, y = data(loss, **of)
    if isinstance(loss, Moments):
        return Quadratic.from_records(x, y, sigma, theta_max)
    return linear(x, y, loss, sigma, theta_max)


def fitness(loss, theta, sigma=0.3, **of):
    """f(θ), summed over records one by one."""
    x, y = map(np.concatenate, data(loss, **of))
    z = [np.array([sum(theta * row)]) for row in x]
    each = [float(loss.value(a, np.array([b]))[0]) for a, b in zip(z, y, strict=True)]
    return sigma / 2 * float(theta @ theta) + sum(each) / len(y)


@together
@pytest.mark.parametrize("theta_max", BOXES)
@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_no_feasible_direction_descends_from_a_smooth_optimum(loss, theta_max):
    active = 0
    for seed in range(5):
        objective = problem(loss, seed=seed, theta_max=theta_max)
        best = objective.optimum
        bound = np.inf if theta_max is None else theta_max
        assert np.abs(best).max() <= bound
        slope = slope_of(objective, best)
        assert np.abs(np.clip(best - slope, -bound, bound) - best).max() < 1e-12
        edge = bound * (1 - 1e-9) if isinstance(loss, Moments) else bound
        active += np.abs(best).max() >= edge
    if theta_max != 0.3:
        assert active == (5 if theta_max == 0.05 and getattr(loss, "delta", 1) > 0.01 else 0)


@ORACLE
@pytest.mark.parametrize("theta_max", [None, 0.3])
@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_a_smooth_optimum_agrees_with_another_solver(loss, theta_max):
    objective = problem(loss, theta_max=theta_max)
    bounds = None if theta_max is None else [(-theta_max, theta_max)] * 4
    found = minimize(
        lambda t: fitness(loss, t), objective.optimum + 0.01, method="L-BFGS-B", bounds=bounds
    )
    assert objective.least <= found.fun * (1 + 1e-12)
    assert objective.least == pytest.approx(found.fun, rel=1e-5)
    assert np.allclose(objective.optimum, found.x, atol=3e-3)


@pytest.mark.parametrize("theta_max", BOXES)
def test_the_duality_gap_of_an_svm_closes(theta_max):
    for seed in range(5):
        how = {"seed": seed, "sigma": [0.3, 1e-5][seed % 2]}
        objective = problem(Hinge(), theta_max=theta_max, **how)
        x, y = np.concatenate(objective.rows.features), np.concatenate(objective.rows.targets)
        fit = objective._fit
        alpha = -y * fit.slopes
        assert np.all((alpha >= 0) & (alpha <= 1))
        assert np.abs(fit.theta).max() <= (theta_max or np.inf)
        value, gap = duality_gap(fit, x, y, objective.sigma, theta_max)
        assert value == pytest.approx(fitness(Hinge(), fit.theta, **how), rel=1e-12)
        assert abs(gap) <= 1e-10 * value < LARGEST_GAP * value
        margins = y * (x @ fit.theta)
        assert np.all(alpha[margins > 1 + 1e-5] < 1e-5)  # complementary slackness
        assert np.all(alpha[margins < 1 - 1e-5] > 1 - 1e-5)


def test_the_gap_of_any_dual_point_is_an_upper_bound_and_tells_a_bad_point():
    objective = problem(Hinge(), theta_max=0.3)
    x, y = np.concatenate(objective.rows.features), np.concatenate(objective.rows.targets)
    rng = np.random.default_rng(2)
    for _ in range(20):
        theta, alpha = rng.uniform(-0.3, 0.3, 4), rng.random(len(y))
        fit = type(objective._fit)(theta, -y * alpha)
        value, gap = duality_gap(fit, x, y, 0.3, 0.3)
        assert gap >= value - objective.least > 0


@ORACLE
@pytest.mark.parametrize("theta_max", [None, 0.3])
def test_an_svm_agrees_with_a_general_solver_of_the_quadratic_program(theta_max):
    """Variables θ and ξ, ξ ≥ 0, ξ + yθᵀx ≥ 1."""
    objective = problem(Hinge(), sizes=(12, 8), theta_max=theta_max)
    x, y = np.concatenate(objective.rows.features), np.concatenate(objective.rows.targets)
    n, p = x.shape
    box = (None, None) if theta_max is None else (-theta_max, theta_max)
    found = minimize(
        lambda v: 0.15 * v[:p] @ v[:p] + v[p:].mean(),
        np.concatenate([np.zeros(p), np.ones(n)]),
        jac=lambda v: np.concatenate([0.3 * v[:p], np.full(n, 1 / n)]),
        method="SLSQP",
        bounds=[box] * p + [(0, None)] * n,
        constraints=[LinearConstraint(np.hstack([y[:, None] * x, np.eye(n)]), 1, np.inf)],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert found.success
    assert objective.least == pytest.approx(found.fun, rel=1e-7)
    assert np.allclose(objective.optimum, found.x[:p], atol=1e-4)


@together
@pytest.mark.parametrize("theta_max", BOXES)
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_excess_is_the_difference_of_fitness(loss, theta_max):
    objective = problem(loss, theta_max=theta_max)
    best = fitness(loss, objective.optimum)
    assert objective.least == pytest.approx(best, rel=1e-12)
    reach = 2.0 if theta_max is None else theta_max
    points = np.random.default_rng(3).uniform(-reach, reach, size=(6, 2, 4))
    direct = np.array([[fitness(loss, t) for t in row] for row in points]) - best
    found = objective.excess(points)
    assert np.all(found > 0)
    assert np.allclose(found, direct, rtol=1e-9, atol=1e-13)
    assert np.allclose(objective.fitness(points), best + direct, rtol=1e-12)
    if isinstance(loss, Moments):
        assert np.allclose(objective.relative_fitness(points), direct / best, rtol=1e-9)
    assert abs(objective.excess(objective.optimum)) < 1e-12 * best


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_excess_keeps_its_digits_close_to_the_optimum(loss):
    """At least (σ/2)‖δ‖², and quadratic in δ where f is smooth: subtraction would lose this."""
    objective = problem(loss)
    direction = np.array([1.0, -0.5, 2.0, 0.3])
    steps = [1e-7, 1e-6, 1e-5]
    found = [float(objective.excess(objective.optimum + s * direction)) for s in steps]
    for step, excess in zip(steps, found, strict=True):
        assert excess >= 0.15 * step**2 * float(direction @ direction) * (1 - 1e-6)
    if not isinstance(loss, Hinge):
        assert objective.excess(objective.optimum) == 0
        for small, large in pairwise(found):
            assert large / small == pytest.approx(100, rel=1e-3)


@pytest.mark.oracle("gradient, fitness and optimum from second moments")
@pytest.mark.parametrize("theta_max", BOXES)
def test_the_squared_loss_from_records_is_the_ridge_objective_from_moments(theta_max):
    """Two ways to one objective, with no line in common."""
    linear = problem(Squared(), theta_max=theta_max)
    moments = Quadratic.from_records(linear.rows.features, linear.rows.targets, 0.3, theta_max)
    points = np.random.default_rng(3).normal(size=(5, 4)) * 0.1
    assert np.allclose(linear.optimum, moments.optimum, rtol=1e-9, atol=1e-9)
    assert linear.least == pytest.approx(moments.least, rel=1e-12)
    assert np.allclose(linear.excess(points), moments.excess(points), rtol=1e-9)
    assert linear.smoothness == pytest.approx(moments.smoothness, rel=1e-12)
    owners = np.array([0, 1, 2, 1, 0])
    assert np.allclose(linear.gradient(owners, points), moments.gradient(owners, points))


def test_two_records_by_hand():
    """x = ±1 with labels ±1: f = (σ/2)θ² + φ(θ) with both margins equal to θ."""
    x, y = [np.array([[1.0]]), np.array([[-1.0]])], [np.ones(1), -np.ones(1)]
    for sigma, best in [(2.0, 0.5), (0.5, 1.0)]:  # 1/σ, or the margin 1 where that is smaller
        svm = linear(x, y, Hinge(), sigma, None)
        assert svm.optimum == pytest.approx([best], rel=1e-9)
        assert svm.least == pytest.approx(sigma / 2 * best**2 + max(0, 1 - best), rel=1e-9)
    boxed = linear(x, y, Hinge(), 0.5, 0.25)
    assert boxed.optimum.tolist() == [0.25]
    assert boxed.least == pytest.approx(0.25 * 0.0625 + 0.75)
    sigma = 0.25 / np.log(3)  # σθ = 1/(1 + e^θ) at θ = ln 3
    logistic = linear(x, y, LogisticLoss(), sigma, None)
    assert logistic.optimum == pytest.approx([np.log(3)])
    assert logistic.least == pytest.approx(sigma / 2 * np.log(3) ** 2 + np.log(4 / 3))
    # targets 1 and 5 at x = 1, δ = 1, σ = 1: (θ − 1 − 1)/2 + θ = 0 at θ = 2/3
    x, y = [np.ones((2, 1))], [np.array([1.0, 5.0])]
    huber = linear(x, y, HuberLoss(1.0), 1.0, None)
    assert huber.optimum == pytest.approx([2 / 3])
    assert huber.least == pytest.approx(2 / 9 + (1 / 18 + (13 / 3 - 1 / 2)) / 2)


def test_points_of_a_curve_are_judged_together():
    """Many owners of few records: a call for each point and owner would take minutes."""
    calls = []

    class Counting(LogisticLoss):
        def above_tangent(self, step, z, y, slope):
            calls.append(step.shape)
            return super().above_tangent(step, z, y, slope)

    objective = problem(Counting())
    assert np.all(objective.excess(np.random.default_rng(3).normal(size=(200, 4))) > 0)
    assert calls == [(200, size) for size in SIZES]


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_scales_of_features_do_no_harm(loss):
    """Columns from 1 to 10⁶, as tables have them, with the papers' σ."""
    x, y = records(3, (300,), 5)
    scale = np.geomspace(1, 1e6, 5)
    y = [np.where(y[0] < 0, -1.0, 1.0)] if loss.classifies else y
    wide = linear([x[0] * scale], y, loss, 1e-5, 1e5)
    narrow = linear(x, y, loss, 1e-5, 1e5)
    bare = linear(x, y, loss, 1e-9, 1e5)
    # the regulariser costs the less the larger the features
    assert bare.least * (1 - 1e-9) <= wide.least <= narrow.least * (1 + 1e-9)


def test_an_optimum_that_is_not_found_is_refused(monkeypatch):
    for most, loss in [("_ITERATIONS", LogisticLoss()), ("_INTERIOR_ITERATIONS", Hinge())]:
        monkeypatch.setattr(f"asyncdp_sim.learning.objectives.minimisers.{most}", 2)
        objective = problem(loss, sigma=1e-3)
        with pytest.raises(DataError) as caught:
            objective.optimum  # noqa: B018
        assert "model.regularisation: given σ = 0.001" in str(caught.value)


def test_records_fitted_without_any_loss_are_refused():
    nothing = [np.ones((3, 1))], [np.zeros(3)]
    moments = Quadratic.from_records(*nothing, 0.1, None)
    for objective in (linear(*nothing, HuberLoss(1.0), 0.1, None), moments):
        with pytest.raises(DataError, match="needs f"):
            objective.least  # noqa: B018


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_smoothness_bounds_the_change_of_the_gradient(loss):
    objective = problem(loss)
    rng = np.random.default_rng(8)
    for _ in range(30):
        one, two = rng.normal(size=4), rng.normal(size=4) * 0.1
        change = slope_of(objective, one + two) - slope_of(objective, one)
        assert np.linalg.norm(change) <= objective.smoothness * np.linalg.norm(two) * (1 + 1e-12)


def test_a_hinge_has_no_smoothness():
    assert problem(Hinge()).smoothness is None
