"""The papers' bounds, equation by equation, and synchronous descent."""

from math import sqrt

import numpy as np
import pytest

from analysis.exact.synchronous import moments
from asyncdp_sim.learning.algorithms import Collab1, Collab2, ParameterServer
from tests.theory.async_as_printed import as_printed
from tests.theory.bounds import GeometricBound, along, step_sizes, with_transient
from tests.together import together
from tests.verification.gossip_cases import correlated

# The papers' bounds, equation by equation; that they hold is in tests/verification.

UNEQUAL = np.array([0.5, 0.3, 0.2])


def near(found, expected, rel=1e-12):
    return found == pytest.approx(expected, rel=rel)


class TestGeometricBound:
    @pytest.mark.parametrize("factor", [0.0, 0.3, 1 - 1e-9, 1.0])
    def test_it_is_the_recursion(self, factor):
        bound, value = GeometricBound(5.0, factor, 0.25), 5.0
        for k in range(20):
            assert near(bound.after(k), value)
            value = factor * value + 0.25


class TestWithTransient:
    def test_the_proofs_case_is_equations_10_to_12(self):
        n, sigma, c, nu = 4, 0.5, 3.0, np.array([0.0, 1.0, 2.0, 5.0])
        steps = step_sizes(n, sigma, rho=2.0, updates=10)
        found = with_transient(steps, nu**2, gradient_bound=c, diameter=8.0, start=1.0)
        alpha, lam = 2 / 100, 1 - 1 / (2 * n)
        inner = 1 + n * np.sum((1 + nu / c) ** 2)
        ten = alpha**2 * c**2 / sigma**2 * inner
        eleven = 2 * n * alpha**2 * c**2 * sqrt(n + 1) * sqrt(inner) / sigma**2
        assert near(found.push, ten + eleven / (1 - sqrt(lam)))
        assert near(1 - found.factor, alpha / n, 1e-9)

    def test_its_limit_is_the_printed_bound(self):
        """With Ξ_g = 0 and one parameter, where neither noise nor C is rounded up."""
        n, xi, updates, records, budgets = 3, 2.0, 50, 100, np.array([0.5, 1.0, 4.0])
        steps = step_sizes(n, 0.3, rho=2.0, updates=updates)
        nu = 2 * sqrt(2) * xi * updates / (records * budgets)
        found = with_transient(steps, nu**2, gradient_bound=xi, diameter=8.0, start=1.0)
        numbers = {"gradient_bound": xi, "sigma": 0.3, "rho": 2.0, "updates": updates}
        assert near(found.limit, as_printed(records, budgets, **numbers), 1e-9)

    def test_mismatch_of_steps_is_equation_8(self):
        n, c, diam = 3, 2.0, 5.0
        steps = step_sizes(n, 1.0, rho=0.3, updates=1, central_step="text", probability=UNEQUAL)
        alpha = 0.3
        curved = [alpha * (n - 1) / n, alpha / 2]
        rates = [2 * alpha * (n - 1) / n, *(n * alpha * UNEQUAL)]
        moved = c**2 * (steps.central**2 + UNEQUAL @ steps.own**2)
        net = sqrt(n + 1) * sqrt(moved) / (1 - sqrt(steps.contraction))
        mismatch = 2 * (n + 1) * (1 - 0.2) * np.ptp(curved) * diam**2
        mismatch += 2 * (n + 1) * np.ptp(rates) * c * diam
        found = with_transient(steps, np.zeros(n), gradient_bound=c, diameter=diam, start=0.0)
        assert near(found.push, mismatch + moved + 2 * n * alpha * c * net)
        assert near(found.factor, 1 - 2 * 0.2 * alpha / 2)

    def test_models_that_start_apart(self):
        steps = step_sizes(2, 1.0, rho=0.1, updates=1)
        given = {"gradient_bound": 1.0, "diameter": 1.0, "start": 1.0}
        alike = with_transient(steps, np.zeros(2), **given)
        assert with_transient(steps, np.zeros(2), **given, spread=1e-9) == alike
        apart = with_transient(steps, np.zeros(2), **given, spread=1e6)
        assert near(apart.push - alike.push, 2 * 0.2 * sqrt(3) * 1e3, 0.01)


def test_the_printed_right_side_by_hand():
    budgets = [0.5, 2.0]
    term = 0.01 + 2 * ((0.1 + 2 * sqrt(2) / 50) ** 2 + (0.1 + 2 * sqrt(2) / 200) ** 2)
    first = 2 / 10 * 2 * 4 * 9 * sqrt(3) / (0.25 * (1 - sqrt(1 - 1 / 4)))
    second = 2 * 2 * 9 / 0.25
    found = as_printed(100, budgets, gradient_bound=3.0, sigma=0.5, rho=2.0, updates=10)
    assert near(found, first * sqrt(term) + second * term)


