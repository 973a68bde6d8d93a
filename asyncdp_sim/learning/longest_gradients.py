"""The longest record gradients at the queries of a run.

Measuring them changes nothing that is learned. The largest record gradient at many points is
found in one pass: a bound of each record's gradient over a ball around all points says which
records may hold the maximum. Those are measured at all points, in blocks, the largest bounds first,
until what is left is bounded below the largest gradient found. Few records at few points are
measured without bounds, which would take longer.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives.records import Records, Rows

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
