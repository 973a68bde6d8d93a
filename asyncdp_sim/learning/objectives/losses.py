"""The loss of a linear model: ℓ(θ; x, y) = φ(θᵀx, y), so that ∇ℓ = φ'(θᵀx, y) x."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault


@dataclass(frozen=True, eq=False)
class Fit:
    """A minimum of f over Θ, and the subgradients that prove it.

    Attributes
    ----------
    theta : array (p,)
        θ*.
    slopes : array (n,)
        s_j ∈ ∂φ(θ*ᵀx_j, y_j), the subgradients with which σθ* + (1/n) Σ s_j x_j vanishes (or
        points out of Θ where θ* lies on its boundary).
    """

    theta: Array
    slopes: Array


class Loss(ABC):
    """A convex loss φ(z, y) of a prediction z = θᵀx; array arguments are elementwise.

    A model has one score, its prediction, unless a loss says otherwise.
    """

    classifies: ClassVar[bool] = False
    """Targets are labels −1 and 1."""
    logit: ClassVar[bool] = False
    """z is the logarithm of the odds of label 1."""
    curvature: ClassVar[float | None]
    """Sup of φ'' in z; None where φ is not smooth."""
    rate: ClassVar[float | None] = None
    """c where φ' = c(z − y), clipped to its supremum; None where φ' has another form."""

    @property
    def sharper(self) -> "Loss | None":
        """The same loss with slopes that do not cancel, for where minima need them; else None."""
        return None

    def numbers(self, features: int) -> int:
        """Return p, the coordinates of a model of this number of features."""
        return features

    def scores(self, x: Array, theta: Array) -> Array:
        """Return z, shape (…, n), of rows (n, p) by models (…, p), a product for each model."""
        return np.asarray(np.matmul(x, theta[..., None])[..., 0])

    def pulled(self, x: Array, slopes: Array) -> Array:
        """Return the sum (p,) of records' gradients with these slopes (n, …)."""
        return np.asarray(x.T @ slopes)

    @abstractmethod
    def value(self, z: Array, y: Array) -> Array:
        """Return φ(z, y)."""

    @abstractmethod
    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return φ'(z, y), a subgradient where φ has a kink; into ``out``, which may be z."""

    def steepest(self, reach: Array | float, target: Array | float) -> Array | float:  # noqa: ARG002
        """Return sup |φ'| over |z| ≤ ``reach`` and |y| ≤ ``target``."""
        return 1.0

    @abstractmethod
    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return φ(z + step, y) − φ(z, y) − slope·step ≥ 0 without cancellation.

        ``slope`` is the subgradient of a :class:`Fit` at ``z``.
        """

    def bend(self, z: Array, y: Array) -> Array:  # noqa: ARG002
        """Return φ''(z, y), almost everywhere; here it is the same at all z."""
        return np.full_like(z, self.curvature)

    def envelope(self, z: Array, y: Array) -> Array:  # noqa: ARG002
        """Return c such that φ(z + d) ≤ φ(z) + φ'(z) d + c d²/2 for all d: the curvature."""
        return np.full_like(z, self.curvature)

    def curvatures(self, x: Array, z: Array, y: Array) -> Iterator[Array]:
        """Yield Σ φ'' x xᵀ at z, shape (p, p), then that of a quadratic that lies above."""
        for bend in (self.bend, self.envelope):
            yield (x * bend(z, y)[:, None]).T @ x

    def path(self, y: Array) -> Sequence["Loss"]:  # noqa: ARG002
        """Return losses to minimise one after another; each search begins at the last minimum."""
        return [self]


@dataclass(frozen=True)
class Squared(Loss):
    """φ(z, y) = (y − z)², φ' = 2(z − y), φ'' = 2."""

    curvature = 2.0
    rate = 2.0

    @override
    def value(self, z: Array, y: Array) -> Array:
        """Return (y − z)²."""
        return np.asarray((y - z) ** 2)

    @override
    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return 2(z − y)."""
        slopes = np.asarray(np.subtract(z, y, out=out))
        slopes *= 2
        return slopes

    @override
    def steepest(self, reach: Array | float, target: Array | float) -> Array | float:
        """Return 2(|y| + |z|)."""
        return 2 * (target + reach)

    @override
    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return step²."""
        return step * step


