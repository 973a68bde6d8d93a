"""A network with one hidden layer: its outputs, how they change, and its records' gradients.

z = w₂ᵀa + b₂ with a = tanh(W₁x + b₁) and H hidden units, so that

∂z/∂w₂ = a, ∂z/∂b₂ = 1, ∂z/∂(W₁, b₁)_h = w₂_h (1 − a_h²) (x, 1).

All functions take stacks of models, θ of shape (…, p); each model is a matrix product of its own,
so that its bits do not depend on how many there are. Gradients are clipped or measured without
forming them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives.losses import Loss
from asyncdp_sim.learning.objectives.rows import (
    Norm,
    StackedRecords,
)


@dataclass(frozen=True)
class Perceptron:
    """The shape of a network, and the layout of its p = H(d + 2) + 1 parameters.

    θ holds hidden unit after hidden unit, each with its d weights and then its threshold (a row of
    W₁ and b₁), then w₂, then b₂. Rows x of features come with their constant: (x, 1).

    Attributes
    ----------
    inputs : int
        d ≥ 1, without the constant.
    hidden : int
        H ≥ 1.
    """

    inputs: int
    hidden: int

    @property
    def numbers(self) -> int:
        """P."""
        return self.hidden * (self.inputs + 2) + 1

    def parts(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return views of (W₁, b₁) (…, H, d + 1), w₂ (…, H) and b₂ (…, 1)."""
        end = self.hidden * (self.inputs + 1)
        units = theta[..., :end].reshape(*theta.shape[:-1], self.hidden, self.inputs + 1)
        return units, theta[..., end:-1], theta[..., -1:]

    def active(self, x: Array, theta: Array) -> Array:
        """Return a, shape (…, H, n), of rows (x, 1) of shape (n, d + 1)."""
        sums = self.parts(theta)[0] @ x.T
        return np.asarray(np.tanh(sums, out=sums))

    def outputs(self, x: Array, theta: Array, active: Array) -> Array:
        """Return z, shape (…, n), of rows (x, 1) of shape (n, d + 1) and their activations a.

        The constant 1 of a row multiplies b₂ too, so that z = 0 for a row of zeros: a record that
        contributes nothing.
        """
        _, weights, threshold = self.parts(theta)
        return np.asarray((weights[..., None, :] @ active)[..., 0, :] + threshold * x[:, -1])

    def pulled(self, x: Array, theta: Array, active: Array, slope: Array) -> Array:
        """Return Σ_j s_j ∂z_j/∂θ, shape (…, p), for slopes s of shape (…, n)."""
        _, weights, _ = self.parts(theta)
        inner = active * active
        np.subtract(1, inner, out=inner)
        inner *= slope[..., None, :]
        gradients = np.empty(theta.shape)
        units, outer, threshold = self.parts(gradients)
        np.multiply(weights[..., None], inner @ x, out=units)
        outer[...] = (active @ slope[..., None])[..., 0]
        threshold[..., 0] = slope.sum(axis=-1)
        return gradients

    def lengths(self, theta: Array, active: Array, rows: Array, norm: Norm) -> Array:
        """Return ‖∂z/∂θ‖ ≥ 1, shape (…, n), for rows of norms ‖(x, 1)‖ (n,) in the same norm.

        L1: 1 + Σ_h |a_h| + |w₂_h|(1 − a_h²)‖(x, 1)‖₁; L2 is the root of the sum of the squares.
        """
        weights = np.abs(self.parts(theta)[1])[..., None, :]
        bends = 1 - active * active
        if norm == "l1":
            through = (weights @ bends)[..., 0, :]
            return np.asarray(1 + np.abs(active).sum(axis=-2) + through * rows)
        through = ((weights * weights) @ (bends * bends))[..., 0, :]
        return np.asarray(np.sqrt(1 + (active * active).sum(axis=-2) + through * rows**2))

    def around(
        self, x: Array, theta: Array, radius: float, spreads: Array, lengths: Array, norm: Norm
    ) -> tuple[Array, Array, Array]:
        """Return an interval of z and a bound of ‖∂z/∂θ‖ over balls around models (q, p).

        Each unit's sum moves by r‖(x, 1)‖₂ at most, its weight by r.

        Parameters
        ----------
        x : array (n, d + 1)
            Rows (x, 1).
        theta : array (q, p)
        radius : float
            r of each ball.
        spreads, lengths : array (n,)
            ‖(x, 1)‖₂, and ‖(x, 1)‖ in ``norm``.
        norm : str

        Returns
        -------
        tuple of array (q, n)
            Its middle and its half width; the bound.
        """
        units, weights, threshold = self.parts(theta)
        sums, moves = units @ x.T, radius * spreads
        low, high = np.tanh(sums - moves), np.tanh(sums + moves)
        most = np.maximum(np.abs(low), np.abs(high))
        least = np.maximum(0.0, np.maximum(low, -high))
        heavy = (np.abs(weights) + radius)[:, None, :]
        middle = (weights[:, None, :] @ ((low + high) / 2))[:, 0] + threshold * x[:, -1]
        width = np.abs(weights)[:, None, :] @ ((high - low) / 2)
        reach = width[:, 0] + radius * (1 + most.sum(axis=1))
        bends = 1 - least * least
        if norm == "l1":
            longest = 1 + most.sum(axis=1) + (heavy @ bends)[:, 0] * lengths
        else:
            through = ((heavy * heavy) @ (bends * bends))[:, 0] * lengths**2
            longest = np.sqrt(1 + (most * most).sum(axis=1) + through)
        return middle, reach, longest

    def longest(self, box: float, rows: Array | float, norm: Norm) -> Array:
        """Return a bound of ‖∂z/∂θ‖ over ‖θ‖_∞ ≤ ``box`` for rows of norms ``rows``.

        With c = box‖(x, 1)‖, a unit adds at most max_{t ≤ 1} t + c(1 − t²) in L1, which is
        c + 1/(4c), or 1 where c ≤ ½; in L2 its square adds at most max_{u ≤ 1} u + c²(1 − u)²,
        which is max(1, c²).
        """
        c = box * np.asarray(rows)
        if norm == "l1":
            c = np.maximum(c, 0.5)
            return np.asarray(1 + self.hidden * (c + 1 / (4 * c)))
        return np.asarray(np.sqrt(1 + self.hidden * np.maximum(1, c * c)))

    def reach(self, box: float) -> float:
        """Return a bound of |z| over ‖θ‖_∞ ≤ ``box``: all activations at ±1."""
        return box * (self.hidden + 1)


