"""Linear regression with a quadratic regulariser, known by its second moments."""

from collections.abc import Sequence
from typing import Literal

from asyncdp_sim.learning.objectives.losses import Array
from asyncdp_sim.learning.objectives.models import LinearModel
from asyncdp_sim.learning.objectives.quadratic import Quadratic
from asyncdp_sim.learning.objectives.squared import SQUARED, Squared


class Ridge(LinearModel):
    """Linear regression, ℓ = (y − θᵀx)² (no ½), no intercept; ∇ℓ = 2(θᵀx − y)x.

    Attributes
    ----------
    regularisation, regulariser, theta_max
        See :class:`~asyncdp_sim.learning.objectives.models.LinearModel`.
    """

    kind: Literal["ridge"] = "ridge"

    @property
    def loss(self) -> Squared:
        """φ = (y − z)²."""
        return SQUARED

    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Quadratic:
        """Return f, from the owners' second moments alone."""
        return Quadratic.from_records(features, targets, self.sigma, self.theta_max)
