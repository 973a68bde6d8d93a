"""Minimises a smooth convex objective over a box: projected Newton with an active set.

Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM J.
Control and Optimization 20 (1982). Affine invariant, so that unscaled features do no harm. Where
Newton's step is of no use (a Huber loss with all residuals beyond δ has no second derivative), a
quadratic that lies above the loss takes its place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple, Protocol

import numpy as np

from asyncdp_sim.learning.objectives.losses import Array, Fit, SmoothLoss, unsolved

PROMISED = 1e-8
"""Largest slope of f at θ*, along each free coordinate, relative to the terms that it sums."""
_AIM = 1e-14
_ITERATIONS = 200
_EPS = float(np.finfo(float).eps)


class MeanLoss(Protocol):
    """A mean of losses of a model θ (p,), and its derivatives."""

    @property
    def numbers(self) -> int:
        """P."""

    def value(self, theta: Array) -> float:
        """Return the mean loss."""

    def slopes(self, theta: Array) -> Array:
        """Return the derivative of each record's loss in its predictions, (n, …)."""

    def pulled(self, slopes: Array) -> Array:
        """Return the mean gradient (p,) of slopes."""

    def terms(self, slopes: Array) -> Array:
        """Return the mean size (p,) of what it sums."""

    def curvatures(self, theta: Array) -> Iterator[Array]:
        """Yield the second derivative (p, p), then that of a quadratic that lies above."""


@dataclass(frozen=True, eq=False)
class _OfProducts:
    """(1/n) Σ φ(θᵀx_j, y_j)."""

    loss: SmoothLoss
    x: Array
    y: Array

    @property
    def numbers(self) -> int:
        return int(self.x.shape[1])

    @cached_property
    def _sizes(self) -> Array:
        return np.abs(self.x)

    def value(self, theta: Array) -> float:
        return float(self.loss.value(self.x @ theta, self.y).mean())

    def slopes(self, theta: Array) -> Array:
        return self.loss.slope(self.x @ theta, self.y)

    def pulled(self, slopes: Array) -> Array:
        return np.asarray(self.x.T @ slopes / len(self.y))

    def terms(self, slopes: Array) -> Array:
        return np.asarray(self._sizes.T @ np.abs(slopes) / len(self.y))

    def curvatures(self, theta: Array) -> Iterator[Array]:
        z = self.x @ theta
        for bend in (self.loss.bend, self.loss.envelope):
            yield (self.x * bend(z, self.y)[:, None]).T @ self.x / len(self.y)


def newton(
    path: Sequence[SmoothLoss], x: Array, y: Array, sigma: float, theta_max: float | None
) -> Fit:
    """Return the minimum of (σ/2)‖θ‖² + (1/n) Σ φ(θᵀx_j, y_j) over ‖θ‖_∞ ≤ θ_max.

    Parameters
    ----------
    path : sequence of SmoothLoss
        φ comes last; the minimum of each loss is where the search for the next one's begins.
    x, y, sigma, theta_max
        As in :meth:`~asyncdp_sim.learning.objectives.losses.Loss.fit`.

    Raises
    ------
    DataError
        If the optimality conditions do not hold to :data:`PROMISED`.
    """
    return minimum([_OfProducts(loss, x, y) for loss in path], sigma, theta_max)


def minimum(path: Sequence[MeanLoss], sigma: float, theta_max: float | None) -> Fit:
    """Return the minimum of (σ/2)‖θ‖² and the last of several mean losses over ‖θ‖_∞ ≤ θ_max.

    Raises
    ------
    DataError
        If the optimality conditions do not hold to :data:`PROMISED`.
    """
    bound = np.inf if theta_max is None else theta_max
    theta, reached = np.zeros(path[0].numbers), np.inf
    for mean in path:
        with np.errstate(all="ignore"):  # what is found is judged, however it was
            found, reached = _descend(mean, sigma, bound, theta)
        theta = found.theta
    if reached > PROMISED:
        raise unsolved(sigma, reached, PROMISED)
    return found


def _descend(mean: MeanLoss, sigma: float, bound: float, theta: Array) -> tuple[Fit, float]:
    """Return the best point met from ``theta`` on, and its slope relative to its terms."""
    best, left = np.inf, _PATIENCE
    found = Fit(theta, mean.slopes(theta))
    for _ in range(_ITERATIONS):
        slopes = mean.slopes(theta)
        gradient = sigma * theta + mean.pulled(slopes)
        terms = sigma * np.abs(theta) + mean.terms(slopes)
        reached = _slope(theta, gradient, terms, bound)
        left = _PATIENCE if reached < best / 2 else left - 1
        if reached < best:
            found, best = Fit(theta, slopes), reached
        if best <= _AIM or (best <= PROMISED / 100 and left <= 0):
            break
        ends = []
        for curvature in mean.curvatures(theta):
            hessian = curvature + sigma * np.eye(len(theta))
            direction = _direction(theta, gradient, hessian, bound)
            ends.append(_search(mean, sigma, bound, theta, gradient, direction))
            if ends[-1].length > _SHORT:
                break
        theta = min(ends, key=attrgetter("fitness")).theta
    return found, best


def _slope(theta: Array, gradient: Array, terms: Array, bound: float) -> float:
    """Return how far the optimality conditions are from holding; 0 at θ*."""
    held = ((theta >= bound) & (gradient <= 0)) | ((theta <= -bound) & (gradient >= 0))
    left = np.where(held, 0.0, np.abs(gradient))
    return float(np.max(left / np.where(left > 0, terms, 1.0)))


def _direction(theta: Array, gradient: Array, hessian: Array, bound: float) -> Array:
    """Return Newton's direction in the free coordinates, steepest descent in the others."""
    diagonal = np.diag(hessian)
    steep = gradient / diagonal
    near = min(1e-3 * bound, float(np.max(np.abs(theta - np.clip(theta - steep, -bound, bound)))))
    held = (theta >= bound - near) & (gradient < 0) | (theta <= near - bound) & (gradient > 0)
    free = np.flatnonzero(~held)
    direction = -steep
    if len(free) > 0:
        direction[free] = -solve(hessian[np.ix_(free, free)], gradient[free])
    return direction


def solve(matrix: Array, right: Array) -> Array:
    """Solve a positive definite system, scaled to a unit diagonal; NaN where it is singular."""
    scale = 1 / np.sqrt(np.diag(matrix))
    try:
        return np.asarray(scale * np.linalg.solve(matrix * scale * scale[:, None], scale * right))
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)


def _search(
    mean: MeanLoss,
    sigma: float,
    bound: float,
    theta: Array,
    gradient: Array,
    direction: Array,
) -> "_End":
    """Return where the first of ever shorter projected steps that lowers f enough ends."""

    def fitness(point: Array) -> float:
        return float(sigma / 2 * point @ point + mean.value(point))

    before, length = fitness(theta), 1.0
    while length > _EPS:
        trial = np.clip(theta + length * direction, -bound, bound)
        after = fitness(trial)
        if after <= before + 1e-4 * float(gradient @ (trial - theta)) + 8 * _EPS * before:
            return _End(trial, length, after)
        length /= 2
    return _End(theta, 0.0, before)


class _End(NamedTuple):
    """The end of a line search: the point, the part of the step, and f there."""

    theta: Array
    length: float
    fitness: float


_SHORT = 0.1
"""Newton steps shorter than this part give way to a step of the loss's quadratic envelope."""
_PATIENCE = 3
"""Iterations without a gain after which rounding is taken to be what is left."""