class TestCollab:
    @pytest.mark.parametrize("rho", [0.1, 30.0])
    def test_one_parameter_is_exact(self, rho):
        """Where L = λ nothing is lost, not with steps too long either."""
        updates, curve, noise, second, exact = 6, 1.5, 0.3, 4.0, []
        for k in range(1, updates + 2):
            exact.append(curve / 2 * second)
            step = rho / updates**2 / k
            second = (1 - step * curve) ** 2 * second + step**2 * noise
        steps = rho / updates**2 / np.arange(1, updates + 1)
        given = {"convexity": curve, "smoothness": curve, "start": exact[0]}
        assert near(along(steps, noise, **given), np.array(exact))


P, T = 3, 12
FIT = correlated(5, 40, P, 0.1, 3)
HESSIAN, OPTIMUM = FIT.hessian, FIT.free_optimum
SCHEDULES = {
    "collab-1": Collab1(rho=1.0).schedule(100.0, T),
    "collab-2": Collab2(step=1.0).schedule(0.3, T),
    "server": ParameterServer(step=1.0, exponent=0.5).schedule(0.2, T),
}


def in_full(name, variance, noise, initial):
    """Yield mean and second moment of the deviations of (θ, θ̄), by the algorithms as printed."""
    one, nothing = np.eye(P), np.zeros((P, P))
    start = {"ones": 1.0, "uniform": 0.5}[initial] - OPTIMUM
    mean = np.tile(start, 2)
    scatter = one / 12 if initial == "uniform" else nothing
    second = np.outer(mean, mean) + np.tile(scatter, (2, 2))
    form = one if noise == "vector" else np.ones((P, P))
    yield mean, second
    for k in range(1, T + 1):
        sizes = {"collab-1": 100.0 / (T**2 * k), "collab-2": 0.3 / k**0.5, "server": 0.2 / k**0.5}
        size, old = sizes[name], (k - 1) / (1 / T**0.5 + k)
        new = (1 / T**0.5 + 1) / (1 / T**0.5 + k)
        step = one - 2 * size * HESSIAN
        turn = np.block([[step, nothing], [new * one, old * one]])
        mean = turn @ mean
        second = turn @ second @ turn.T
        second[:P, :P] += size**2 * variance * form
        yield mean, second


@together
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("noise", ["vector", "scalar-as-published"])
@pytest.mark.parametrize("initial", ["ones", "uniform"])
def test_directions_on_their_own_are_the_recursion_of_full_matrices(name, noise, initial):
    found = moments(HESSIAN, OPTIMUM, SCHEDULES[name], 0.7, noise=noise, initial=initial)
    shown = slice(P, None) if name == "collab-2" else slice(P)
    for k, (mean, second) in enumerate(in_full(name, 0.7, noise, initial)):
        for told, part in ((found.model, slice(P)), (found.judged, shown)):
            bias = told.mean[k] - OPTIMUM
            np.testing.assert_allclose(bias, mean[part], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(told.second[k], second[part, part], rtol=1e-9, atol=1e-12)
    assert found.sound


def test_an_average_without_digits_is_unsound():
    long, last = Collab2(step=1.0).schedule(2.0, 100), ParameterServer(step=1.0).schedule(0.01, 100)
    assert not moments(HESSIAN, OPTIMUM, long, 1.0).sound
    assert moments(HESSIAN, OPTIMUM, last, 1.0).sound


def margins(seed, slack):
    """Return bound/exact of E f − f* at every k of a random problem, of all three algorithms."""
    g = np.random.default_rng(seed)
    p, updates = int(g.integers(1, 5)), int(g.integers(2, 40))
    root = g.normal(size=(p, p))
    hessian = root @ root.T + 10 ** g.uniform(-3, 0) * np.eye(p)
    optimum, variance = g.normal(size=p), 10 ** g.uniform(-4, 1)
    values = np.linalg.eigvalsh(hessian)
    first = g.uniform(0.02, 1.5) / values[-1]
    schedules = (
        Collab1(rho=1.0).schedule(first * updates**2, updates),
        Collab2(step=1.0).schedule(first, updates),
        ParameterServer(step=1.0, exponent=g.uniform(0, 1)).schedule(first, updates),
    )
    for schedule in schedules:
        exact = moments(hessian, optimum, schedule, variance).judged.expected_excess()
        curves = {"convexity": 2 * values[0], "smoothness": 2 * values[-1]}
        how = {"start": exact[0], "kept": schedule.kept}
        yield along(schedule.sizes, slack * p * variance, **curves, **how) / exact


def test_the_bound_holds_along_any_steps_and_for_averages_and_not_with_half_the_noise():
    right, half = (
        np.concatenate([np.concatenate(list(margins(seed, noise))) for seed in range(40)])
        for noise in (1.0, 0.5)
    )
    assert right.min() >= 1 - 1e-9
    assert half.min() < 0.9
