"""Record gradients of owners' rows: clipped, sampled, measured, and bounded over balls of models.

A linear model's are ∇ℓ = φ'(θᵀx, y) x, so that clipping one is clipping its slope φ'.

Measuring the longest ones at the queries of a run changes nothing that is learned. The largest
record gradient at many points is found in one pass: a bound of each record's gradient over a ball
around all points says which records may hold the maximum. Those are measured at all points, in
blocks, the largest bounds first, until what is left is bounded below the largest gradient found.
Few records at few points are measured without bounds, which would take longer.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives.losses import SQUARED, Loss

Rows = Ints | slice
"""Some records of an owner, by their places."""
ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Relative rounding error of a product; that of a sum is this times its number of terms."""
Norm = Literal["l1", "l2"]
_CACHE = 2**15
"""Numbers that stay in a processor's cache."""


def stacks(models: int, numbers: int) -> Iterator[slice]:
    """Yield slices of models so small that ``numbers`` numbers of each stay in the cache."""
    together = max(1, _CACHE // max(1, numbers))
    return (slice(first, first + together) for first in range(0, models, together))


class Records(ABC):
    """The owners' records: their gradients clipped, sampled, and measured.

    Those of this package are frozen dataclasses.

    Attributes
    ----------
    features : sequence of array (n_i, ·)
        Rows of the model's design, owner by owner.
    targets : sequence of array (n_i,)
    loss : Loss
        φ.
    norm : str
        The norm of ``clip`` and of measured gradients.
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    loss: Loss
    norm: Norm
    clip: float | None

    @property
    def linear(self) -> "LinearRecords | None":
        """These records, if gradients are multiples of their rows; else None."""
        return None

    @abstractmethod
    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖, shape (m, q), rounding included; NaN where there is none.

        A bound holds for one of m records of an owner (from 0) at all models in the ball of this
        radius (L2) around one of the centres (q, p).
        """

    @abstractmethod
    def lengths_at(self, owner: int, rows: Ints, points: Array) -> Array:
        """Return ‖∇ℓ‖, shape (m,), of m records of an owner, each at its own point (m, p).

        The bits of each do not depend on how many there are.
        """

    @abstractmethod
    def gradient_bound(self, theta_max: float | None) -> float | None:
        """Return a bound of ‖∇ℓ‖ over Θ and these records; None where there is none."""

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
    def spreads(self) -> list[Array]:
        """‖x‖₂ of every row, one array per owner: sup of |Δθᵀx|/‖Δθ‖₂."""
        if self.norm == "l2":
            return self.lengths
        return [np.linalg.norm(x, axis=1) for x in self.features]

    @abstractmethod
    def total(self, x: Array, y: Array, lengths: Array, theta: Array, clip: float | None) -> Array:
        """Return records' (clipped) gradients added up, at each model (r, p) or at one (p,).

        Each model is a matrix product of its own. ``lengths`` are the rows' ‖x‖.
        """

    @property
    def width(self) -> int:
        """Numbers that are computed for one model and one row."""
        return 1

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return the mean (clipped) record gradient, one owner and point per row.

        Rows of one owner are taken together, each a matrix product of its own, in stacks that stay
        in the cache.

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

    def included(self, owners: Ints, points: Array, uniforms: Array, probability: float) -> Array:
        """Return Σ ∇ℓ/(q n_i), clipped, over the records that are included.

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
        uniforms : array (R, m)
            In [0, 1), m ≥ n_i: record j is included if the j-th is below q.
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


def unbounded_where_sums_overflow(ceilings: Array, spreads: Array, far: Array) -> None:
    """Set bounds (m, q) to NaN where a sum θᵀx may overflow in some order of its terms.

    Such a sum is ∞ or NaN, depending on the order alone, and bounds nothing.

    Parameters
    ----------
    ceilings : array (m, q)
        The bounds, changed in place.
    spreads : array (m, 1)
        ‖x‖₂ of the records.
    far : array (q,)
        The largest ‖θ‖₂ in each ball.
    """
    if spreads.size > 0 and far.size > 0 and not spreads.max() * far.max() < _SAFE:
        ceilings[~(spreads * far < _SAFE)] = np.nan


_SAFE = 1e300
"""|θᵀx| below which no part of the sum overflows."""


@dataclass(frozen=True, eq=False)
class LinearRecords(Records):
    """Owners' records of a linear model.

    Attributes
    ----------
    features : sequence of array (n_i, p)
        Fastest in Fortran order, since a gradient reads columns.
    targets, clip, norm, loss
        See :class:`Records`.
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    clip: float | None = None
    norm: Norm = "l1"
    loss: Loss = SQUARED

    @property
    def linear(self) -> "LinearRecords":
        """These records, since a gradient is φ'(θᵀx, y) x."""
        return self

    @classmethod
    def joined(cls, several: Sequence[Any]) -> "LinearRecords | None":
        """Return several records as those of further owners; None if they have other settings."""
        kinds = [
            (part.clip, part.norm, part.loss) if type(part) is cls else None for part in several
        ]
        if None in kinds or any(kind != kinds[0] for kind in kinds):
            return None
        first: LinearRecords = several[0]
        features = [x for records in several for x in records.features]
        targets = [y for records in several for y in records.targets]
        return replace(first, features=features, targets=targets)

    @cached_property
    def _blocks(self) -> list[tuple[float | None, list[tuple[Array, Array, Array, Array]]]]:
        """For each owner the c of :attr:`Loss.rate`, and blocks of x, y and two bounds.

        Without c the bounds are the least and largest slope of each record: its gradient's norm
        |φ'|‖x‖ exceeds C outside of ±C/‖x‖. With c they are the predictions z between which
        φ' = c(z − y) is within these slopes. An owner has no c if y ± C/(c‖x‖) would lose digits of
        C/‖x‖.
        """
        clip, rate, made = np.inf if self.clip is None else self.clip, self.loss.rate, []
        for x, y, length in zip(self.features, self.targets, self.lengths, strict=True):
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                bound = np.minimum(clip / length, self.loss.steepest(np.inf, np.abs(y)))
                near = rate is not None and bool(np.all(rate * np.abs(y) <= FAR * bound))
                c = rate if near else None
                low, high = (-bound, bound) if c is None else (y - bound / c, y + bound / c)
                size = max(1, min(len(y), _BLOCK // x.shape[1]))
                parts = [slice(first, first + size) for first in range(0, len(y), size)]
                blocks = [(x[part], y[part], low[part], high[part]) for part in parts]
                made.append((c, blocks))
        return made

    @cached_property
    def _longest_block(self) -> int:
        """Number of records in the largest block."""
        return max((len(y) for _, blocks in self._blocks for _, y, _, _ in blocks), default=0)

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        """The owners' c, shape (N, 1), and Σ y x, shape (N, p); 1 and 0 for an owner without c."""
        rates = [rate for rate, _ in self._blocks]
        with np.errstate(over="ignore", invalid="ignore"):
            pulled = [
                np.zeros(x.shape[1]) if rate is None else y @ x
                for rate, x, y in zip(rates, self.features, self.targets, strict=True)
            ]
        return np.array([[1.0 if rate is None else rate] for rate in rates]), np.stack(pulled)

    @cached_property
    def _shares(self) -> Array:
        """1/n_i, shape (N,); infinite for an owner without records."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / self.counts)

    @override
    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return the mean (clipped) record gradient, one owner and point per row.

        A linear model's gradient points along x, so clipping it to norm C is clipping its slope
        φ' to ±C/‖x‖.

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
        """
        order = np.argsort(owners, kind="stable")
        asking, asked = owners[order], points[order]
        changes = np.flatnonzero(asking[1:] != asking[:-1]) + 1
        edges = [0, *changes.tolist(), len(asking)] if len(asking) > 0 else []
        longest = ABREAST * self._longest_block
        buffer = np.empty(max(longest, min(_SLOPES, -(-len(asking) // ABREAST) * longest)))
        sums = np.empty(points.shape)
        for first, last in pairwise(edges):
            sums[first:last] = self._sums(int(asking[first]), asked[first:last], buffer)
        rates, pulled = self._linear
        with np.errstate(over="ignore", invalid="ignore"):
            sums = rates[asking] * (sums - pulled[asking])
        if not np.isfinite(sums).all():
            self._sum_again(sums, asking, asked)
        means = np.empty(points.shape)
        means[order] = sums * self._shares[asking, None]
        return means

    def _sum_again(self, sums: Array, owners: Ints, points: Array) -> None:
        """Replace, in place, sums that overflowed: clipped gradients are added one by one."""
        if self.clip is None:
            return
        for row in np.flatnonzero(~np.isfinite(sums).all(axis=1)).tolist():
            owner = int(owners[row])
            x, y, lengths = self.features[owner], self.targets[owner], self.lengths[owner]
            sums[row] = self.total(x, y, lengths, points[row], self.clip)

    def _sums(self, owner: int, points: Array, buffer: Array) -> Array:
        """Return Σ x times an owner's clipped slopes or, with a c, clipped predictions, (r, p).

        Records are read in blocks that stay in the cache while all points use them. BLAS rounds
        products of other shapes differently. Every product therefore has :data:`ABREAST` points,
        zeros filling the last one up: a point's bits depend neither on its place nor on the others.
        Slopes are written into the buffer, since allocating them for every owner is slow.
        """
        rate, blocks = self._blocks[owner]
        count, p = points.shape
        filled = np.zeros((-(-count // ABREAST) * ABREAST, p))
        filled[:count], sums = points, np.zeros(filled.shape)
        for x, y, low, high in blocks:
            together = max(1, len(buffer) // (ABREAST * len(y))) * ABREAST
            for first in range(0, count, together):
                part = slice(first, first + together)
                these = filled[part]
                slopes = buffer[: len(these) * len(y)].reshape(-1, len(y))
                _product(these, x.T, slopes)
                z = slopes[: count - first]
                if rate is None:
                    self.loss.slope(z, y, out=z)
                np.maximum(z, low, out=z)  # faster than np.clip where little is clipped
                np.minimum(z, high, out=z)
                sums[part] += _product(slopes, x, np.empty(these.shape))
        return sums[:count]

    @override
    def total(self, x: Array, y: Array, lengths: Array, theta: Array, clip: float | None) -> Array:
        """Return the sum of (clipped) gradients at one model; a slope of ∞ − ∞ counts as 0."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = self.loss.slope(x @ theta, y)
            if clip is not None:
                bound = clip / lengths
                np.clip(slope, -bound, bound, out=slope)
                slope[~np.isfinite(slope)] = 0.0
        return np.asarray(x.T @ slope)

    @override
    def sampled(self, owners: Ints, points: Array, uniforms: Array) -> Array:
        """Return mean gradients over sampled records; see :class:`Records`."""
        rows = []
        for owner, point, draws in zip(owners, points, uniforms, strict=True):
            features, targets = self.features[owner], self.targets[owner]
            chosen = (draws * len(targets)).astype(np.int64)
            x = features[chosen]
            slope = self.loss.slope(x @ point, targets[chosen])
            rows.append((1 / len(chosen)) * (x.T @ slope))
        return np.stack(rows)

    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖ over balls of models; see :class:`Records`.

        |θᵀx − cᵀx| ≤ r‖x‖₂, and φ' rises with z, so that |φ'| is largest at an end of the interval
        of z (and never beyond its supremum).
        """
        x, y = self.features[owner][rows], self.targets[owner][rows, None]
        spreads, far = self.spreads[owner][rows, None], np.linalg.norm(centres, axis=1) + radius
        rounding = ROUNDING * (x.shape[1] + 8) * far
        reach = (radius + rounding) * spreads
        z = x @ centres.T
        steepest = np.abs(self.loss.slope(z + reach, y))
        np.maximum(steepest, np.abs(self.loss.slope(z - reach, y)), out=steepest)
        steepest *= 1 + ROUNDING
        np.minimum(steepest, self.loss.steepest(np.abs(z) + reach, np.abs(y)), out=steepest)
        steepest *= self.lengths[owner][rows, None]
        unbounded_where_sums_overflow(steepest, spreads, far)
        return steepest

    def lengths_at(self, owner: int, rows: Ints, points: Array) -> Array:
        """Return |φ'(θᵀx, y)|‖x‖, shape (m,), one record and point per row."""
        z = np.einsum("ij,ij->i", self.features[owner].take(rows, axis=0), points)
        return np.asarray(
            np.abs(self.loss.slope(z, self.targets[owner][rows])) * self.lengths[owner][rows]
        )

    def gradient_bound(self, theta_max: float | None) -> float | None:
        """Return sup of ‖∇ℓ‖ over Θ and these records; None where it is infinite."""
        steepest = self.loss.steepest
        if theta_max is None and not np.isfinite(steepest(np.inf, 0.0)):
            return None
        box = 0.0 if theta_max is None else theta_max  # a bounded slope needs no box
        reach = [
            np.max(steepest(box * np.abs(x).sum(axis=1), np.abs(y)) * length)
            for x, y, length in zip(self.features, self.targets, self.lengths, strict=True)
        ]
        return float(max(reach))


def _product(a: Array, b: Array, out: Array) -> Array:
    """Write a b to ``out``, :data:`ABREAST` rows of a at a time, and return it."""
    if len(a) == ABREAST:  # without reshaping, which takes as long as a small product
        return np.matmul(a, b, out=out)
    np.matmul(a.reshape(-1, ABREAST, a.shape[1]), b, out=out.reshape(-1, ABREAST, b.shape[1]))
    return out


FAR = 1e2
"""Largest |c y| over a bound of slopes at which predictions are clipped instead of slopes."""
ABREAST = 8
"""Points in a product. With 4 each of many takes 1.3 times as long, with 16 one alone 1.7 times."""
_BLOCK = 2**16
"""Numbers of features in a block: half a megabyte, so that they stay in the cache."""
_SLOPES = 2**18
"""Slopes computed together. With fewer Python's overhead is felt; more do not stay in the cache."""


FEW = 2**10
"""Largest product of records and points that are measured without bounds."""
PAIRS = 2**17
"""Largest product of records and points, or features, that are computed together."""
NUMBERS = 2**16
"""Numbers in the queries that are measured together: half a megabyte, which a cache holds."""
_ROUNDING = 1e-9
"""Added to a radius, relatively: far above the rounding of a centre and of distances from it."""
_TINY = 1e-150
"""Added to a radius: squares of smaller distances are 0 in floating point."""


@np.errstate(over="ignore", invalid="ignore")
def largest(records: Records, owner: int, points: Array, least: float = 0.0) -> float:
    """Return the largest ‖∇ℓ‖ of an owner's records at any of the points, to the bit.

    Parameters
    ----------
    records : Records
    owner : int
        From 0.
    points : array (q, p)
    least : float
        A lower bound, returned if no gradient is larger.

    Returns
    -------
    float
        ∞ if a point is not finite: no bound holds for gradients there.
    """
    if not np.isfinite(points).all():
        return np.inf
    count = len(records.targets[owner])
    if count * len(points) <= FEW:
        rows, which = np.indices((count, len(points))).reshape(2, -1)
        return _longest(records, owner, rows, which, points, least)
    tops = _bounds(records, owner, slice(None), *_ball(points))[:, 0]
    worth, best = np.flatnonzero(tops > least), least
    order = worth[np.argsort(-tops[worth])]
    block = max(1, PAIRS // max(points.shape))  # arrays have a row a record: of points, or features
    for first in range(0, len(order), block):
        rows = order[first : first + block]
        rows = rows[tops[rows] > best]
        if len(rows) == 0:
            break
        best = _largest_of_some(records, owner, rows, points, best)
    return best


def largest_of_all(records: Records, points: Array, least: Array) -> Array:
    """Return the largest ‖∇ℓ‖ of every owner at any of the points, at least ``least``, (N,)."""
    return np.array([largest(records, i, points, low) for i, low in enumerate(least.tolist())])


def _ball(points: Array) -> tuple[Array, float]:
    """Return the centre (1, p) and the radius of a ball around points (q, p)."""
    centre = np.full((1, len(points)), 1 / len(points)) @ points  # faster than extremes
    away = points - centre
    squares = float(np.einsum("ij,ij->i", away, away).max())
    return centre, float(np.sqrt(squares)) * (1 + _ROUNDING) + _TINY


def _bounds(records: Records, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
    """Return bounds of records' ‖∇ℓ‖ over balls around centres, shape (m, q); ∞ without one."""
    bounds = records.ceilings(owner, rows, centres, radius)
    return np.where(np.isnan(bounds), np.inf, bounds)


def _largest_of_some(records: Records, owner: int, rows: Ints, points: Array, best: float) -> float:
    """Return the largest ‖∇ℓ‖ of some records at all points, or ``best`` where none is larger."""
    tops = _bounds(records, owner, rows, points, 0.0)
    row, at = np.unravel_index(int(tops.argmax()), tops.shape)
    best = _longest(records, owner, rows[[row]], np.array([at]), points, best)
    left, which = np.nonzero(tops > best)
    return _longest(records, owner, rows[left], which, points, best)


def _longest(
    records: Records, owner: int, rows: Ints, which: Ints, points: Array, best: float
) -> float:
    """Return the largest ‖∇ℓ‖ of records, each at one of the points; ∞ where it is no number."""
    together = max(1, PAIRS // points.shape[1])
    for first in range(0, len(rows), together):
        block = slice(first, first + together)
        lengths = records.lengths_at(owner, rows[block], points[which[block]])
        best = max(best, float(np.where(np.isnan(lengths), np.inf, lengths).max()))
    return best


@dataclass(frozen=True, eq=False)
class Observed:
    """The longest record gradients at the queries of a run.

    Attributes
    ----------
    largest : array (N,)
        The largest ‖∇ℓ‖ of owner i's records at any of its own queries; 0 without queries.
    queries : int
        Number of queries.
    """

    largest: Array
    queries: int

    @classmethod
    def joined(cls, parts: Iterable["Observed"]) -> "Observed":
        """Return the observations of several parts of a run as one."""
        every = list(parts)
        longest = np.max([part.largest for part in every], axis=0)
        return cls(longest, sum(part.queries for part in every))


class GradientMonitor:
    """Measures the longest record gradients at queries, some thousands of queries at a time.

    The result does not depend, to the bit, on the order of queries, or on how queries are split
    among monitors.

    Parameters
    ----------
    records : Records
        The owners' records, whose gradients are measured.
    """

    def __init__(self, records: Records) -> None:
        self.records = records
        self._largest = np.zeros(len(records.targets))
        self._waiting: list[tuple[Ints, Array]] = []
        self._waiting_numbers = 0
        self._queries = 0

    def take(self, owners: Ints, points: Array) -> None:
        """Take queries (m, p) and the owner of each, from 0, to be measured now or later."""
        self._waiting.append((owners, points))
        self._waiting_numbers += points.size
        if self._waiting_numbers >= NUMBERS:
            self._measure()

    def observed(self) -> Observed:
        """Return the longest gradients at all queries that were taken."""
        self._measure()
        return Observed(self._largest.copy(), self._queries)

    def _measure(self) -> None:
        if len(self._waiting) == 0:
            return
        every, points = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        for owner in np.unique(every).tolist():
            asked = points[every == owner]
            self._largest[owner] = largest(self.records, owner, asked, self._largest[owner])
        self._queries += len(every)
        self._waiting, self._waiting_numbers = [], 0
