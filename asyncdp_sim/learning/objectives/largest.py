"""The largest record gradient at many points, in one pass over records.

A bound of each record's gradient over a ball around all points says which records may hold the
maximum. Those are measured at all points, in blocks, the largest bounds first, until what is left
is bounded below the largest gradient met. Few records at few points are measured without bounds,
which would take longer.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Rows = Indices | slice


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

    def lengths_at(self, owner: int, rows: Indices, points: Array) -> Array:
        """Return ‖∇ℓ‖, shape (m,), of m records of an owner, each at its own point (m, p).

        The bits of each do not depend on how many there are.
        """


def largest(records: Bounded, owner: int, points: Array, least: float = 0.0) -> float:
    """Return the largest ‖∇ℓ‖ of an owner's records at any of the points, to the bit.

    Parameters
    ----------
    records : Bounded
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


def largest_of_all(records: Bounded, points: Array, least: Array) -> Array:
    """Return the largest ‖∇ℓ‖ of every owner at any of the points, at least ``least``, (N,)."""
    return np.array([largest(records, i, points, each) for i, each in enumerate(least.tolist())])


def _ball(points: Array) -> tuple[Array, float]:
    """Return the centre (1, p) and the radius of a ball around points (q, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.full((1, len(points)), 1 / len(points)) @ points  # faster than extremes
        away = points - centre
        squares = float(np.einsum("ij,ij->i", away, away).max())
    return centre, float(np.sqrt(squares)) * (1 + 1e-9) + _TINY


def _bounds(records: Bounded, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
    """Return bounds of records' ‖∇ℓ‖ over balls around centres, shape (m, q); ∞ without one."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = records.ceilings(owner, rows, centres, radius)
    return np.where(np.isnan(found), np.inf, found)


def _met(records: Bounded, owner: int, rows: Indices, points: Array, best: float) -> float:
    """Return the largest ‖∇ℓ‖ of some records at all points, or ``best`` where none is larger."""
    tops = _bounds(records, owner, rows, points, 0.0)
    one, at = np.unravel_index(int(tops.argmax()), tops.shape)
    best = _longest(records, owner, rows[[one]], np.array([at]), points, best)
    some, which = np.nonzero(tops > best)
    return _longest(records, owner, rows[some], which, points, best)


def _longest(
    records: Bounded, owner: int, rows: Indices, which: Indices, points: Array, best: float
) -> float:
    """Return the largest ‖∇ℓ‖ of records, each at one of the points; ∞ where it is no number."""
    together = max(1, PAIRS // points.shape[1])
    for first in range(0, len(rows), together):
        some = slice(first, first + together)
        with np.errstate(over="ignore", invalid="ignore"):
            found = records.lengths_at(owner, rows[some], points[which[some]])
        best = max(best, float(np.where(np.isnan(found), np.inf, found).max()))
    return best


_TINY = 1e-150
"""Squares of less than this are no numbers."""
FEW = 2**10
"""Records times points that are measured without looking for bounds first."""
PAIRS = 2**17
"""Records times points that are looked at together, and fewer records the more features."""
