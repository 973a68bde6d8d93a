"""The family of models: what the rest of the house asks of each, and linear ones."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from asyncdp_sim.errors import Fault
from asyncdp_sim.learning.objectives.linear import LinearObjective
from asyncdp_sim.learning.objectives.losses import Array, Loss
from asyncdp_sim.learning.objectives.objective import Objective, Records
from asyncdp_sim.learning.objectives.records import LinearRecords, Norm
from asyncdp_sim.spec import Positive, Spec


class Regularised(Spec):
    """A model with a quadratic regulariser on a box.

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

    def start_faults(self, initial: str | None) -> list[Fault]:  # noqa: ARG002
        """Return what is wrong with an algorithm's ``initial``; nothing by default."""
        return []

    def design(self, features: Sequence[Array]) -> list[Array]:
        """Return the rows that θ multiplies, owner by owner, in Fortran order."""
        if not self.intercept:
            return list(features)
        return [np.asfortranarray(np.column_stack([x, np.ones(len(x))])) for x in features]

    def longest(self, row_norm: float, norm: Norm) -> float:
        """Return the largest norm of a row of :meth:`design` where ‖x‖ ≤ ``row_norm``."""
        if not self.intercept:
            return row_norm
        return row_norm + 1 if norm == "l1" else float(np.hypot(row_norm, 1.0))


class LinearModel(Regularised):
    """A linear model with a loss φ(θᵀx, y) and a quadratic regulariser.

    Attributes
    ----------
    kind, regularisation, regulariser, theta_max
        See :class:`Regularised`.
    """

    @property
    def loss(self) -> Loss:
        """φ."""
        raise TypeError(f"{type(self).__name__} names no loss")

    @property
    def phi(self) -> Loss:
        """φ, by the name that it has in every model."""
        return self.loss

    @property
    def classifies(self) -> bool:
        """Whether targets are labels −1 and 1."""
        return self.loss.classifies

    def predictions(self, rows: Array, theta: Array) -> Array:
        """Return z, shape (n,), for rows of :meth:`design` and one model (p,)."""
        return np.asarray(rows @ theta)

    def numbers(self, features: int) -> int:
        """Return p, the coordinates of a model of so many features."""
        return features + int(self.intercept)

    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Objective:
        """Return f over the owners' records, ``features`` being rows of :meth:`design`."""
        return LinearObjective(features, targets, self.loss, self.sigma, self.theta_max)

    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> Records:
        """Return the records' gradients, clipped to norm ≤ ``clip`` where it is given."""
        return LinearRecords(features, targets, clip, norm, self.loss)

    def gradient_bound(
        self, row_norm: float, target_max: float, n_features: int, norm: Norm
    ) -> float | None:
        """Return Ξ over Θ and all records of ‖x‖ ≤ ``row_norm``, |y| ≤ ``target_max``.

        Parameters
        ----------
        row_norm, target_max : float
        n_features : int
            Numbers in x, without the constant of an intercept.
        norm : str
            Of ‖x‖ and ‖∇ℓ‖.

        Returns
        -------
        float or None
            max|φ'| times the longest row; None where Θ is the whole space and φ has no bounded
            slope.
        """
        box, reach = self.theta_max, np.inf
        if box is not None:
            spread = 1.0 if norm == "l1" else float(np.sqrt(n_features))
            reach = box * spread * row_norm + (box if self.intercept else 0.0)
        steepest = float(self.loss.steepest(reach, target_max))
        return None if np.isinf(steepest) else steepest * self.longest(row_norm, norm)