@dataclass(frozen=True, eq=False)
class PerceptronRecords(StackedRecords):
    """Owners' records; ∇ℓ = φ'(z, y) ∂z/∂θ.

    Attributes
    ----------
    net : Perceptron
    features : sequence of array (n_i, d + 1)
        Rows (x, 1).
    targets : sequence of array (n_i,)
    loss : Loss
        φ.
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    norm : str
        The norm of ``clip`` and of measured gradients.
    """

    net: Perceptron
    features: Sequence[Array]
    targets: Sequence[Array]
    loss: Loss
    clip: float | None = None
    norm: Norm = "l1"

    @property
    @override
    def width(self) -> int:
        return self.net.hidden

    @override
    def total(self, x: Array, y: Array, lengths: Array, theta: Array, clip: float | None) -> Array:
        active = self.net.active(x, theta)
        slope = self.loss.slope(self.net.outputs(x, theta, active), y)
        if clip is not None:  # ‖∇ℓ‖ = |φ'|‖∂z/∂θ‖: to clip it is to clip φ'
            bound = clip / self.net.lengths(theta, active, lengths, self.norm)
            np.clip(slope, -bound, bound, out=slope)
            slope[np.isnan(slope)] = 0.0  # ∞ − ∞ in a model that has diverged
        return self.net.pulled(x, theta, active, slope)

    @override
    def ceiling(
        self, x: Array, y: Array, spreads: Array, lengths: Array, centres: Array, radius: float
    ) -> Array:
        """Return the bound of |φ'| over the interval of z times that of ‖∂z/∂θ‖.

        Each is over its own worst case.
        """
        z, reach, longest = self.net.around(x, centres, radius, spreads, lengths, self.norm)
        steepest = np.abs(self.loss.slope(z + reach, y))
        np.maximum(steepest, np.abs(self.loss.slope(z - reach, y)), out=steepest)
        return np.asarray((steepest * longest).T)

    @override
    def lengths_at(self, owner: int, rows: Ints, points: Array) -> Array:
        """Return |φ'(z, y)|‖∂z/∂θ‖, shape (m,), one record and point per row."""
        x, y, lengths = (
            table[owner][rows] for table in (self.features, self.targets, self.lengths)
        )
        units, weights, threshold = self.net.parts(points)
        active = np.tanh(np.einsum("ihj,ij->ih", units, x))
        slope = self.loss.slope(
            np.einsum("ih,ih->i", weights, active) + threshold[:, 0] * x[:, -1], y
        )
        longest = self.net.lengths(points, active[..., None], lengths[:, None], self.norm)
        return np.asarray(np.abs(slope) * longest[:, 0])

    def gradient_bound(self, theta_max: float | None) -> float | None:
        """Return an upper bound of ‖∇ℓ‖ over Θ and these records; None where Θ is the whole space.

        max sup|φ'| · :meth:`Perceptron.longest`, sup|φ'| over |z| ≤ θ_max(H + 1).
        """
        if theta_max is None:
            return None
        reach, bounds = self.net.reach(theta_max), []
        for y, length in zip(self.targets, self.lengths, strict=True):
            steepest = self.loss.steepest(reach, np.abs(y))
            bounds.append(np.max(steepest * self.net.longest(theta_max, length, self.norm)))
        return float(max(bounds))
