"""What is minimised: models as scenarios name them, fitness, gradients, optimum, constants."""

from typing import Annotated, Literal

from asyncdp_sim.faults import lone
from asyncdp_sim.learning.objectives.constants import Constants, constants
from asyncdp_sim.learning.objectives.quadratic import Quadratic
from asyncdp_sim.learning.objectives.records import Norm, RidgeRecords
from asyncdp_sim.spec import Positive, Spec


class Ridge(Spec):
    """Linear regression, ℓ = (y − θᵀx)², no intercept, with a quadratic regulariser.

    Attributes
    ----------
    regularisation : float
        c > 0, the regulariser's constant (the paper's 1e-5).
    regulariser : str
        "half-square" is g = (c/2)‖θ‖², so that σ = c (the published code); "square" is
        g = c‖θ‖², so that σ = 2c (the paper's text).
    theta_max : float, optional
        Θ = {‖θ‖_∞ ≤ θ_max}; absent, nothing is projected.
    """

    kind: Literal["ridge"] = "ridge"
    regularisation: Positive
    regulariser: Literal["half-square", "square"] = "half-square"
    theta_max: Positive | None = None

    @property
    def sigma(self) -> float:
        """σ, the strong convexity of g."""
        return self.regularisation * (1 if self.regulariser == "half-square" else 2)


Model = Annotated[Ridge, lone(Ridge)]
"""Every model; a new one joins the union here."""

__all__ = ["Constants", "Model", "Norm", "Quadratic", "Ridge", "RidgeRecords", "constants"]
