"""The ridge objective: second moments say exactly what the records say."""

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic, constants
from tests.unit.learning.problems import objective, records

ORACLE = pytest.mark.oracle("gradient, fitness and optimum from second moments")

SIZES = (40, 7, 23)


@pytest.fixture(params=[1, 5, 70], ids=lambda p: f"p={p}")
def p(request: pytest.FixtureRequest) -> int:
    return request.param


@ORACLE
def test_gradient_from_moments_equals_the_gradient_from_records(p: int) -> None:
    x, y = records(1, SIZES, p)
    points = np.random.default_rng(2).normal(size=(6, p))
    owners = np.array([0, 1, 2, 2, 1, 0])
    quadratic = Quadratic.from_records(x, y, 0.1, None)
    fast, slow = quadratic.gradient(owners, points), LinearRecords(x, y).gradient(owners, points)
    assert fast.shape == (6, p)
    assert np.abs(fast - slow).max() < 1e-9 * np.abs(slow).max()


@pytest.mark.parametrize("p", [1, 2, 3, 4, 7, 8, 10, 16, 33, 63, 64])
def test_gradient_adds_up_in_a_stated_order(p: int) -> None:
    """Bit for bit the loop over j = 1, 2, …, for any number of rows."""
    rng = np.random.default_rng(p)
    gram, moment = rng.normal(size=(3, p, p)), rng.normal(size=(3, p))
    quadratic = Quadratic(gram, moment, np.ones(3), np.ones(3, dtype=np.int64), 0.1, None)
    for rows in (1, 2, 3, 33, 100):
        owners, points = rng.integers(3, size=rows), rng.normal(size=(rows, p))
        expected = np.empty((rows, p))
        for r, (i, point) in enumerate(zip(owners, points, strict=True)):
            for a in range(p):
                total = gram[i, 0, a] * point[0]
                for j in range(1, p):
                    total = total + gram[i, j, a] * point[j]
                expected[r, a] = (total - moment[i, a]) * 2
        assert quadratic.gradient(owners, points).tobytes() == expected.tobytes()


@pytest.mark.parametrize("theta_max", [None, 100.0, 0.5, 0.05])
def test_fitness_equals_the_direct_sum_over_records(theta_max: float | None) -> None:
    """Also where the box is active at the optimum."""
    for seed in range(5):
        x, y = records(seed, SIZES, 4)
        quadratic = Quadratic.from_records(x, y, 0.3, theta_max)
        reach = 1.0 if theta_max is None else theta_max
        points = np.random.default_rng(seed).uniform(-reach, reach, size=(8, 4))
        direct = np.array([objective(x, y, 0.3, t) for t in points])
        best = objective(x, y, 0.3, quadratic.optimum)
        assert quadratic.least == pytest.approx(best, rel=1e-10)
        assert np.allclose(quadratic.fitness(points), direct, rtol=1e-9)
        assert np.allclose(quadratic.excess(points), direct - best, rtol=1e-7, atol=1e-9)
        assert np.allclose(quadratic.relative_fitness(points), direct / best - 1, rtol=1e-7)


@ORACLE
@pytest.mark.parametrize("theta_max", [None, 100.0, 0.5, 0.05])
def test_optimum_satisfies_the_optimality_conditions(theta_max: float | None) -> None:
    active = 0
    for seed in range(10):
        x, y = records(seed, SIZES, 4)
        quadratic = Quadratic.from_records(x, y, 0.3, theta_max)
        best = quadratic.optimum
        slope = 2 * (quadratic.hessian @ best - quadratic.linear)
        bound = np.inf if theta_max is None else theta_max
        assert np.abs(best).max() <= bound
        # Projected gradient: no feasible direction descends.
        assert np.abs(np.clip(best - slope, -bound, bound) - best).max() < 1e-8
        active += np.abs(best).max() > bound * (1 - 1e-9)
    assert active == (10 if theta_max in (0.5, 0.05) else 0)


def test_one_coordinate_on_the_boundary_of_an_active_box_by_hand() -> None:
    """f = (σ/2)θ² + (1 − θ)²: free optimum 1/(1 + σ/2); with θ_max = 1/2 it is 1/2."""
    quadratic = Quadratic.from_records([np.ones((1, 1))], [np.ones(1)], 0.5, 0.5)
    assert quadratic.optimum == pytest.approx([0.5])
    assert quadratic.least == pytest.approx(0.25 * 0.25 + 0.25)
    assert quadratic.excess(np.zeros(1)) == pytest.approx(1 - 0.3125)
    free = Quadratic.from_records([np.ones((1, 1))], [np.ones(1)], 0.5, None)
    assert free.optimum == pytest.approx([0.8])


def test_excess_is_exact_close_to_the_optimum() -> None:
    """f(θ) − f(θ*) by subtraction would lose all digits."""
    x, y = records(1, SIZES, 4)
    quadratic = Quadratic.from_records(x, y, 0.3, None)
    step = np.full(4, 1e-9)
    expected = step @ quadratic.hessian @ step
    assert quadratic.excess(quadratic.optimum + step) == pytest.approx(expected, rel=1e-6)
    assert quadratic.excess(quadratic.optimum) == 0


def test_the_bits_of_a_fitness_do_not_depend_on_how_many_are_asked_for() -> None:
    for p in (1, 5, 50, 130):
        x, y = records(1, SIZES, p)
        quadratic = Quadratic.from_records(x, y, 0.3, 0.5)
        points = np.random.default_rng(3).normal(size=(12, 3, p))
        together = quadratic.excess(points)
        alone = [[quadratic.excess(points[j, r]) for r in range(3)] for j in range(12)]
        assert np.array_equal(together, np.array(alone))


def test_records_fitted_without_any_loss_are_refused() -> None:
    zeros = Quadratic.from_records([np.ones((3, 1))], [np.zeros(3)], 0.1, None)
    with pytest.raises(DataError):
        zeros.least  # noqa: B018


def test_constants_equal_brute_force() -> None:
    x, y = records(5, SIZES, 3)
    quadratic = Quadratic.from_records(x, y, 0.3, 0.8)
    for norm, order in (("l1", 1), ("l2", 2)):
        found = constants(quadratic, LinearRecords(x, y, None, norm))
        corners = np.array(np.meshgrid(*[[-0.8, 0.8]] * 3)).reshape(3, -1).T
        largest = max(
            np.linalg.norm(-2 * (b - a @ t) * a, ord=order)
            for rows, targets in zip(x, y, strict=True)
            for a, b in zip(rows, targets, strict=True)
            for t in corners
        )
        assert found.xi == pytest.approx(largest)
    assert found.xi_g == pytest.approx(0.3 * np.linalg.norm([0.8] * 3))
    assert found.sigma == 0.3
    second = 0.3 * np.eye(3) + 2 / 70 * sum(a.T @ a for a in x)
    assert found.smoothness == pytest.approx(np.linalg.eigvalsh(second)[-1])
    free = constants(Quadratic.from_records(x, y, 0.3, None), LinearRecords(x, y))
    assert (free.xi, free.xi_g) == (None, None)
