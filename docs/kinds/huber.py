"""Huber's loss as a custom model: the squared loss near the target, and linear beyond."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import PositiveFloat

from asyncdp_sim.learning.objectives.losses import Loss
from asyncdp_sim.learning.objectives.models import LinearKind


@dataclass(frozen=True)
class HuberLoss(Loss):
    """φ(z, y) = r²/2 for r = z − y, |r| ≤ δ, and δ(|r| − δ/2) beyond; φ' = r clipped to ±δ."""

    delta: float
    curvature = 1.0  # the largest φ''
    rate = 1.0

    def value(self, z, y):
        """Return φ = c(r − c/2) with c = φ'."""
        c = self.slope(z, y)
        return c * (z - y - c / 2)

    def slope(self, z, y, out=None):
        """Return φ'."""
        residuals = np.subtract(z, y, out=out)
        return np.clip(residuals, -self.delta, self.delta, out=out)

    def bend(self, z, y):
        """Return φ''."""
        return (np.abs(z - y) <= self.delta).astype(np.float64)

    def envelope(self, z, y):
        """Return the curvature of a quadratic above φ that touches it at z: min(1, δ/|z − y|)."""
        return self.delta / np.maximum(np.abs(z - y), self.delta)

    def steepest(self, reach, target):  # noqa: ARG002
        """Return the largest |φ'|, which is what a domain of records bounds."""
        return self.delta

    def above_tangent(self, step, z, y, slope):
        """Return φ(z + step, y) − φ(z, y) − φ'(z, y) step without cancellation."""
        beyond = z - y - slope
        change = np.clip(beyond + step, -self.delta - slope, self.delta - slope)
        return change * (beyond + step - change / 2)

    def path(self, y):
        """Return losses from a quadratic one on, δ falling by steps: a start for the minimiser.

        Madsen and Nielsen, "Finite algorithms for robust linear regression", BIT 30 (1990).
        """
        largest = max(float(np.abs(y).max()), self.delta)
        steps = max(0, int(np.ceil(np.log(largest / self.delta) / np.log(4.0))))
        return [HuberLoss(self.delta * 4.0**step) for step in range(steps, -1, -1)]


class Huber(LinearKind):
    """Linear regression with Huber's loss of r = θᵀx − y; ‖∇ℓ‖ ≤ δ‖x‖."""

    kind: Literal["huber"] = "huber"
    delta: PositiveFloat

    @property
    def phi(self):
        """φ(z, y)."""
        return HuberLoss(self.delta)
