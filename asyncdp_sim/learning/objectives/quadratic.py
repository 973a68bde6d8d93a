"""Linear regression: its fitness from second moments, exact, and without touching records.

f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} (y − θᵀx)² = θᵀHθ − 2bᵀθ + c, with
C_i = X_iᵀX_i/n_i, r_i = X_iᵀy_i/n_i, H = Σ (n_i/n) C_i + (σ/2) I, b = Σ (n_i/n) r_i
(Async, equation (2), with the ridge loss of its experiments).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives.losses import positive


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A sum of owners' mean squared errors and a regulariser, known by its second moments.

    Attributes
    ----------
    gram : array (N, p, p)
        C_i, symmetric.
    moment : array (N, p)
        r_i.
    energy : array (N,)
        Mean of y² over owner i's records.
    records : array of int (N,)
        n_i.
    sigma : float
        σ > 0, the strong convexity of g(θ) = (σ/2)‖θ‖².
    theta_max : float or None
        Θ = {‖θ‖_∞ ≤ θ_max}; None is the whole space.
    """

    gram: Array
    moment: Array
    energy: Array
    records: Ints
    sigma: float
    theta_max: float | None

    @classmethod
    def from_records(
        cls,
        features: Sequence[Array],
        targets: Sequence[Array],
        sigma: float,
        theta_max: float | None,
    ) -> "Quadratic":
        """Return f from every owner's records, X_i of shape (n_i, p) and y_i of shape (n_i,)."""
        pairs = list(zip(features, targets, strict=True))
        return cls(
            gram=np.stack([x.T @ x / len(y) for x, y in pairs]),
            moment=np.stack([x.T @ y / len(y) for x, y in pairs]),
            energy=np.array([y @ y / len(y) for _, y in pairs]),
            records=np.array([len(y) for _, y in pairs], dtype=np.int64),
            sigma=sigma,
            theta_max=theta_max,
        )

    @property
    def n_owners(self) -> int:
        """N."""
        return len(self.records)

    def of_owner(self, owner: int) -> "Quadratic":
        """Return f over one owner's records alone; ``owner`` counts from 0."""
        row = slice(owner, owner + 1)
        return replace(
            self,
            gram=self.gram[row],
            moment=self.moment[row],
            energy=self.energy[row],
            records=self.records[row],
        )

    @property
    def second_moments(self) -> "Quadratic":
        """The objective itself."""
        return self

    @property
    def judge(self) -> None:
        """None: f and θ* are those of the owners' rows."""
        return

    @property
    def n_features(self) -> int:
        """p, the coordinates of θ."""
        return int(self.moment.shape[1])

    @cached_property
    def weights(self) -> Array:
        """n_i/n, shape (N,)."""
        return np.asarray(self.records / self.records.sum())

    @cached_property
    def hessian(self) -> Array:
        """H, half the second derivative of f, shape (p, p)."""
        ridge = self.sigma / 2 * np.eye(self.n_features)
        return np.asarray(np.einsum("i,ijk->jk", self.weights, self.gram) + ridge)

    @cached_property
    def linear(self) -> Array:
        """b, shape (p,)."""
        return np.asarray(np.einsum("i,ij->j", self.weights, self.moment))

    @property
    def smoothness(self) -> float:
        """Largest eigenvalue of the second derivative of f, 2 λ_max(H)."""
        return 2 * float(np.linalg.eigvalsh(self.hessian)[-1])

    @cached_property
    def free_optimum(self) -> Array:
        """Argmin of f over the whole space, shape (p,)."""
        return solved(self.hessian, self.linear, self.sigma / 2)

    @property
    def interior(self) -> bool:
        """Whether the free optimum lies in Θ, so that the slope at θ* is zero."""
        return self.theta_max is None or bool(np.max(np.abs(self.free_optimum)) <= self.theta_max)

    @cached_property
    def optimum(self) -> Array:
        """θ* = argmin of f over Θ, shape (p,)."""
        bound = self.theta_max
        if bound is None or self.interior:
            return self.free_optimum
        from scipy.optimize import lsq_linear  # only where the box is active: a slow import

        root = _root(self.hessian, self.sigma / 2)
        right = solved(root, self.linear, (self.sigma / 2) ** 0.5)
        fit = lsq_linear(root.T, right, (-bound, bound), tol=1e-14)
        return np.asarray(fit.x)

    @cached_property
    def least(self) -> float:
        """f(θ*) > 0.

        Raises
        ------
        DataError
            If it is not positive, so that the relative fitness is undefined.
        """
        theta = self.optimum
        constant = float(self.weights @ self.energy)
        least = float(theta @ self.hessian @ theta - 2 * self.linear @ theta + constant)
        # The regulariser alone has this much, whatever cancels among records of very large numbers.
        return positive(max(least, float(self.sigma / 2 * theta @ theta)))

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), without cancellation.

        Each point is one matrix product of its own, so that a point's bits do not depend on how
        many are asked for.
        """
        step = theta - self.optimum
        curved = np.matmul(step[..., None, :], self.hessian)[..., 0, :]
        slope = 2 * (self.hessian @ self.optimum - self.linear)
        first = 0.0 if self.interior else np.einsum("...j,j->...", step, slope)
        return np.asarray(np.einsum("...j,...j->...", curved, step) + first)

    def fitness(self, theta: Array) -> Array:
        """Return f(θ) for points of shape (…, p)."""
        return self.least + self.excess(theta)

    def relative_fitness(self, theta: Array) -> Array:
        """Return ψ(θ) = f(θ)/f(θ*) − 1 ≥ 0 for points of shape (…, p)."""
        return self.excess(theta) / self.least

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean record gradient 2(C_i θ − r_i), one owner and point per row.

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
            Where each row's gradient is taken.
        """
        if self.n_features > FIXED:
            product = np.stack([self.gram[i] @ x for i, x in zip(owners, points, strict=True)])
        else:
            product = np.einsum("rjk,rj->rk", self.gram.take(owners, axis=0), points)
        product -= self.moment.take(owners, axis=0)
        product *= 2
        return product


def solved(matrix: Array, right: Array, least: float) -> Array:
    """Solve a system whose singular values are at least ``least`` in exact arithmetic.

    Columns of very large numbers next to small ones make a matrix singular in floating point. Its
    small singular values are then raised to ``least``.
    """
    try:
        solution = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        if np.isfinite(solution).all():
            return solution
    except np.linalg.LinAlgError:
        pass
    left, singular, rightmost = np.linalg.svd(matrix)
    return np.asarray(rightmost.T @ ((left.T @ right) / np.maximum(singular, least)))


def _root(matrix: Array, least: float) -> Array:
    """Return R with R Rᵀ = ``matrix``, whose eigenvalues are at least ``least``, up to rounding."""
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        return np.asarray(vectors * np.sqrt(np.maximum(values, least)))


FIXED = 64
"""Up to this p, gathered matrices beat a loop over replicates."""
