"""The fitness of a linear model of any convex loss, from the records themselves.

f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} φ(θᵀx, y). With s_j the subgradients at θ* for which
σθ* + (1/n) Σ s_j x_j = 0 (in Θ's interior), and δ = θ − θ*,

f(θ) − f(θ*) = (σ/2)‖δ‖² + (1/n) Σ_j [φ(z_j* + δᵀx_j) − φ(z_j*) − s_j δᵀx_j],

a sum of terms none of which is negative, so that nothing cancels close to θ*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives.losses import Fit, Loss, positive
from asyncdp_sim.learning.objectives.minimisers import minimum
from asyncdp_sim.learning.objectives.records import LinearRecords
from asyncdp_sim.learning.objectives.rows import JudgedRows, Records, stacks


@dataclass(frozen=True, eq=False)
class LinearObjective(JudgedRows):
    """A sum of owners' mean losses and a regulariser.

    Attributes
    ----------
    features : sequence of array (n_i, p)
        Rows that θ multiplies, best in Fortran order.
    targets : sequence of array (n_i,)
    loss : Loss
        φ.
    sigma : float
        σ > 0, the strong convexity of g(θ) = (σ/2)‖θ‖².
    theta_max : float or None
        Θ = {‖θ‖_∞ ≤ θ_max}; None is the whole space.
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    loss: Loss
    sigma: float
    theta_max: float | None

    @property
    def n_features(self) -> int:
        """p, the coordinates of θ."""
        return self.loss.numbers(int(self.features[0].shape[1]))

    @cached_property
    def smoothness(self) -> float | None:
        """σ + sup φ'' λ_max(XᵀX/n), which bounds the second derivative of f."""
        if self.loss.curvature is None:
            return None
        gram = sum(x.T @ x for x in self.features) / int(self.records.sum())
        return self.sigma + self.loss.curvature * float(np.linalg.eigvalsh(gram)[-1])

    @cached_property
    def _fit(self) -> Fit:
        x, y = np.concatenate(self.features), np.concatenate(self.targets)
        return minimum(self.loss, np.asfortranarray(x), y, self.sigma, self.theta_max)

    @property
    def optimum(self) -> Array:
        """θ* = argmin of f over Θ, shape (p,)."""
        return self._fit.theta

    @cached_property
    def _met(self) -> list[tuple[Array, Array]]:
        """Predictions and subgradients at θ*, owner by owner."""
        slopes = np.split(self._fit.slopes, np.cumsum(self.records)[:-1])
        return [
            (self.loss.scores(x, self.optimum), s)
            for x, s in zip(self.features, slopes, strict=True)
        ]

    @cached_property
    def _pull(self) -> Array:
        """∇f(θ*) where θ* lies on Θ's boundary; zero in all other coordinates."""
        mean = sum(
            self.loss.pulled(x, s) for x, (_, s) in zip(self.features, self._met, strict=True)
        )
        gradient = self.sigma * self.optimum + mean / int(self.records.sum())
        bound = np.inf if self.theta_max is None else self.theta_max
        inwards = np.where(self.optimum > 0, np.minimum(gradient, 0), np.maximum(gradient, 0))
        return np.where(np.abs(self.optimum) >= bound, inwards, 0.0)

    @cached_property
    def least(self) -> float:
        """f(θ*) > 0.

        Raises
        ------
        DataError
            If it is not positive, so that the relative fitness is undefined.
        """
        losses = [
            self.loss.value(z, y).sum() for (z, _), y in zip(self._met, self.targets, strict=True)
        ]
        theta = self.optimum
        return positive(float(self.sigma / 2 * theta @ theta + sum(losses) / self.records.sum()))

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), without cancellation.

        Each point is a matrix product of its own, so that a point's bits do not depend on how
        many are asked for.
        """
        steps = theta.reshape(-1, self.n_features) - self.optimum
        total = np.zeros(len(steps))
        for x, y, (z, slope) in zip(self.features, self.targets, self._met, strict=True):
            for stack in stacks(len(steps), z.size):
                moved = self.loss.scores(x, steps[stack])
                total[stack] += self.loss.above_tangent(moved, z, y, slope).sum(axis=-1)
        square = np.array([float(step @ step) for step in steps])
        pull = np.array([float(self._pull @ step) for step in steps])
        excess = self.sigma / 2 * square + total / float(self.records.sum()) + pull
        return np.asarray(excess.reshape(theta.shape[:-1]))

    def fitness(self, theta: Array) -> Array:
        """Return f(θ) for points of shape (…, p)."""
        return self.least + self.excess(theta)

    @cached_property
    def _unclipped(self) -> Records:
        return LinearRecords(self.features, self.targets, loss=self.loss)

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean record gradient, one owner (from 0) and point (R, p) per row."""
        return self._unclipped.gradient(owners, points)
