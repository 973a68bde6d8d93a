"""Record gradients of every model: clipped, measured and bounded like a loop over records."""

from typing import ClassVar

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import (
    Hinge,
    HuberLoss,
    LinearKind,
    LinearRecords,
    LogisticLoss,
    Squared,
)
from asyncdp_sim.learning.objectives import constants as constants_of
from asyncdp_sim.learning.objectives.linear import LinearObjective
from asyncdp_sim.privacy import Domain
from tests.unit.learning.problems import records

GRADIENTS = pytest.mark.oracle(
    "gradients and optimum of a loss over records",
    "numeric slopes; loops over records; other solvers, the duality gap",
    source="calculus; scipy",
    setting="small random data",
    kinds="Logistic, SVM, Huber",
)

ORDER = {"l1": 1, "l2": 2}
LOSSES = [Squared(), LogisticLoss(), Hinge(), HuberLoss(0.7)]


def name(loss):
    return type(loss).__name__


def model(loss, box=None, *, constant=False):
    """A linear model of any loss, with or without an intercept."""

    class Any(LinearKind):
        augmented: ClassVar[bool] = constant
        phi = property(lambda self: loss)  # noqa: ARG005

    return Any(kind="any", regularisation=1.0, theta_max=box)


def data(loss, sizes=(50, 9), p=4):
    x, y = records(1, sizes, p)
    x[0][3] = 0  # a record without features has no gradient to clip
    return x, [np.where(t < 0, -1.0, 1.0) for t in y] if loss.classifies else y


def slope(loss, z, y):
    """φ' of one record, written out again."""
    if isinstance(loss, LogisticLoss):
        return -y / (1 + np.exp(y * z))
    if isinstance(loss, Hinge):
        return -y if y * z < 1 else 0.0
    return 2 * (z - y) if isinstance(loss, Squared) else max(-0.7, min(0.7, z - y))


@GRADIENTS
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("clip", [None, 0.01, 0.5, 1e6])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_clipped_gradient_equals_a_loop_over_records(loss, clip, norm):
    x, y = data(loss)
    points = np.random.default_rng(2).normal(size=(4, 4))
    owners = np.array([0, 1, 1, 0])
    found = LinearRecords(x, y, clip, norm, loss).gradient(owners, points)
    clipped = 0
    for row, (owner, theta) in enumerate(zip(owners, points, strict=True)):
        total = np.zeros(4)
        for a, b in zip(x[owner], y[owner], strict=True):
            gradient = slope(loss, theta @ a, b) * a
            length = np.linalg.norm(gradient, ord=ORDER[norm])
            over = clip is not None and length > clip
            clipped += over
            total += gradient * clip / length if over else gradient
        assert np.allclose(found[row], total / len(y[owner]), rtol=1e-12, atol=1e-13)
    assert (clipped > 0) == (clip in (0.01, 0.5))


