"""Owners' rows, whatever the model, and the largest record gradient at many points in one pass.

A bound of each record's gradient over a ball around all points says which records may hold the
maximum. Those are measured at all points, in blocks, the largest bounds first, until what is left
is bounded below the largest gradient met. Few records at few points are measured without bounds,
which would take longer.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints

if TYPE_CHECKING:
    from asyncdp_sim.learning.objectives.quadratic import Quadratic
    from asyncdp_sim.learning.objectives.records import LinearRecords


Rows = Ints | slice


def largest(records: "Records", owner: int, points: Array, least: float = 0.0) -> float:
    """Return the largest ‖∇ℓ‖ of an owner's records at any of the points, to the bit.

    Parameters
    ----------
    records : Records
    owner : int
        From 0.
    points : array (q, p)
    least : float
        Returned where no gradient is larger.

    Returns
    -------
    float
        ∞ where a point is not finite: no bound holds for gradients there.
    """
    if not np.isfinite(points).all():
        return np.inf
    count = len(records.targets[owner])
    if count * len(points) <= FEW:
        rows, which = np.indices((count, len(points))).reshape(2, -1)
        return _longest(records, owner, rows, which, points, least)
    tops = _bounds(records, owner, slice(None), *_ball(points))[:, 0]
    worth, best = np.flatnonzero(tops > least), least
    order, block = worth[np.argsort(-tops[worth])], max(1, PAIRS // max(points.shape))
    for first in range(0, len(order), block):
        rows = order[first : first + block]
        rows = rows[tops[rows] > best]
        if len(rows) == 0:
            break
        best = _met(records, owner, rows, points, best)
    return best


def largest_of_all(records: "Records", points: Array, least: Array) -> Array:
    """Return the largest ‖∇ℓ‖ of every owner at any of the points, at least ``least``, (N,)."""
    return np.array([largest(records, i, points, low) for i, low in enumerate(least.tolist())])


def _ball(points: Array) -> tuple[Array, float]:
    """Return the centre (1, p) and the radius of a ball around points (q, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.full((1, len(points)), 1 / len(points)) @ points  # faster than extremes
        away = points - centre
        squares = float(np.einsum("ij,ij->i", away, away).max())
    return centre, float(np.sqrt(squares)) * (1 + 1e-9) + _TINY


def _bounds(records: "Records", owner: int, rows: Rows, centres: Array, radius: float) -> Array:
    """Return bounds of records' ‖∇ℓ‖ over balls around centres, shape (m, q); ∞ without one."""
    with np.errstate(over="ignore", invalid="ignore"):
        bounds = records.ceilings(owner, rows, centres, radius)
    return np.where(np.isnan(bounds), np.inf, bounds)


def _met(records: "Records", owner: int, rows: Ints, points: Array, best: float) -> float:
    """Return the largest ‖∇ℓ‖ of some records at all points, or ``best`` where none is larger."""
    tops = _bounds(records, owner, rows, points, 0.0)
    row, at = np.unravel_index(int(tops.argmax()), tops.shape)
    best = _longest(records, owner, rows[[row]], np.array([at]), points, best)
    left, which = np.nonzero(tops > best)
    return _longest(records, owner, rows[left], which, points, best)


def _longest(
    records: "Records", owner: int, rows: Ints, which: Ints, points: Array, best: float
) -> float:
    """Return the largest ‖∇ℓ‖ of records, each at one of the points; ∞ where it is no number."""
    together = max(1, PAIRS // points.shape[1])
    for first in range(0, len(rows), together):
        block = slice(first, first + together)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = records.lengths_at(owner, rows[block], points[which[block]])
        best = max(best, float(np.where(np.isnan(lengths), np.inf, lengths).max()))
    return best


_TINY = 1e-150
"""Squares of less than this are no numbers."""
FEW = 2**10
"""Records times points that are measured without looking for bounds first."""
PAIRS = 2**17
"""Records times points that are looked at together, and fewer records the more features."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Relative, of a product; of a sum, times its terms."""


Norm = Literal["l1", "l2"]
_CACHE = 2**15
"""Numbers that stay in a processor's cache."""


def stacks(models: int, numbers: int) -> Iterator[slice]:
    """Split so many models, of each of which so many numbers are computed, to stay in the cache."""
    together = max(1, _CACHE // max(1, numbers))
    return (slice(first, first + together) for first in range(0, models, together))


class JudgedRows:
    """Rows over which f and θ* are; a base of frozen dataclasses that hold them.

    Attributes
    ----------
    features : sequence of array (n_i, ·)
    targets : sequence of array (n_i,)
    """

    features: Sequence[Array]
    targets: Sequence[Array]

    @cached_property
    def records(self) -> Ints:
        """n_i, shape (N,)."""
        return np.array([len(y) for y in self.targets], dtype=np.int64)

    @cached_property
    def weights(self) -> Array:
        """n_i/n, shape (N,)."""
        return np.asarray(self.records / self.records.sum())

    @property
    def n_owners(self) -> int:
        """N."""
        return len(self.targets)

    @property
    def second_moments(self) -> None:
        """None: they do not tell f."""
        return

    @property
    def judge(self) -> None:
        """None: f and θ* are of the owners' rows."""
        return


class Records(Protocol):
    """The owners' records, for what f cannot tell: clipped gradients and the largest ones."""

    @property
    def features(self) -> Sequence[Array]:
        """Rows of the model's design, owner by owner."""

    @property
    def targets(self) -> Sequence[Array]:
        """Targets, owner by owner."""

    @property
    def linear(self) -> "LinearRecords | None":
        """These records, where gradients are multiples of their rows; else None."""

    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖, shape (m, q), rounding included; NaN where there is none.

        Each of one of m records of an owner (from 0) over the ball of this radius (L2) around one
        of the centres (q, p).
        """

    def lengths_at(self, owner: int, rows: Ints, points: Array) -> Array:
        """Return ‖∇ℓ‖, shape (m,), of m records of an owner, each at its own point (m, p).

        The bits of each do not depend on how many there are.
        """

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean (clipped) record gradient, one owner and point per row."""

    def sampled(self, owners: Ints, points: Array, uniforms: Array) -> Array:
        """Return the mean gradient over records ⌊u n_i⌋ of each row's owner, unclipped."""

    def gradient_bound(self, theta_max: float | None) -> float | None:
        """Return a bound of ‖∇ℓ‖ over Θ and these records; None where there is none."""

    def included(self, owners: Ints, points: Array, uniforms: Array, probability: float) -> Array:
        """Return Σ ∇ℓ/(q n_i), clipped, over records j with uniforms[:, j] < q = probability."""


class MeasuredRows(ABC):
    """Records of this package: a base of frozen dataclasses that hold the rows of the design.

    Attributes
    ----------
    features : sequence of array (n_i, ·)
    targets : sequence of array (n_i,)
    norm : str
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    norm: Norm
    clip: float | None

    @cached_property
    def counts(self) -> Ints:
        """n_i, shape (N,)."""
        return np.array([len(y) for y in self.targets], dtype=np.int64)

    @cached_property
    def lengths(self) -> list[Array]:
        """‖x‖ of every row, one array per owner."""
        order = 1 if self.norm == "l1" else 2
        return [np.linalg.norm(x, ord=order, axis=1) for x in self.features]

    @cached_property
    def _spreads(self) -> list[Array]:
        """‖x‖₂ of every row, one array per owner: how far θᵀx goes for a step of θ."""
        if self.norm == "l2":
            return self.lengths
        return [np.linalg.norm(x, axis=1) for x in self.features]

    @abstractmethod
    def total(self, x: Array, y: Array, lengths: Array, theta: Array, clip: float | None) -> Array:
        """Return records' (clipped) gradients added up, at each model (r, p) or at one (p,).

        Each model is a matrix product of its own. ``lengths`` are the rows' ‖x‖.
        """

    def included(self, owners: Ints, points: Array, uniforms: Array, probability: float) -> Array:
        """Return the (clipped) gradients of some records, added up and over q n_i.

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
        uniforms : array (R, m)
            In [0, 1), m ≥ n_i: record j is in where the j-th is below q.
        probability : float
            q in (0, 1).
        """
        gradients = np.empty(points.shape)
        for row, (owner, theta) in enumerate(zip(owners.tolist(), points, strict=True)):
            n = len(self.targets[owner])
            chosen = np.flatnonzero(uniforms[row, :n] < probability)
            x, y = self.features[owner][chosen], self.targets[owner][chosen]
            total = self.total(x, y, self.lengths[owner][chosen], theta, self.clip)
            gradients[row] = total / (probability * n)
        return gradients


class StackedRecords(MeasuredRows):
    """Records whose gradients are no multiples of their rows: models are taken in stacks.

    A base of frozen dataclasses.
    """

    @property
    def linear(self) -> None:
        """None: a gradient is no multiple of its row."""
        return

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers that a model has for each row at a time."""

    @abstractmethod
    def ceiling(
        self, x: Array, y: Array, spreads: Array, lengths: Array, centres: Array, radius: float
    ) -> Array:
        """Return bounds (n, q) of ‖∇ℓ‖ over balls of models, for rows of these ‖x‖₂ and ‖x‖."""

    @abstractmethod
    def lengths_at(self, owner: int, rows: Ints, points: Array) -> Array:
        """Return ‖∇ℓ‖, shape (m,), one record and point per row; see :class:`Records`."""

    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖ over balls of models; see :class:`Records`."""
        x, y = self.features[owner][rows], self.targets[owner][rows]
        spreads, lengths = self._spreads[owner][rows], self.lengths[owner][rows]
        far = np.linalg.norm(centres, axis=1) + radius
        radius += ROUNDING * (centres.shape[1] + 8) * float(far.max())
        bounds = np.empty((len(y), len(centres)))
        for stack in stacks(len(centres), self.width * len(y)):
            bounds[:, stack] = self.ceiling(x, y, spreads, lengths, centres[stack], radius)
        bounds *= 1 + 1e-9
        unbounded_where_sums_overflow(bounds, spreads[:, None], far)
        return bounds

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return the mean (clipped) record gradient, one owner and point per row.

        Rows of one owner are taken together, each a matrix product of its own.

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
        """
        means = np.empty(points.shape)
        for owner in sorted(set(owners.tolist())):
            rows, y = np.flatnonzero(owners == owner), self.targets[owner]
            x, lengths = self.features[owner], self.lengths[owner]
            for stack in stacks(len(rows), self.width * len(y)):
                at = rows[stack]
                means[at] = self.total(x, y, lengths, points[at], self.clip) / len(y)
        return means

    def sampled(self, owners: Ints, points: Array, uniforms: Array) -> Array:
        """Return the mean gradient over records ⌊u n_i⌋ of each row's owner, unclipped.

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
        uniforms : array (R, b)
            In [0, 1): b records each, drawn with replacement.
        """
        means = np.empty(points.shape)
        for row, (owner, theta) in enumerate(zip(owners, points, strict=True)):
            chosen = (uniforms[row] * len(self.targets[owner])).astype(np.int64)
            x, y = self.features[owner][chosen], self.targets[owner][chosen]
            means[row] = self.total(x, y, self.lengths[owner][chosen], theta, None) / len(y)
        return means


def unbounded_where_sums_overflow(ceilings: Array, spreads: Array, far: Array) -> None:
    """Set bounds (m, q) to NaN where a sum θᵀx may overflow, in one order or in another.

    Then it is ∞ or no number by the order alone, and neither is a bound of the other.

    Parameters
    ----------
    ceilings : array (m, q)
        Changed.
    spreads : array (m, 1)
        ‖x‖₂ of the records.
    far : array (q,)
        ‖θ‖₂ at most, in each ball.
    """
    if spreads.size > 0 and far.size > 0 and not spreads.max() * far.max() < _SAFE:
        ceilings[~(spreads * far < _SAFE)] = np.nan


_SAFE = 1e300
"""|θᵀx| below which no part of the sum overflows."""


class Objective(Protocol):
    """f(θ) = (σ/2)‖θ‖² + (1/n) Σ_i Σ_{D_i} ℓ(θ; x, y) over Θ = {‖θ‖_∞ ≤ θ_max}."""

    @property
    def sigma(self) -> float:
        """σ > 0."""

    @property
    def theta_max(self) -> float | None:
        """θ_max; None is the whole space."""

    @property
    def records(self) -> Ints:
        """n_i, shape (N,)."""

    @property
    def weights(self) -> Array:
        """n_i/n, shape (N,)."""

    @property
    def n_owners(self) -> int:
        """N."""

    @property
    def n_features(self) -> int:
        """p, the coordinates of θ."""

    @property
    def smoothness(self) -> float | None:
        """Lipschitz constant of ∇f (an upper bound of it); None where f is not smooth."""

    @property
    def optimum(self) -> Array:
        """θ* = argmin of f over Θ, shape (p,); the best minimum found where f is not convex."""

    @property
    def least(self) -> float:
        """f(θ*) > 0."""

    @property
    def second_moments(self) -> "Quadratic | None":
        """The same over the rows that train, by owners' second moments; None if not quadratic."""

    @property
    def judge(self) -> "Quadratic | None":
        """Whose second moments f and θ* are of, where that is more rows than the owners'."""

    def excess(self, theta: Array) -> Array:
        """Return f(θ) − f(θ*) for points of shape (…, p), each by itself."""

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return owner i's mean record gradient, one owner (from 0) and point per row."""


@dataclass(frozen=True)
class Constants:
    """Constants of Assumptions 1 and 2 of Async.

    Attributes
    ----------
    sigma : float
        Strong convexity of g; f itself need not be convex.
    smoothness : float or None
        Largest eigenvalue of the second derivative of f, or an upper bound of it: 2λ_max(H) for
        the ridge loss, σ + sup φ'' λ_max(XᵀX/n) for other linear models; None where f is not
        smooth, and for the neural network, of which no bound is claimed.
    xi : float or None
        Ξ = sup over Θ and the owners' records of ‖∇ℓ‖ in the records' norm: max 2(|y| +
        θ_max‖x‖₁)‖x‖ for the ridge loss, max sup|φ'|‖x‖ for a loss of bounded slope (1 for
        the logistic and the hinge loss), an upper bound for the neural network;
        None where it is infinite.
    xi_g : float or None
        Ξ_g = sup over Θ of ‖∇g‖₂ = σ θ_max √p; None where Θ is the whole space.
    """

    sigma: float
    smoothness: float | None
    xi: float | None
    xi_g: float | None


def constants(objective: Objective, records: Records) -> Constants:
    """Return the constants of an objective and the records behind it."""
    bound = objective.theta_max
    xi_g = None
    if bound is not None:
        xi_g = objective.sigma * bound * float(np.sqrt(objective.n_features))
    return Constants(objective.sigma, objective.smoothness, records.gradient_bound(bound), xi_g)
