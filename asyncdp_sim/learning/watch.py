"""Watching a declared bound: how long record gradients are at the queries that owners answer.

What is watched changes nothing of what is learned.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.learning.algorithms import Array
from asyncdp_sim.learning.objectives import Records
from asyncdp_sim.learning.objectives.rows import largest
from asyncdp_sim.trace import RELEASED, Trace


@dataclass(frozen=True, eq=False)
class Observed:
    """The lengths of record gradients that were met at queries.

    Attributes
    ----------
    largest : array (N,)
        The largest ‖∇ℓ‖ of owner i's records at any of its own queries; 0 without any.
    queries : int
        How many queries were looked at.
    """

    largest: Array
    queries: int

    @classmethod
    def joined(cls, parts: Iterable["Observed"]) -> "Observed":
        """Return what was met in several parts of a run."""
        every = list(parts)
        largest = np.max([part.largest for part in every], axis=0)
        return cls(largest, sum(part.queries for part in every))


@dataclass(frozen=True, eq=False)
class Reads:
    """The queries of several replicates that were answered, in the order of k.

    Attributes
    ----------
    rows : array of int (m,)
        The replicates, from 0; in rising order for each k.
    owners, peers : array of int (m,)
        Who was asked, from 0, and whose model was read, as in a trace.
    ks : array of int (m,)
        How many updates had been made when the query was formed.
    messages : array of int (m,)
        The exchanges' numbers.
    """

    rows: Ints
    owners: Ints
    peers: Ints
    ks: Ints
    messages: Ints

    @classmethod
    def from_traces(cls, traces: Sequence[Trace]) -> "Reads":
        """Return the queries of these replicates, delivered, lost or late."""
        tables = [t.exchanges[t.came_to(*RELEASED)] for t in traces]
        rows = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        owners, peers, ks, messages = (
            np.concatenate([table[name] for table in tables]).astype(np.int64)
            for name in ("owner", "peer", "read_k", "message")
        )
        return cls(rows, owners - 1, peers, ks, messages)._some(np.lexsort([rows, ks]))

    def between(self, first: int, stop: int) -> "Reads":
        """Return those with first ≤ k < stop."""
        return self._some(slice(*np.searchsorted(self.ks, (first, stop)).tolist()))

    def _some(self, some: Any) -> "Reads":
        return Reads(*(getattr(self, field.name)[some] for field in fields(self)))


class GradientMonitor:
    """Measures record gradients at queries as they come, some thousands at a time.

    How queries are split among watches, and in which order they come, does not change a bit of
    what is met.

    Parameters
    ----------
    records : Records
    """

    def __init__(self, records: Records) -> None:
        self.records = records
        self._largest = np.zeros(len(records.targets))
        self._waiting: list[tuple[Ints, Array]] = []
        self._numbers = 0
        self._queries = 0

    def take(self, owners: Ints, points: Array) -> None:
        """Look at queries (m, p), now or later, each with its owner (from 0)."""
        self._waiting.append((owners, points))
        self._numbers += points.size
        if self._numbers >= NUMBERS:
            self._look()

    def met(self) -> Observed:
        """Return what was met so far."""
        self._look()
        return Observed(self._largest.copy(), self._queries)

    def _look(self) -> None:
        """Let no query wait any more."""
        if len(self._waiting) == 0:
            return
        every, points = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        for owner in np.unique(every).tolist():
            asked = points[every == owner]
            self._largest[owner] = largest(self.records, owner, asked, self._largest[owner])
        self._queries += len(every)
        self._waiting, self._numbers = [], 0


NUMBERS = 2**16
"""Numbers of queries that wait to be looked at together: half a megabyte, which a cache holds."""
