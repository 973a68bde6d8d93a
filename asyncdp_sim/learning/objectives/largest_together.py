"""The largest record gradients of several owners, found together.

To the bit what each alone has. Few pairs of records and points are all measured, as one by one most
of the time would go elsewhere; of more, those that the largest bounds leave open.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.objectives.largest import (
    FEW,
    PAIRS,
    Array,
    Bounded,
    bounds,
    lengths,
)

Indices = npt.NDArray[np.int64]


def largest_of_each(records: Bounded, owners: Indices, points: Array, least: Array) -> Array | None:
    """Return the largest ‖∇ℓ‖ of every owner at its own points.

    Parameters
    ----------
    records : Bounded
    owners : array of int (q,)
        Whose points they are, from 0.
    points : array (q, p)
    least : array (N,)
        Returned where no gradient is larger.

    Returns
    -------
    array (N,) or None
        None where pairs are too many for that, or a point is not finite.
    """
    counts = _counts(records)
    rows_at = counts[owners]  # of the owner of each point
    pairs = int(rows_at.sum())
    most = (counts * np.bincount(owners, minlength=len(counts))).max()
    if most > FEW or pairs * points.shape[1] > PAIRS or not np.isfinite(points).all():
        return None
    first = (np.cumsum(counts) - counts)[owners] - (np.cumsum(rows_at) - rows_at)
    rows = np.arange(pairs) + np.repeat(first, rows_at)
    which, best = np.repeat(np.arange(len(points)), rows_at), least.copy()
    _raise(best, owners[which], records.as_one, 0, rows, which, points)
    return best


def largest_of_all(records: Bounded, points: Array, least: Array) -> Array | None:
    """Return the largest ‖∇ℓ‖ of every owner at all of the points (q, p), shape (N,).

    The other arguments, and when there is None, are those of :func:`largest_of_each`.
    """
    counts, best = _counts(records), least.copy()
    if (counts * len(points)).max() > FEW or not np.isfinite(points).all():
        return None
    if counts.sum() * max(points.shape) > PAIRS:
        return None
    if points.size > 0:
        one = records.as_one  # a copy of all of them: few, as is known by now
        whose = np.repeat(np.arange(len(counts)), counts)
        tops = bounds(one, 0, slice(None), points, 0.0)
        at, each = tops.argmax(axis=1), tops.max(axis=1)
        highest = np.zeros(len(counts))
        np.maximum.at(highest, whose, each)
        first = np.flatnonzero(each >= highest[whose])
        _raise(best, whose[first], one, 0, first, at[first], points)
        rows, which = np.nonzero(tops > best[whose, None])
        _raise(best, whose[rows], one, 0, rows, which, points)
    return best


def by_owner(owners: Indices) -> Iterator[tuple[int, Indices]]:
    """Yield every owner that is among owners (from 0), and at which places, in their order."""
    order = np.argsort(owners, kind="stable")
    there, first = np.unique(owners[order], return_index=True)
    yield from zip(there.tolist(), np.split(order, first)[1:], strict=True)


def _raise(
    best: Array,
    places: Indices,
    records: Bounded,
    owner: int,
    rows: Indices,
    which: Indices,
    points: Array,
) -> None:
    """Raise the best at its places to the ‖∇ℓ‖ of records at points, pair by pair."""
    together = max(1, AT_HAND // points.shape[1])
    for start in range(0, len(rows), together):
        some = slice(start, start + together)
        found = lengths(records, owner, rows[some], points.take(which[some], axis=0))
        np.maximum.at(best, places[some], found)


def _counts(records: Bounded) -> Indices:
    return np.array([len(targets) for targets in records.targets])


AT_HAND = 2**14
"""Numbers of points that few records are measured at together: larger arrays would be new memory
from the system each time, which takes longer than the measuring."""
