"""Watching a declared bound: how long record gradients are at the queries that owners answer.

What is watched changes nothing of what is learned.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Indices
from asyncdp_sim.learning.objectives import Records
from asyncdp_sim.learning.objectives.largest import ball, ceilings_over, few, largest, met
from asyncdp_sim.learning.objectives.largest_together import (
    by_owner,
    largest_of_all,
    largest_of_each,
)
from asyncdp_sim.trace import RELEASED, ExchangeOutcome, Trace

ANSWERED = (*RELEASED, ExchangeOutcome.withheld)
"""Outcomes of exchanges whose answer was ready: whoever keeps it has looked at its records too."""


@dataclass(frozen=True, eq=False)
class Met:
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
    def joined(cls, parts: Iterable["Met"]) -> "Met":
        """Return what was met in several parts of a run."""
        every = list(parts)
        largest = np.max([each.largest for each in every], axis=0)
        return cls(largest, sum(each.queries for each in every))


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

    rows: Indices
    owners: Indices
    peers: Indices
    ks: Indices
    messages: Indices

    @classmethod
    def of(cls, traces: Sequence[Trace]) -> "Reads":
        """Return the queries of these replicates, delivered, lost, late or withheld."""
        tables = [t.exchanges[t.came_to(*ANSWERED)] for t in traces]
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


class Watch:
    """Measures record gradients at queries as they come, some thousands at a time.

    How queries are split among watches, and in which order they come, does not change a bit of
    what is met.

    Parameters
    ----------
    records : Records
    """

    def __init__(self, records: Records) -> None:
        self.records = records
        self._seen = [_Owner(records, owner) for owner in range(len(records.targets))]
        self._waiting: list[tuple[Indices, Array]] = []
        self._numbers = 0
        self._queries = 0

    def take(self, owners: Indices, points: Array) -> None:
        """Look at queries (m, p), now or later, each with its owner (from 0)."""
        self._waiting.append((owners, points))
        self._numbers += points.size
        if self._numbers >= NUMBERS:
            self._look()

    def met(self) -> Met:
        """Return what was met so far."""
        self._look()
        return Met(self.largest(), self._queries)

    def largest(self) -> Array:
        """Return the largest ‖∇ℓ‖ that each owner has met so far, shape (N,)."""
        return np.array([owner.largest for owner in self._seen])

    def _look(self) -> None:
        if len(self._waiting) == 0:
            return
        owners, points = self.asked()
        found = largest_of_each(self.records, owners, points, self.largest())
        self.looked(found)
        if found is not None:
            return
        for owner, own in by_owner(owners):
            self._seen[owner].look(points[own])

    def asked(self) -> tuple[Indices, Array]:
        """Return the queries that wait: whose they are, and where."""
        owners, points = zip(*self._waiting, strict=True)
        return np.concatenate(owners), np.concatenate(points)

    def looked(self, largest: Array | None) -> None:
        """Let no query wait any more, and note what is known of the largest gradients."""
        self._queries += sum(len(owners) for owners, _ in self._waiting)
        self._waiting, self._numbers = [], 0
        if largest is not None:
            for seen, value in zip(self._seen, largest.tolist(), strict=True):
                seen.largest = value


def longest(records: Records, points: Array, least: Array) -> Array:
    """Return the largest ‖∇ℓ‖ of every owner's records at all of the points, shape (N,).

    Parameters
    ----------
    records : Records
    points : array (q, p)
        Finite.
    least : array (N,)
        Returned where no gradient is larger.
    """
    each = largest_of_all(records, points, least)
    if each is None:
        owners = range(len(records.targets))
        each = np.array([largest(records, owner, points, least[owner]) for owner in owners])
    return each


class _Owner:
    """One owner's records: those that can still matter in a ball, and the largest gradient met."""

    def __init__(self, records: Records, owner: int) -> None:
        self.largest = 0.0
        self._records = records
        self._owner = owner
        self._centre: Array | None = None
        self._radius = 0.0
        self._rows: Indices = np.empty(0, dtype=np.int64)

    def look(self, points: Array) -> None:
        """Look at queries (q ≥ 1, p)."""
        if not np.isfinite(points).all():
            self.largest = np.inf
        if np.isinf(self.largest):
            return
        if few(self._records, self._owner, points):
            self.largest = largest(self._records, self._owner, points, self.largest)
            return
        centre, radius = ball(points)
        with np.errstate(over="ignore"):
            if self._centre is None or not (
                np.linalg.norm(centre - self._centre) + radius <= self._radius
            ):
                self._gather(points, centre, _WIDER * radius)
        found = largest(self._records, self._owner, points, self.largest, self._rows)
        self.largest = max(self.largest, found)

    def _gather(self, points: Array, centre: Array, radius: float) -> None:
        """Gather the records that can matter in a ball, knowing one gradient met there."""
        self._centre, self._radius = centre, radius
        tops = ceilings_over(self._records, self._owner, slice(None), centre, radius)
        most = np.array([int(tops.argmax())])
        self.largest = met(self._records, self._owner, most, points, self.largest)
        self._rows = np.flatnonzero(tops > self.largest)


NUMBERS = 2**16
"""Numbers of queries that wait to be looked at together: half a megabyte, which a cache holds."""
_WIDER = 2.0
"""A ball's radius over what its queries need: later ones are often in it."""
