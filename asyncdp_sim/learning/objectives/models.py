"""What the specs of all linear models share."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from asyncdp_sim.learning.objectives.linear import LinearObjective
from asyncdp_sim.learning.objectives.losses import Array, Loss
from asyncdp_sim.learning.objectives.objective import Objective
from asyncdp_sim.spec import Positive, Spec


class LinearModel(Spec):
    """A linear model with a loss φ(θᵀx, y) and a quadratic regulariser.

    Attributes
    ----------
    kind : str
        The model's name.
    regularisation : float
        c > 0, the regulariser's constant (Async: 1e-5; Collab's SVM: 1).
    regulariser : str
        "half-square" is g = (c/2)‖θ‖², so that σ = c (Async's published code, Collab's SVM);
        "square" is g = c‖θ‖², so that σ = 2c (Async's text).
    theta_max : float, optional
        Θ = {‖θ‖_∞ ≤ θ_max}; absent, nothing is projected.
    """

    intercept: ClassVar[bool] = False
    """Whether a constant 1 is appended to every row of features."""

    kind: str
    regularisation: Positive
    regulariser: Literal["half-square", "square"] = "half-square"
    theta_max: Positive | None = None

    @property
    def sigma(self) -> float:
        """σ, the strong convexity of g."""
        return self.regularisation * (1 if self.regulariser == "half-square" else 2)

    @property
    def loss(self) -> Loss:
        """φ."""
        raise TypeError(f"{type(self).__name__} names no loss")

    def numbers(self, features: int) -> int:
        """Return p, the coordinates of a model of so many features."""
        return features + int(self.intercept)

    def design(self, features: Sequence[Array]) -> list[Array]:
        """Return the rows that θ multiplies, owner by owner, in Fortran order."""
        if not self.intercept:
            return list(features)
        return [np.asfortranarray(np.column_stack([x, np.ones(len(x))])) for x in features]

    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Objective:
        """Return f over the owners' records, ``features`` being rows of :meth:`design`."""
        return LinearObjective(features, targets, self.loss, self.sigma, self.theta_max)
