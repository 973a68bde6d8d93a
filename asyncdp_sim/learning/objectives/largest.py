"""The largest record gradient at many points, without a full pass over the records for each.

Branch and bound: no record whose gradient is bounded below the largest one met, over a ball around
all points, can hold the maximum. The records with the largest bounds are looked at, at all points;
where others remain, the points are split into two smaller balls. Few records at few points are
measured without bounds, which would take longer.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64] | slice


class Bounded(Protocol):
    """Records that know how long their gradients can be."""

    @property
    def targets(self) -> Sequence[Array]:
        """Targets, owner by owner: as many as it has records."""

    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖, shape (m, q), rounding included; NaN where there is none.

        Each of one of m records of an owner (from 0) over the ball of this radius (L2) around one
        of the centres (q, p).
        """

    def lengths_at(self, owner: int, rows: npt.NDArray[np.int64], points: Array) -> Array:
        """Return ‖∇ℓ‖, shape (m,), of m records of an owner, each at its own point (m, p).

        The bits of each do not depend on how many there are.
        """

    @property
    def as_one(self) -> "Bounded":
        """The same records, in their order, as those of one owner; with the same bits."""


def largest(
    records: Bounded,
    owner: int,
    points: Array,
    least: float = 0.0,
    rows: npt.NDArray[np.int64] | None = None,
) -> float:
    """Return the largest ‖∇ℓ‖ of an owner's records at any of the points, to the bit.

    Parameters
    ----------
    records : Bounded
    owner : int
        From 0.
    points : array (q, p)
    least : float
        Returned where no gradient is larger.
    rows : array of int, optional
        The records that are looked at; all of them where absent.

    Returns
    -------
    float
        ∞ where a point is not finite: no bound holds for gradients there.
    """
    if not np.isfinite(points).all():
        return np.inf
    if few(records, owner, points, rows):
        count = len(records.targets[owner])
        return _longest_pair(
            records, owner, np.arange(count) if rows is None else rows, points, least
        )
    best, parts = least, [(slice(None) if rows is None else rows, points)]
    while len(parts) > 0:
        among, some = parts.pop()
        if len(some) == 0:
            continue
        tops = ceilings_over(records, owner, among, *ball(some))
        worth = np.flatnonzero(tops > best)
        if len(worth) == 0:
            continue
        count = min(len(worth), max(1, PAIRS // max(some.shape)))
        if count < len(worth):
            worth = worth[np.argpartition(-tops[worth], count)]
        first, rest = worth[:count], worth[count:]
        best = max(best, met(records, owner, _picked(among, first), some, best))
        rest = rest[tops[rest] > best]
        if len(rest) > 0:
            left = _picked(among, rest)
            parts += [(left, half) for half in _halves(some)]
    return best


def few(
    records: Bounded, owner: int, points: Array, rows: npt.NDArray[np.int64] | None = None
) -> bool:
    """Return whether records (all where absent) at points are measured sooner than bounded."""
    count = len(records.targets[owner]) if rows is None else len(rows)
    return count * len(points) <= FEW


def ball(points: Array) -> tuple[Array, float]:
    """Return the centre (p,) and the radius of a ball around points (q, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.full(len(points), 1 / len(points)) @ points  # faster than extremes
        away = points - centre
        squares = float(np.einsum("ij,ij->i", away, away).max())
    return centre, float(np.sqrt(squares)) * (1 + 1e-9) + _TINY


def ceilings_over(records: Bounded, owner: int, rows: Rows, centre: Array, radius: float) -> Array:
    """Return a bound of each record's ‖∇ℓ‖ over one ball, shape (m,); ∞ where there is none."""
    return bounds(records, owner, rows, centre[None], radius)[:, 0]


def bounds(records: Bounded, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
    """Return bounds of records' ‖∇ℓ‖ over balls around centres, shape (m, q); ∞ without one."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = records.ceilings(owner, rows, centres, radius)
    return np.where(np.isnan(found), np.inf, found)


def met(
    records: Bounded, owner: int, rows: npt.NDArray[np.int64], points: Array, best: float
) -> float:
    """Return the largest ‖∇ℓ‖ of some records at some points, or ``best`` where none is larger."""
    if few(records, owner, points, rows):
        return _longest_pair(records, owner, rows, points, best)
    tops = bounds(records, owner, rows, points, 0.0)
    one, at = np.unravel_index(int(tops.argmax()), tops.shape)
    if tops[one, at] <= best:
        return best
    best = max(best, _longest(records, owner, rows[[one]], points[[at]]))
    some, where = np.nonzero(tops > best)
    together = max(1, PAIRS // points.shape[1])
    for first in range(0, len(some), together):
        pairs = slice(first, first + together)
        best = max(best, _longest(records, owner, rows[some[pairs]], points[where[pairs]]))
    return best


def _longest_pair(
    records: Bounded, owner: int, rows: npt.NDArray[np.int64], points: Array, best: float
) -> float:
    """Return the same of few of both, each record measured at each point."""
    if len(rows) * len(points) == 0:
        return best
    each, at = np.repeat(rows, len(points)), np.tile(points, (len(rows), 1))
    return max(best, _longest(records, owner, each, at))


def _longest(records: Bounded, owner: int, rows: npt.NDArray[np.int64], points: Array) -> float:
    return float(lengths(records, owner, rows, points).max())


def lengths(records: Bounded, owner: int, rows: npt.NDArray[np.int64], points: Array) -> Array:
    """Return ‖∇ℓ‖ of records, each at its own point, shape (m,); ∞ where it is no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = records.lengths_at(owner, rows, points)
    return np.where(np.isnan(found), np.inf, found)


def _picked(among: Rows, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return places if isinstance(among, slice) else among[places]


def _halves(points: Array) -> tuple[Array, Array]:
    """Split points (q ≥ 2, p) where they spread most."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = points - points[0]
        along = points[:, int(np.einsum("ij,ij->j", away, away).argmax())]
    order = np.argpartition(along, len(points) // 2)
    half = len(points) // 2
    return points[order[:half]], points[order[half:]]


_TINY = 1e-150
"""Squares of less than this are no numbers."""
FEW = 2**10
"""Records times points that are measured without looking for bounds first."""
PAIRS = 2**17
"""Records times points that are looked at together, and fewer records the more features."""
