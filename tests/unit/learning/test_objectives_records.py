"""Record gradients of every model: clipped, measured and bounded like a loop over records."""

from typing import ClassVar

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Hinge, LinearKind, LinearRecords, LogisticLoss, Squared
from asyncdp_sim.learning.objectives import constants as constants_of
from asyncdp_sim.learning.objectives.models import LinearObjective
from asyncdp_sim.learning.recording import largest
from asyncdp_sim.privacy import Domain
from tests.huber import HuberLoss
from tests.together import together
from tests.unit.learning.problems import name, records

ORDER = {"l1": 1, "l2": 2}
LOSSES = [Squared(), LogisticLoss(), Hinge(), HuberLoss(0.7)]


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


@together
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
    found = largest(LinearRecords([x], [y], None, kind, loss), 0, models)
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