@pytest.mark.oracle("how far a record moves an answer under clipping")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("loss", LOSSES[1:], ids=name)
def test_replacing_one_record_moves_a_clipped_mean_by_at_most_twice_the_bound(loss, norm):
    rng = np.random.default_rng(3)
    x, y = data(loss, (12,), 3)
    worst, owner = 0.0, np.array([0])
    for _ in range(300):
        other = [x[0].copy()], [y[0].copy()]
        row = rng.integers(12)
        other[0][0][row] = rng.normal(size=3) * 10 ** rng.uniform(-2, 3)
        other[1][0][row] = rng.choice([-1.0, 1.0]) * (1 if loss.classifies else 10)
        point = rng.normal(size=(1, 3))
        one = LinearRecords(x, y, 0.2, norm, loss).gradient(owner, point)[0]
        two = LinearRecords(*other, 0.2, norm, loss).gradient(owner, point)[0]
        worst = max(worst, float(np.linalg.norm(one - two, ord=ORDER[norm])))
    assert 0.2 / 12 < worst <= 2 * 0.2 / 12 * (1 + 1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_largest_gradient_equals_brute_force(loss, norm):
    x, y = data(loss, (30, 4, 11), 3)
    models = np.random.default_rng(6).normal(size=(5, 3))
    found = LinearRecords(x, y, 0.5, norm, loss).largest_gradient(models)  # before clipping
    for owner in range(3):
        each = [
            np.linalg.norm(slope(loss, t @ a, b) * a, ord=ORDER[norm])
            for t in models
            for a, b in zip(x[owner], y[owner], strict=True)
        ]
        assert found[owner] == pytest.approx(max(each), rel=1e-12)


@GRADIENTS
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_a_gradient_is_the_numeric_slope_of_the_owners_mean_loss(loss):
    x, y = data(loss)
    theta, step = np.random.default_rng(4).normal(size=4), 1e-6
    for owner in (0, 1):

        def mean(t, owner=owner):
            return loss.value(x[owner] @ t, y[owner]).mean()

        numeric = [(mean(theta + e) - mean(theta - e)) / (2 * step) for e in np.eye(4) * step]
        found = LinearRecords(x, y, loss=loss).gradient(np.array([owner]), theta[None])[0]
        assert np.allclose(found, numeric, atol=1e-7)


@pytest.mark.parametrize("norm", ["l1", "l2-as-published"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_bound_of_a_domain_is_never_exceeded_and_is_reached(loss, intercept, norm):
    """Also without a box where the loss has a bounded slope."""
    p, rng = 3, np.random.default_rng(7)
    domain = Domain(row_norm=1.5, target_max=2.0, norm=norm)
    box = 0.5 if isinstance(loss, Squared) else None
    bound = domain.xi(model(loss, box, constant=intercept), p)
    x = rng.normal(size=(4000, p)) * 3
    x[0] = 0 if norm == "l2-as-published" else [9, 0, 0]
    x[0] = [9.0] * 3 if norm == "l2-as-published" else x[0]
    y = np.where(rng.normal(size=4000) < 0, -1.0, 1.0) if loss.classifies else rng.normal(size=4000)
    y[0] = -1.0 if loss.classifies else -2.0
    [x], [y] = domain.confine([x], [y])
    x = np.column_stack([x, np.ones(4000)]) if intercept else x
    reach = 50.0 if box is None else box
    models = np.concatenate(
        [np.full((1, x.shape[1]), reach), rng.uniform(-reach, reach, (40, x.shape[1]))]
    )
    kind = "l1" if norm == "l1" else "l2"
    found = LinearRecords([x], [y], None, kind, loss).largest_gradient(models)[0]
    assert found <= bound * (1 + 1e-12)
    assert found >= bound * (1 - 1e-9)


def test_a_domain_needs_a_box_for_the_squared_loss_alone():
    domain = Domain(row_norm=1.5, target_max=2.0)
    with pytest.raises(ValueError, match="theta_max"):
        domain.xi(model(Squared()), 3)
    for loss, bound in [(LogisticLoss(), 1.5), (Hinge(), 1.5), (HuberLoss(0.7), 0.7 * 1.5)]:
        assert domain.xi(model(loss), 3) == pytest.approx(bound)
        assert domain.xi(model(loss, 8.0), 3) == pytest.approx(bound)
    assert domain.xi(model(Hinge(), constant=True), 3) == 2.5
    wide = Domain(row_norm=1.5, target_max=2.0, norm="l2-as-published")
    assert wide.xi(model(Hinge(), constant=True), 3) == pytest.approx(np.hypot(1.5, 1))


@pytest.mark.parametrize("theta_max", [None, 0.8])
@pytest.mark.parametrize("loss", LOSSES[1:], ids=name)
def test_the_constants_hold_for_losses_of_bounded_slope(loss, theta_max):
    x, y = data(loss)
    objective = LinearObjective(x, y, loss, 0.3, theta_max)
    for norm, order in ORDER.items():
        found = constants_of(objective, LinearRecords(x, y, None, norm, loss))
        longest = max(np.linalg.norm(row, ord=order) for rows in x for row in rows)
        assert found.xi == pytest.approx(loss.steepest(0, 0) * longest)
        assert found.xi_g == (None if theta_max is None else pytest.approx(0.3 * 0.8 * 2))
        assert found.smoothness == objective.smoothness
