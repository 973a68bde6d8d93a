"""Record gradients of linear models, ∇ℓ = φ'(θᵀx, y) x, clipped or measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.learning.objectives.losses import SQUARED, Array, Loss
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
        The norm of ``clip`` and of :meth:`largest_gradient`.
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

    @cached_property
    def _per_slope(self) -> list[Array]:
        """‖x‖/C of every row, 1 without C: the factor of φ' that C clips to ±1."""
        if self.clip is None:
            return [np.ones(len(y)) for y in self.targets]
        return [lengths / self.clip for lengths in self.lengths]

    @cached_property
    def _factors(self) -> Sequence[Array]:
        """Rows that give θᵀx; where φ' = a(z − y), rows (n_i, p + 1) that give it of (θ, −1)."""
        slope = self.loss.residual_slope
        if slope is None:
            return self.features
        with np.errstate(over="ignore"):  # such sums are added up again
            return [
                np.asfortranarray(np.column_stack([x, y]) * (slope * per_slope)[:, None])
                for x, y, per_slope in zip(
                    self.features, self.targets, self._per_slope, strict=True
                )
            ]

    @cached_property
    def _directions(self) -> Sequence[Array]:
        """C x/‖x‖ of every row, 0 where x = 0; x without C."""
        if self.clip is None:
            return self.features
        return [
            x / np.where(per_slope > 0, per_slope, 1.0)[:, None]
            for x, per_slope in zip(self.features, self._per_slope, strict=True)
        ]

    def gradient(self, owners: npt.NDArray[np.int64], points: Array) -> Array:
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
        asking = owners[order]
        first = np.flatnonzero(np.diff(asking, prepend=-1))
        counts = np.diff(first, append=len(owners))
        padded = -(-counts // ABREAST)
        ends = np.cumsum(padded)
        starts = ends - padded
        places = np.empty(len(owners), dtype=np.int64)
        places[order] = np.arange(len(owners)) + np.repeat(ABREAST * starts - first, counts)
        stacks = np.zeros((int(ends[-1]), ABREAST, points.shape[1] + 1))
        rows = stacks.reshape(-1, stacks.shape[2])
        rows[places, :-1], rows[places, -1] = points, -1.0
        groups = np.stack([asking[first], starts, ends, counts], axis=1).tolist()
        sums = self._sums(groups, stacks).reshape(-1, points.shape[1])[places]
        if not np.isfinite(sums).all():
            self._sum_again(sums, owners, points)
        return np.asarray(sums / self.counts[owners, None])

    def _sum_again(self, sums: Array, owners: npt.NDArray[np.int64], points: Array) -> None:
        """Add up record by record where sums overflowed; clipped gradients are finite."""
        if self.clip is None:
            return
        for row in np.flatnonzero(~np.isfinite(sums).all(axis=1)).tolist():
            owner = int(owners[row])
            x, y, lengths = self.features[owner], self.targets[owner], self.lengths[owner]
            sums[row] = self.total(x, y, lengths, points[row], self.clip)

    def _sums(self, groups: list[list[int]], stacks: Array) -> Array:
        """Return (clipped) record gradients added up, at the models (θ, −1) of stacks (s, 4, ·).

        Each group is an owner, its first stack, the end of its stacks, and how many models it has.
        Records are read in blocks that stay in the cache while all models use them. BLAS rounds
        products of another shape otherwise, so every product has :data:`ABREAST` models, the last
        ones filled up with zeros: a model's bits depend neither on its place nor on the others.
        """
        p, linear = stacks.shape[2] - 1, self.loss.residual_slope is not None
        sums, block = np.zeros((*stacks.shape[:2], p)), max(1, _BLOCK // p)
        pending, used = list[tuple[slice, Array, Array]](), 0
        sizes = (ABREAST * (end - at) * len(self.targets[owner]) for owner, at, end, _ in groups)
        buffer = np.empty(min(max(_SLOPES, ABREAST * block), sum(sizes)))
        for owner, start, end, models in groups:
            together = max(1, _SLOPES // (ABREAST * min(block, max(1, len(self.targets[owner])))))
            for row, at in product(
                range(0, len(self.targets[owner]), block), range(start, end, together)
            ):
                part, some = slice(row, row + block), slice(at, min(at + together, end))
                x = self._factors[owner][part]
                shape = (some.stop - at, ABREAST, len(x))
                size = shape[0] * ABREAST * len(x)
                if used + size > len(buffer):
                    self._add(sums, pending, buffer[:used])
                    pending, used = [], 0
                slopes = buffer[used : used + size].reshape(shape)
                np.matmul(stacks[some, :, : x.shape[1]], x.T, out=slopes)
                if not linear:
                    z = slopes.reshape(-1, len(x))[: models - ABREAST * (at - start)]
                    self.loss.slope(z, self.targets[owner][part], out=z)
                    z *= self._per_slope[owner][part]
                pending.append((some, slopes, self._directions[owner][part]))
                used += size
        self._add(sums, pending, buffer[:used])
        return sums

    def _add(self, sums: Array, pending: list[tuple[slice, Array, Array]], slopes: Array) -> None:
        """Add products of slopes, clipped all at once, and directions to their stacks."""
        if self.clip is not None:
            np.clip(slopes, -1.0, 1.0, out=slopes)
        for some, of_stacks, directions in pending:
            sums[some] += np.matmul(of_stacks, directions)

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

    def sampled(self, owners: npt.NDArray[np.int64], points: Array, uniforms: Array) -> Array:
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
        """Return bounds of ‖∇ℓ‖ over balls of models; see :class:`~.rows.Bounded`.

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

    def lengths_at(self, owner: int, rows: npt.NDArray[np.int64], points: Array) -> Array:
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


ABREAST = 4
"""Models to a product: 2 take 1.3 times as long for each of many, 8 1.6 times for one alone."""
_BLOCK = 2**14
"""Numbers of features read together, 128 kB, so that they stay in the cache."""
_SLOPES = 2**17
"""Slopes computed together, of several owners: fewer wait for Python, more leave the cache."""
