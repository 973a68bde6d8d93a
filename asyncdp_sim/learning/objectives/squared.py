"""The squared loss φ = (y − z)², without ½."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.objectives.losses import Array, Fit
from asyncdp_sim.learning.objectives.minimisers import newton


@dataclass(frozen=True)
class Squared:
    """φ(z, y) = (y − z)², φ' = 2(z − y), φ'' = 2."""

    classifies: bool = False
    logit: bool = False
    curvature: float | None = 2.0
    per_residual: float | None = 2.0

    def value(self, z: Array, y: Array) -> Array:
        """Return (y − z)²."""
        return np.asarray((y - z) ** 2)

    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return 2(z − y)."""
        found = np.asarray(np.subtract(z, y, out=out))
        found *= 2
        return found

    def bend(self, z: Array, y: Array) -> Array:  # noqa: ARG002
        """Return 2."""
        return np.full_like(z, 2.0)

    def envelope(self, z: Array, y: Array) -> Array:
        """Return 2."""
        return self.bend(z, y)

    def steepest(self, reach: Array | float, target: Array | float) -> Array | float:
        """Return 2(|y| + |z|)."""
        return 2 * (target + reach)

    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:  # noqa: ARG002
        """Return step²."""
        return step * step

    def fit(self, x: Array, y: Array, sigma: float, theta_max: float | None) -> Fit:
        """Return the minimum; see :func:`~.minimisers.newton`."""
        return newton([self], x, y, sigma, theta_max)


SQUARED = Squared()
