"""Record gradients of linear models, ∇ℓ = φ'(θᵀx, y) x, clipped or measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives.losses import SQUARED, Loss
from asyncdp_sim.learning.objectives.rows import (
    ROUNDING,
    MeasuredRows,
    Norm,
    Rows,
    unbounded_where_sums_overflow,
)


@dataclass(frozen=True, eq=False)
class LinearRecords(MeasuredRows):
    """Owners' records, for what second moments cannot tell.

    Attributes
    ----------
    features : sequence of array (n_i, p)
        Best in Fortran order: a gradient reads it by columns.
    targets : sequence of array (n_i,)
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    norm : str
        The norm of ``clip`` and of measured gradients.
    loss : Loss
        φ.
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    clip: float | None = None
    norm: Norm = "l1"
    loss: Loss = SQUARED

    @property
    def linear(self) -> "LinearRecords":
        """Itself: a gradient is φ'(θᵀx, y) x."""
        return self

    @classmethod
    def joined(cls, several: Sequence[Any]) -> "LinearRecords | None":
        """Return the records of all owners of several, in turn; None where these are not alike."""
        kinds = [
            (each.clip, each.norm, each.loss) if type(each) is cls else None for each in several
        ]
        if None in kinds or any(kind != kinds[0] for kind in kinds):
            return None
        first: LinearRecords = several[0]
        features = [x for each in several for x in each.features]
        targets = [y for each in several for y in each.targets]
        return replace(first, features=features, targets=targets)

    @cached_property
    def _blocks(self) -> list[tuple[float | None, list[tuple[Array, Array, Array, Array]]]]:
        """Of each owner c of :attr:`Loss.rate`, and x, y and two bounds block by block.

        The bounds are the least and largest slope of each record: a gradient's norm |φ'|‖x‖ exceeds
        C beyond ±C/‖x‖. With a c they are of z, between which φ' = c(z − y) holds. An owner has no
        c where y ± C/(c‖x‖) would lose digits of C/‖x‖.
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
        """Records of the largest block."""
        return max((len(y) for _, blocks in self._blocks for _, y, _, _ in blocks), default=0)

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        """Of each owner c, shape (N, 1), and Σ y x, shape (N, p); 1 and 0 of one without a c."""
        rates = [rate for rate, _ in self._blocks]
        with np.errstate(over="ignore", invalid="ignore"):
            pulled = [
                np.zeros(x.shape[1]) if rate is None else y @ x
                for rate, x, y in zip(rates, self.features, self.targets, strict=True)
            ]
        return np.array([[1.0 if rate is None else rate] for rate in rates]), np.stack(pulled)

    @cached_property
    def _shares(self) -> Array:
        """1/n_i, shape (N,); infinite of an owner without records."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / self.counts)

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
        others = np.flatnonzero(asking[1:] != asking[:-1]) + 1
        edges = [0, *others.tolist(), len(asking)] if len(asking) > 0 else []
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
        """Add up record by record where sums overflowed; clipped gradients are finite."""
        if self.clip is None:
            return
        for row in np.flatnonzero(~np.isfinite(sums).all(axis=1)).tolist():
            owner = int(owners[row])
            x, y, lengths = self.features[owner], self.targets[owner], self.lengths[owner]
            sums[row] = self.total(x, y, lengths, points[row], self.clip)

    def _sums(self, owner: int, points: Array, buffer: Array) -> Array:
        """Return an owner's clipped slopes or, with a c, predictions times x, summed up, (r, p).

        Records are read in blocks that stay in the cache while all points use them. BLAS rounds
        products of another shape otherwise, so every product has :data:`ABREAST` points, the last
        ones filled up with zeros: a point's bits depend neither on its place nor on the others.
        Slopes are in the buffer, since allocating them anew for every owner is slow.
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
        """Return the (clipped) gradients added up at one model; 0 of a record where it is ∞ − ∞."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = self.loss.slope(x @ theta, y)
            if clip is not None:
                bound = clip / lengths
                np.clip(slope, -bound, bound, out=slope)
                slope[~np.isfinite(slope)] = 0.0
        return np.asarray(x.T @ slope)

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
        rows = []
        for owner, point, draws in zip(owners, points, uniforms, strict=True):
            features, targets = self.features[owner], self.targets[owner]
            chosen = (draws * len(targets)).astype(np.int64)
            x = features[chosen]
            slope = self.loss.slope(x @ point, targets[chosen])
            rows.append((1 / len(chosen)) * (x.T @ slope))
        return np.stack(rows)

    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖ over balls of models; see :class:`~.rows.Records`.

        |θᵀx − cᵀx| ≤ r‖x‖₂, and φ' rises with z, so that |φ'| is largest at an end of the interval
        of z (and never beyond its supremum).
        """
        x, y = self.features[owner][rows], self.targets[owner][rows, None]
        spreads, far = self._spreads[owner][rows, None], np.linalg.norm(centres, axis=1) + radius
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
"""Points to a product: 4 take 1.3 times as long for each of many, 16 1.7 times for one alone."""
_BLOCK = 2**16
"""Numbers of features looked at together, half a megabyte, so that they stay in the cache."""
_SLOPES = 2**18
"""Slopes computed together: fewer wait for Python, more leave the cache."""
