"""The linear support vector machine on labels −1 and 1."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.objectives.losses import Array, Fit
from asyncdp_sim.learning.objectives.minimisers import interior
from asyncdp_sim.learning.objectives.models import LinearKind


@dataclass(frozen=True)
class Hinge:
    """φ(z, y) = max(0, 1 − yz), φ' = −y where yz < 1, else 0 (also at the kink yz = 1).

    A target of 0 is no label: φ = 0 at every z.
    """

    classifies: bool = True
    logit: bool = False
    curvature: float | None = None
    per_residual: float | None = None

    def value(self, z: Array, y: Array) -> Array:
        """Return max(0, 1 − yz)."""
        return np.maximum(0, np.abs(y) - y * z)

    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return −y where yz < 1, else 0."""
        return np.asarray(np.multiply(y * z < 1, -y, out=out))

    def steepest(self, reach: Array | float, target: Array | float) -> Array | float:  # noqa: ARG002
        """Return 1."""
        return 1.0

    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return (1 − α)u₊ + αu₋ with u = 1 − y(z + step), α = −y·slope ∈ [0, 1].

        It is exact where α = 0 at margins above 1 and α = 1 at margins below, as at θ*.
        """
        u, alpha = np.abs(y) - y * (z + step), -y * slope
        return np.asarray((1 - alpha) * np.maximum(u, 0) + alpha * np.maximum(-u, 0))

    def fit(self, x: Array, y: Array, sigma: float, theta_max: float | None) -> Fit:
        """Return the minimum; see :func:`~.minimisers.interior`."""
        labelled = y != 0
        if labelled.all():
            return interior(x, y, sigma, theta_max)
        slopes, theta, of = np.zeros(len(y)), np.zeros(x.shape[1]), np.count_nonzero(labelled)
        if of > 0:  # records without a label count in n alone
            found = interior(x[labelled], y[labelled], sigma * len(y) / of, theta_max)
            slopes[labelled], theta = found.slopes, found.theta
        return Fit(theta, slopes)


class SVM(LinearKind):
    """Linear SVM, ℓ = max(0, 1 − yθᵀ(x, 1)) with y ∈ {−1, 1}; ‖∇ℓ‖ ≤ ‖(x, 1)‖ (Collab).

    Features are augmented by 1, so that θ has p = ``data.features`` + 1 coordinates, the last
    being the intercept; the regulariser holds it too, as published. f is not smooth.
    """

    augmented = True

    kind: Literal["svm"] = "svm"

    @property
    @override
    def phi(self) -> Hinge:
        return Hinge()
