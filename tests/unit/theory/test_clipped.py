import numpy as np
import pytest
from scipy.special import roots_hermitenorm

from asyncdp_sim.forecasts.exact.equal_sizes import Course, one_size
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.theory.moments.clipped import ClippedCourse


def records(clip, n=300, p=2):
    g = np.random.default_rng(3)
    x = g.normal(size=(n, p)) @ np.array([[1.0, 0.4], [0.0, 0.7]])
    y = x @ np.array([1.0, -0.5]) + 0.5 * g.normal(size=n)
    return LinearRecords([x], [y], clip), Quadratic.from_records([x], [y], 0.1, None)


@pytest.mark.parametrize("central_step", ["proof", "text"])
@pytest.mark.parametrize("noise", ["vector", "scalar-as-published"])
@pytest.mark.parametrize("initial", ["zeros", "uniform"])
def test_without_clipping_they_are_the_exact_moments(central_step, noise, initial):
    rows, objective = records(1e9)
    how = {"central_step": central_step, "noise": noise, "initial": initial}
    found = ClippedCourse.of(objective, rows, **how)
    rho, members = np.array([10.0, 2.0, 30.0]), np.array([3, 1, 5])
    free, gain = one_size(Course.of(objective, updates=37, **how), rho, members)
    psi = found.expected_psi(rho, members, 37, np.full(3, 0.7))
    np.testing.assert_allclose(psi, free + 0.7 * gain, rtol=1e-10)


def test_the_linear_stand_in_is_the_best_one_for_a_normal_model():
    rows, objective = records(0.8)
    found = ClippedCourse.of(objective, rows)
    mean = np.array([0.7, 0.1])
    root = np.array([[0.5, 0.0], [0.2, 0.3]])
    slope, offset = found.linearised(mean[None], (root @ root.T)[None])
    nodes, weights = roots_hermitenorm(60)
    weights = np.outer(weights, weights).ravel() / (2 * np.pi)
    z = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1).reshape(-1, 2)
    points = mean + z @ root.T
    clipped = rows.gradient(np.zeros(len(points), dtype=int), points)
    expected = weights @ clipped
    cross = np.einsum("m,mp,mq->pq", weights, clipped - expected, points - mean)
    np.testing.assert_allclose(slope[0] @ mean + offset[0], expected, atol=2e-3)
    np.testing.assert_allclose(slope[0], cross @ np.linalg.inv(root @ root.T), atol=1e-2)
    unclipped = 2 * objective.gram[0]
    assert np.abs(slope[0] - unclipped).max() > 0.2  # clipping acts


@pytest.mark.parametrize(("clip", "off"), [(0.05, 0.3), (0.8, 0.2), (20.0, 0.01)])
def test_some_of_the_records_tell_what_all_do(clip, off):
    rows, objective = records(clip, n=20_000)
    mean, covariance = np.array([[0.2, 0.1]]), 0.01 * np.eye(2)[None]
    slope, offset = ClippedCourse.of(objective, rows, rows=500).linearised(mean, covariance)
    all_slope, all_offset = ClippedCourse.of(objective, rows, rows=20_000).linearised(
        mean, covariance
    )
    some, every = slope[0] @ mean[0] + offset[0], all_slope[0] @ mean[0] + all_offset[0]
    assert np.abs(some - every).max() <= off * np.abs(every).max()


def test_a_learning_that_diverges_costs_infinitely_much():
    rows, objective = records(None)
    found = ClippedCourse.of(objective, rows)
    psi = found.expected_psi(np.array([1e9, 5.0]), np.array([2, 2]), 400, np.zeros(2))
    assert np.isinf(psi[0])
    assert np.isfinite(psi[1])