SQUARED = Squared()


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """φ(z, y) = ln(1 + e^{−yz}), φ' = −y q, φ'' = q(1 − q) ≤ ¼, with q = 1/(1 + e^{yz}).

    A target of 0 is no label: φ = 0 at every z.
    """

    classifies = True
    logit = True
    curvature = 0.25

    @override
    def value(self, z: Array, y: Array) -> Array:
        """Return ln(1 + e^{−yz})."""
        return np.asarray(np.abs(y) * np.logaddexp(0, -y * z))

    @override
    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return −y q."""
        return np.asarray(np.multiply(-y, _doubt(y * z), out=out))

    @override
    def bend(self, z: Array, y: Array) -> Array:
        """Return q(1 − q)."""
        return np.abs(y) * _doubt(y * z) * _doubt(-y * z)

    @override
    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return ln(1 + q(e^t − 1)) − qt with t = −y·step and q = −y·slope.

        That is Σ_{k≥2} κ_k t^k/k!, κ_k the cumulants of a coin of probability q; the sum is
        used where t is small.
        """
        t = -y * step
        q = np.broadcast_to(-y * slope, t.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            distance = np.log1p(q * np.expm1(t)) - q * t
        far = np.abs(t) >= 30
        if far.any():
            margin = np.broadcast_to(y * z, t.shape)[far]
            grown = np.logaddexp(0, t[far] - margin) - np.logaddexp(0, -margin)
            distance[far] = grown - q[far] * t[far]
        few = np.abs(t) < 3e-3
        t, q = t[few], q[few]
        second = q * (1 - q)
        third, fourth = second * (1 - 2 * q), second * (1 - 6 * second)
        fifth = third * (1 - 12 * second)
        distance[few] = t * t * (second / 2 + t * (third / 6 + t * (fourth / 24 + t * fifth / 120)))
        return np.asarray(np.maximum(distance, 0))


def _doubt(margin: Array) -> Array:
    """Return 1/(1 + e^m) without overflow."""
    small = np.exp(-np.abs(margin))
    return np.asarray(np.where(margin > 0, small, 1.0) / (1 + small))


@dataclass(frozen=True)
class Hinge(Loss):
    """φ(z, y) = max(0, 1 − yz), φ' = −y where yz < 1, else 0 (also at the kink yz = 1).

    A target of 0 is no label: φ = 0 at every z.
    """

    classifies = True
    curvature = None

    @override
    def value(self, z: Array, y: Array) -> Array:
        """Return max(0, 1 − yz)."""
        return np.maximum(0, np.abs(y) - y * z)

    @override
    def slope(self, z: Array, y: Array, out: Array | None = None) -> Array:
        """Return −y where yz < 1, else 0."""
        return np.asarray(np.multiply(y * z < 1, -y, out=out))

    @override
    def above_tangent(self, step: Array, z: Array, y: Array, slope: Array) -> Array:
        """Return (1 − α)u₊ + αu₋ with u = 1 − y(z + step), α = −y·slope ∈ [0, 1].

        It is exact where α = 0 at margins above 1 and α = 1 at margins below, as at θ*.
        """
        u, alpha = np.abs(y) - y * (z + step), -y * slope
        return np.asarray((1 - alpha) * np.maximum(u, 0) + alpha * np.maximum(-u, 0))


def positive(least: float) -> float:
    """Return f(θ*) if it is positive, so that the relative fitness is defined.

    Raises
    ------
    DataError
        If it is not positive.
    """
    if least <= 0:
        remedy = "the relative fitness f(θ)/f(θ*) − 1 needs f(θ*) > 0: add noise or records"
        raise DataError([Fault("data", f"records that θ* fits with f(θ*) = {least:g}", remedy)])
    return least


def unsolved(sigma: float, reached: float, promised: float) -> DataError:
    """Return the error that a solver raises if it has not found θ*."""
    value = f"σ = {sigma:g}, with which θ* is found to {reached:.1g} only"
    remedy = f"θ* must be found to {promised:g}: raise it, or scale the features"
    return DataError([Fault("model.regularisation", value, remedy)])
