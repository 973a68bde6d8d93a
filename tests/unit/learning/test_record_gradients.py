"""Record gradients: clipping and measuring equal a loop over records."""

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import LinearRecords, Norm
from tests.unit.learning.problems import records

ORDER = {"l1": 1, "l2": 2}


def record_gradients(x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> list[np.ndarray]:
    return [-2 * (b - theta @ a) * a for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("clip", [0.01, 3.0, 30.0, 1e6])
def test_clipped_gradient_equals_a_loop_over_records(norm: Norm, clip: float) -> None:
    x, y = records(1, (50, 9), 4)
    x[0][3] = 0  # a record without features has no gradient to clip
    points = np.random.default_rng(2).normal(size=(4, 4))
    owners = np.array([0, 1, 1, 0])
    clipped = 0
    found = LinearRecords(x, y, clip, norm).gradient(owners, points)
    for row, (owner, theta) in enumerate(zip(owners, points, strict=True)):
        total = np.zeros(4)
        for gradient in record_gradients(x[owner], y[owner], theta):
            length = np.linalg.norm(gradient, ord=ORDER[norm])
            clipped += length > clip
            total += gradient * min(1, clip / length) if length > 0 else 0
        assert np.allclose(found[row], total / len(y[owner]), rtol=1e-12, atol=1e-12)
    assert (clipped > 0) == (clip < 1e6)
    assert clip > 0.01 or clipped > 100


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_replacing_one_record_moves_a_clipped_mean_by_at_most_twice_the_bound(norm: Norm) -> None:
    """The sensitivity 2C/n_i that the Laplace scale rests on."""
    rng = np.random.default_rng(3)
    x, y = records(4, (12,), 3)
    worst = 0.0
    for _ in range(300):
        other = [x[0].copy()], [y[0].copy()]
        row = rng.integers(12)
        other[0][0][row] = rng.normal(size=3) * 10 ** rng.uniform(-2, 3)
        other[1][0][row] = rng.normal() * 10 ** rng.uniform(-2, 3)
        point = rng.normal(size=(1, 3))
        owner = np.array([0])
        one = LinearRecords(x, y, 2.0, norm).gradient(owner, point)[0]
        two = LinearRecords(*other, 2.0, norm).gradient(owner, point)[0]
        worst = max(worst, float(np.linalg.norm(one - two, ord=ORDER[norm])))
    assert 2.0 / 12 < worst <= 2 * 2.0 / 12 * (1 + 1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_largest_gradient_equals_brute_force(norm: Norm) -> None:
    x, y = records(5, (30, 4, 11), 3)
    models = np.random.default_rng(6).normal(size=(5, 3))
    found = LinearRecords(x, y, 0.5, norm).largest_gradient(models)  # measured before clipping
    slow = [
        max(
            np.linalg.norm(gradient, ord=ORDER[norm])
            for theta in models
            for gradient in record_gradients(rows, targets, theta)
        )
        for rows, targets in zip(x, y, strict=True)
    ]
    assert np.allclose(found, slow, rtol=1e-12)


@pytest.mark.parametrize(
    ("count", "row"),
    [(10_000, 0), (10_000, 8191), (10_000, 8192), (10_000, 9999), (8193, 8192), (1, 0)],
)
def test_largest_gradient_looks_at_every_record(count: int, row: int) -> None:
    """One outlier, wherever it lies among many records."""
    x, y = records(7, (count,), 2)
    x[0][row] = 1000
    theta = np.array([[1.0, -2.0], [0.0, 0.0]])
    slow = max(np.abs(-2 * (y[0][row] - t @ x[0][row]) * x[0][row]).sum() for t in theta)
    assert LinearRecords(x, y).largest_gradient(theta)[0] == pytest.approx(slow, rel=1e-12)
