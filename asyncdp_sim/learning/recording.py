"""Records of learning: the central models, and the longest record gradients at queries.

Nothing that is recorded changes what is learned. The largest record gradient at many points is
found in one pass: a bound of each record's gradient over a ball around all points says which
records may hold the maximum. Those are measured at all points, in blocks, the largest bounds first,
until what is left is bounded below the largest gradient found. Few records at few points are
measured without bounds, which would take longer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives.records import Records, Rows
from asyncdp_sim.trace import RELEASED, Trace


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The models of a run's replicates, recorded every so many updates.

    Attributes
    ----------
    updates : array of int (R,)
        Number of updates of each replicate.
    record_every : int
        Distance in k between recorded models.
    central : array (J, R, p)
        θ_L at k = 0, record_every, 2·record_every, …; the last one is repeated after a replicate's
        end.
    final : array (R, p)
        θ_L after the last update.
    clipped : array of int (R,)
        Updates in which a projection changed a model.
    bounds : array (K + 1, R), optional
        The clip bound Ξ after k = 0, 1, … updates, where it moves.
    """

    updates: Ints
    record_every: int
    central: Array
    final: Array
    clipped: Ints
    bounds: Array | None = None

    def ks(self, replicate: int) -> Ints:
        """Return the recorded k of a replicate: 0, multiples of ``record_every``, and the last."""
        last = int(self.updates[replicate])
        ks = np.arange(0, last + 1, self.record_every)
        return ks if ks[-1] == last else np.append(ks, last)

    def models(self, replicate: int) -> Array:
        """Return θ_L at :meth:`ks`, shape (len(ks), p)."""
        last = int(self.updates[replicate])
        models = self.central[: last // self.record_every + 1, replicate]
        if last % self.record_every != 0:
            models = np.concatenate([models, self.final[replicate][None]])
        return models


class ModelRecorder:
    """Records the central models of adjacent cells in a fold, which are recorded equally often.

    Parameters
    ----------
    every : int
        Updates between recorded models, ≥ 1.
    first : int
        The first row of the first cell.
    cells, replicates : int
        Their number; each cell has a row for every replicate.
    horizon, size : int
        Updates of the longest replicate, and p.
    """

    def __init__(
        self, every: int, first: int, cells: int, replicates: int, horizon: int, size: int
    ) -> None:
        self._every, self._replicates = every, replicates
        self._rows = slice(first, first + cells * replicates)
        shape = (cells * replicates, horizon // every + 1, size)
        # a replicate's models are adjacent in memory, since they are judged together
        self._central = np.empty(shape).transpose(1, 0, 2)

    def record(self, k: int, central: Array) -> None:
        """Keep the models ``central`` (all rows, p) if ``k`` is a multiple of ``every``."""
        if k % self._every == 0:
            self._central[k // self._every] = central[self._rows]

    def ended(self, updates: Ints, final: Array) -> list[Array]:
        """Return the models of each cell, (J, R, p); each replicate's last is repeated to the end.

        Parameters
        ----------
        updates : array of int (R,)
            Updates of each replicate.
        final : array (all rows, p)
            The models after the last update.
        """
        columns = range(self._rows.stop - self._rows.start)
        for column in columns:
            last = int(updates[column % self._replicates])
            self._central[last // self._every + 1 :, column] = final[self._rows][column]
        return [
            self._central[:, first : first + self._replicates]
            for first in columns[:: self._replicates]
        ]


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
    order, block = worth[np.argsort(-tops[worth])], max(1, PAIRS // max(points.shape))
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
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.full((1, len(points)), 1 / len(points)) @ points  # faster than extremes
        away = points - centre
        squares = float(np.einsum("ij,ij->i", away, away).max())
    return centre, float(np.sqrt(squares)) * (1 + 1e-9) + _TINY


def _bounds(records: Records, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
    """Return bounds of records' ‖∇ℓ‖ over balls around centres, shape (m, q); ∞ without one."""
    with np.errstate(over="ignore", invalid="ignore"):
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
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = records.lengths_at(owner, rows[block], points[which[block]])
        best = max(best, float(np.where(np.isnan(lengths), np.inf, lengths).max()))
    return best


_TINY = 1e-150
"""Added to a radius: squares of smaller distances are 0 in floating point."""
FEW = 2**10
"""Largest product of records and points that are measured without bounds."""
PAIRS = 2**17
"""Largest product of records and points, or features, that are computed together."""


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


@dataclass(frozen=True, eq=False)
class Reads:
    """Queries that were answered, of several replicates, in the order of k.

    Attributes
    ----------
    rows : array of int (m,)
        The replicates, from 0; in rising order for each k.
    owners, peers : array of int (m,)
        The owner that was asked, from 0, and the peer whose model was read, as in a trace.
    ks : array of int (m,)
        Updates made before the query was formed.
    messages : array of int (m,)
        Numbers of the exchanges.
    """

    rows: Ints
    owners: Ints
    peers: Ints
    ks: Ints
    messages: Ints

    @classmethod
    def from_traces(cls, traces: Sequence[Trace]) -> "Reads":
        """Return all answered queries of these replicates, whatever became of the answers."""
        tables = [t.exchanges[t.came_to(*RELEASED)] for t in traces]
        rows = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        owners, peers, ks, messages = (
            np.concatenate([table[name] for table in tables]).astype(np.int64)
            for name in ("owner", "peer", "read_k", "message")
        )
        return cls(rows, owners - 1, peers, ks, messages)._chosen(np.lexsort([rows, ks]))

    def after(self, k: int) -> "Reads":
        """Return the queries that were formed after k updates."""
        return self._chosen(slice(*np.searchsorted(self.ks, (k, k + 1)).tolist()))

    def _chosen(self, chosen: Ints | slice) -> "Reads":
        return Reads(*(getattr(self, field.name)[chosen] for field in fields(self)))


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

    def met(self) -> Observed:
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


NUMBERS = 2**16
"""Numbers in the queries that are measured together: half a megabyte, which a cache holds."""
