"""Linear regression with a quadratic regulariser, known by its second moments."""

from collections.abc import Sequence
from typing import Literal

from typing_extensions import override

from asyncdp_sim.learning.objectives.losses import Array
from asyncdp_sim.learning.objectives.models import LinearKind
from asyncdp_sim.learning.objectives.quadratic import Quadratic
from asyncdp_sim.learning.objectives.squared import SQUARED, Squared


class Ridge(LinearKind):
    """Linear regression, ℓ = (y − θᵀx)² (no ½); ∇ℓ = 2(θᵀx − y)x."""

    quadratic = True

    kind: Literal["ridge"] = "ridge"

    @property
    @override
    def phi(self) -> Squared:
        return SQUARED

    @override
    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Quadratic:
        return Quadratic.from_records(features, targets, self.sigma, self.theta_max)
