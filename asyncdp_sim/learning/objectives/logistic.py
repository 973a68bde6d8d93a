"""Logistic regression on labels −1 and 1."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.objectives.losses import Array, Fit
from asyncdp_sim.learning.objectives.minimisers import newton
from asyncdp_sim.learning.objectives.models import LinearKind


@dataclass(frozen=True)
class LogisticLoss:
    """φ(z, y) = ln(1 + e^{−yz}), φ' = −y q, φ'' = q(1 − q) ≤ ¼, with q = 1/(1 + e^{yz}).

    A target of 0 is no label: φ = 0 at every z.
    """

    classifies: bool = True
    logit: bool = True
    curvature: float | None = 0.25
    per_residual: float | None = None

    def value(self, z: Array, y: Array) -> Array:
        """Return ln(1 + e^{−yz})."""
        return np.asarray(np.abs(y) * np.logaddexp(0, -y * z))

    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return −y q."""
        return np.asarray(np.multiply(-y, _doubt(y * z), out=out))

    def bend(self, z: Array, y: Array) -> Array:
        """Return q(1 − q)."""
        return np.abs(y) * _doubt(y * z) * _doubt(-y * z)

    def envelope(self, z: Array, y: Array) -> Array:  # noqa: ARG002
        """Return ¼."""
        return np.full_like(z, 0.25)

    def steepest(self, reach: Array | float, target: Array | float) -> Array | float:  # noqa: ARG002
        """Return 1."""
        return 1.0

    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return ln(1 + q(e^t − 1)) − qt with t = −y·step and q = −y·slope.

        That is Σ_{k≥2} κ_k t^k/k!, κ_k the cumulants of a coin of probability q; the sum is
        used where t is small.
        """
        t = -y * step
        q = np.broadcast_to(-y * slope, t.shape)
        found = np.logaddexp(0, t - y * z) - np.logaddexp(0, -y * z) - q * t  # t is large
        some = np.abs(t) < 30
        found[some] = np.log1p(q[some] * np.expm1(t[some])) - q[some] * t[some]
        few = np.abs(t) < 3e-3
        t, q = t[few], q[few]
        second = q * (1 - q)
        third, fourth = second * (1 - 2 * q), second * (1 - 6 * second)
        fifth = third * (1 - 12 * second)
        found[few] = t * t * (second / 2 + t * (third / 6 + t * (fourth / 24 + t * fifth / 120)))
        return np.asarray(np.maximum(found, 0))

    def fit(self, x: Array, y: Array, sigma: float, theta_max: float | None) -> Fit:
        """Return the minimum; see :func:`~.minimisers.newton`."""
        return newton([self], x, y, sigma, theta_max)


def _doubt(margin: Array) -> Array:
    """Return 1/(1 + e^m) without overflow."""
    small = np.exp(-np.abs(margin))
    return np.asarray(np.where(margin > 0, small, 1.0) / (1 + small))


class Logistic(LinearKind):
    """Logistic regression, ℓ = ln(1 + e^{−yθᵀx}) with y ∈ {−1, 1}; ‖∇ℓ‖ ≤ ‖x‖."""

    kind: Literal["logistic"] = "logistic"

    @property
    @override
    def phi(self) -> LogisticLoss:
        return LogisticLoss()
