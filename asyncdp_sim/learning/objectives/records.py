"""Record gradients of linear models, ∇ℓ = φ'(θᵀx, y) x, clipped or measured one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.objectives.gradients.slopes import (
    ABREAST,
    ALONE,
    BESIDE,
    TOGETHER,
    Products,
    RecordSlopes,
    slopes_of,
    stacked,
    unstacked,
)
from asyncdp_sim.learning.objectives.largest import Rows, largest
from asyncdp_sim.learning.objectives.losses import Array, Loss
from asyncdp_sim.learning.objectives.rows import MeasuredRows, Norm, unbounded_where_sums_overflow
from asyncdp_sim.learning.objectives.squared import SQUARED
from asyncdp_sim.threads import cores, side_by_side


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
    def _slope_bounds(self) -> list[Array]:
        """|φ'| above which a gradient's norm |φ'|‖x‖ exceeds C; inf where x = 0."""
        clip = np.inf if self.clip is None else self.clip
        with np.errstate(divide="ignore"):
            return [clip / length for length in self.lengths]

    @cached_property
    def _slopes(self) -> RecordSlopes:
        return RecordSlopes(self.loss) if self.clip is None else slopes_of(self.loss)

    @cached_property
    def _most(self) -> int:
        """The most records that an owner has."""
        return int(self.counts.max(initial=0))

    @cached_property
    def _shares(self) -> Array:
        """1/n_i, shape (N,); infinite of an owner without records."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / self.counts)

    def expect(self, answers: int) -> None:
        """Be told how many gradients over all of some owner's records are to come."""
        self._slopes.expect(answers * sum(map(len, self.targets)) // len(self.targets))

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
        asking, asked = owners[order], points[order]
        sums = np.empty(points.shape)

        def work(some: slice, products: Products = TOGETHER) -> None:
            sums[some] = self._sums(int(asking[some.start]), asked[some], products)

        if len(owners) * self._most > ALONE:
            threads = cores()
            share = partial(work, products=BESIDE if threads > 1 else TOGETHER)
            side_by_side(share, _pieces(asking, threads), threads)
        else:
            for some in _pieces(asking, 1):
                work(some)
        if self.clip is not None and not np.isfinite(sums).all():
            for row in np.flatnonzero(~np.isfinite(sums).all(axis=1)).tolist():
                sums[row] = self._bounded_sum(int(asking[row]), asked[row])
        found = np.empty(points.shape)
        found[order] = sums * self._shares[asking, None]
        return found

    def _sums(self, owner: int, points: Array, products: Products) -> Array:
        """Return an owner's (clipped) record gradients added up, at each point (r, p).

        Records are taken in blocks that stay in the cache while the points that ask for them are
        served, some at a time; see :mod:`.gradients.slopes`.
        """
        features, targets = self.features[owner], self.targets[owner]
        stacks = stacked(points)
        sums = np.zeros(stacks.shape)
        block = max(1, min(len(targets), _BLOCK // points.shape[1]))
        together = min(len(stacks), max(1, _SLOPES // (ABREAST * block)))
        room = np.empty(together * ABREAST * block)  # memory that is asked for anew is slow
        for start in range(0, len(targets), block):
            some = slice(start, start + block)
            x, y = products.block(features[some]), targets[some]
            for first in range(0, len(stacks), together):
                these = stacks[first : first + together]
                slopes = room[: len(these) * ABREAST * len(y)].reshape(len(these), ABREAST, len(y))
                np.matmul(these, x.T, out=slopes)
                z = unstacked(slopes, len(points) - ABREAST * first)
                self._slopes.put(z, y, self._slope_bounds[owner][some])
                sums[first : first + together] += products.product(slopes, x)
        return unstacked(sums, len(points))

    def _bounded_sum(self, owner: int, point: Array) -> Array:
        """Return the sum of clipped gradients; 0 of a record where it is no number (∞ − ∞)."""
        x, bound = self.features[owner], self._slope_bounds[owner]
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.clip(self.loss.slope(x @ point, self.targets[owner]), -bound, bound)
        return np.asarray(x.T @ np.where(np.isfinite(slope), slope, 0.0))

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
            some = features[chosen]
            slope = self.loss.slope(some @ point, targets[chosen])
            rows.append((1 / len(chosen)) * (some.T @ slope))
        return np.stack(rows)

    def included(
        self, owners: npt.NDArray[np.int64], points: Array, uniforms: Array, probability: float
    ) -> Array:
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
        found = np.empty(points.shape)
        for row, (owner, point) in enumerate(zip(owners.tolist(), points, strict=True)):
            n = len(self.targets[owner])
            chosen = np.flatnonzero(uniforms[row, :n] < probability)
            some = self.features[owner][chosen]
            slope = self.loss.slope(some @ point, self.targets[owner][chosen])
            if self.clip is not None:  # a model that has diverged tells nothing: ∞ − ∞ is 0
                bound = self._slope_bounds[owner][chosen]
                np.clip(slope, -bound, bound, out=slope)
                slope[np.isnan(slope)] = 0.0
            found[row] = some.T @ slope / (probability * n)
        return found

    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖ over balls of models; see :class:`~.largest.Bounded`.

        |θᵀx − cᵀx| ≤ r‖x‖₂, and φ' rises with z, so that |φ'| is largest at an end of the interval
        of z (and never beyond its supremum).
        """
        x, y = self.features[owner][rows], self.targets[owner][rows, None]
        spreads, far = self._spreads[owner][rows, None], np.linalg.norm(centres, axis=1) + radius
        rounding = _ROUNDING * (x.shape[1] + 8) * far
        reach = (radius + rounding) * spreads
        z = x @ centres.T
        steepest = np.abs(self.loss.slope(z + reach, y))
        np.maximum(steepest, np.abs(self.loss.slope(z - reach, y)), out=steepest)
        steepest *= 1 + _ROUNDING
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

    def largest_gradient(self, models: Array) -> Array:
        """Return, per owner, the largest unclipped record gradient at any of the models.

        Parameters
        ----------
        models : array (m, p)

        Returns
        -------
        array (N,)
            max over records and models of |φ'(θᵀx, y)|‖x‖, in the norm of these records.
        """
        return np.array([largest(self, owner, models) for owner in range(len(self.targets))])

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


def _pieces(asking: npt.NDArray[np.int64], threads: int) -> list[slice]:
    """Return rows of one owner each, of sorted owners, as many as so many threads want.

    Not more, since records are read once for all points of a piece; and in whole stacks.
    """
    edges = [*np.flatnonzero(np.diff(asking, prepend=-1)).tolist(), len(asking)]
    pieces = []
    for first, last in pairwise(edges):
        stacks = -(-(last - first) // ABREAST)
        step = ABREAST * -(-stacks // threads)
        pieces += [slice(at, min(at + step, last)) for at in range(first, last, step)]
    return pieces


_BLOCK = 2**16
"""Numbers of features looked at together, half a megabyte, so that they stay in the cache."""
_SLOPES = 2**18
"""Slopes worked out together: fewer wait for Python, more leave the cache and are given anew."""
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Relative, of a product; of a sum, times its terms."""
