"""Linear regression with Huber's loss, which outliers pull at with bounded force."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.objectives.losses import Array, Fit
from asyncdp_sim.learning.objectives.minimisers import newton
from asyncdp_sim.learning.objectives.models import LinearKind
from asyncdp_sim.spec import Positive, about


@dataclass(frozen=True)
class HuberLoss:
    """φ(z, y) = r²/2 for r = z − y, |r| ≤ δ, and δ(|r| − δ/2) beyond; φ' = r clipped to ±δ.

    Attributes
    ----------
    delta : float
        δ > 0.
    """

    delta: float
    classifies: bool = False
    logit: bool = False
    curvature: float | None = 1.0
    per_residual: float | None = None

    def value(self, z: Array, y: Array) -> Array:
        """Return φ = c(r − c/2) with c = φ'."""
        c = self.slope(z, y)
        return np.asarray(c * (z - y - c / 2))

    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return z − y clipped to ±δ."""
        found = np.subtract(z, y, out=out)
        return np.asarray(np.clip(found, -self.delta, self.delta, out=out))

    def bend(self, z: Array, y: Array) -> Array:
        """Return 1 where |z − y| ≤ δ, else 0."""
        return (np.abs(z - y) <= self.delta).astype(np.float64)

    def envelope(self, z: Array, y: Array) -> Array:
        """Return min(1, δ/|z − y|)."""
        return self.delta / np.maximum(np.abs(z - y), self.delta)

    def steepest(self, reach: Array | float, target: Array | float) -> Array | float:  # noqa: ARG002
        """Return δ."""
        return self.delta

    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return g(beyond + step − g/2), g the change of φ' and beyond = z − y − φ'(z, y)."""
        beyond = z - y - slope
        change = np.clip(beyond + step, -self.delta - slope, self.delta - slope)
        return np.asarray(change * (beyond + step - change / 2))

    def fit(self, x: Array, y: Array, sigma: float, theta_max: float | None) -> Fit:
        """Return the minimum; see :func:`~.minimisers.newton`.

        From a quadratic loss on, δ falls by steps to its value (Madsen and Nielsen, "Finite
        algorithms for robust linear regression", BIT 30 (1990)).
        """
        steps = max(
            0,
            int(
                np.ceil(
                    np.log(max(float(np.abs(y).max()), self.delta) / self.delta) / np.log(_STEP)
                )
            ),
        )
        path = [HuberLoss(self.delta * _STEP**step) for step in range(steps, -1, -1)]
        return newton(path, x, y, sigma, theta_max)


_STEP = 4.0
"""Factor between one δ and the next on the way to a minimum."""


class Huber(LinearKind):
    """Linear regression with Huber's loss of r = θᵀx − y; ‖∇ℓ‖ ≤ δ‖x‖.

    ℓ = r²/2 where |r| ≤ δ (here with ½, as Huber has it), else δ(|r| − δ/2).
    """

    kind: Literal["huber"] = "huber"
    delta: Annotated[
        Positive,
        about(
            "δ: residual up to which the loss is quadratic; the ridge loss is twice the limit δ → "
            "∞",
            "of the target",
        ),
    ]

    @property
    @override
    def phi(self) -> HuberLoss:
        return HuberLoss(self.delta)
