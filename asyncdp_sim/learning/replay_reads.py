"""Recorded traces as learning goes over them: whose answers updates are of, and models' reads."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from asyncdp_sim.learning.algorithms import Array, CellRows, Indices, Turn
from asyncdp_sim.learning.watch import Reads, Watch
from asyncdp_sim.trace import Trace


class TraceSchedule:
    """The owners whose answers each update is made of, all replicates side by side.

    Where B answers make an update, replicates go together, those that have ended too; where the
    protocol decides, each replicate has as many as its trace says.
    """

    def __init__(self, traces: Sequence[Trace], per_update: int | None, numbered: bool) -> None:
        self._per_update = per_update
        most = max((len(trace.updates) for trace in traces), default=0)
        self._owners = np.zeros((most, len(traces)), dtype=np.int64)
        self._staleness = np.zeros_like(self._owners)
        self._peers = np.zeros_like(self._owners)
        self._numbers = np.zeros_like(self._owners) if numbered else None
        for column, trace in enumerate(traces):
            used = trace.updates
            if self._numbers is not None:
                self._numbers[: len(used), column] = trace.numbers
            self._owners[: len(used), column] = used["owner"] - 1
            self._staleness[: len(used), column] = used["staleness"]
            self._peers[: len(used), column] = used["peer"]
        if per_update is None:
            horizon = max((trace.n_updates for trace in traces), default=0)
            each = [np.bincount(t.updates["k"], minlength=horizon + 1)[1:] for t in traces]
            self._counts = np.stack(each, axis=1)
            self._first = np.cumsum(self._counts, axis=0) - self._counts

    def turns(self, k: int) -> Iterator[tuple[int, Turn]]:
        """Yield the number of an answer, from 0, and the answer, for all of update k + 1."""
        if self._per_update is not None:
            for use in range(k * self._per_update, (k + 1) * self._per_update):
                numbers = None if self._numbers is None else self._numbers[use]
                yield use, Turn(self._owners[use], self._staleness[use], numbers=numbers)
            return
        counts, first = self._counts[k], self._first[k]
        for number in range(int(counts.max())):
            rows = np.flatnonzero(counts > number)
            use = first[rows] + number
            late, peers = self._staleness[use, rows], self._peers[use, rows]
            numbers = None if self._numbers is None else self._numbers[use, rows]
            yield number, Turn(self._owners[use, rows], late, peers, rows, numbers)

    def rows(self, k: int) -> Indices | None:
        """Return the replicates that have an update k + 1; None is all of them."""
        return None if self._per_update is not None else np.flatnonzero(self._counts[k] > 0)


class Iterations:
    """The owners whose answers each iteration of several servers is made of.

    Each client has one in every iteration, or one for each of its servers; those of all clients
    and replicates are taken together.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._updates = np.array([trace.n_updates for trace in traces])
        self._owners = np.arange(traces[0].n_owners if len(traces) > 0 else 0)
        self._peers = []
        for trace in traces:
            used = trace.updates[np.lexsort([trace.updates[x] for x in ("message", "owner", "k")])]
            each = len(used) // max(1, trace.n_updates * trace.n_owners)
            self._peers.append(used["peer"].reshape(trace.n_updates, trace.n_owners, each))

    def turns(self, k: int) -> Iterator[tuple[int, Turn]]:
        """Yield the number of an answer in its iteration, from 0, and all such of update k + 1."""
        rows = self.rows(k)
        peers = np.stack([self._peers[row][k] for row in rows]).astype(np.int64)
        owners = np.tile(self._owners, len(rows))
        for number in range(peers.shape[2]):
            read = peers[:, :, number].ravel()
            yield number, Turn(owners, None, read, np.repeat(rows, len(self._owners)))

    def rows(self, k: int) -> Indices:
        """Return the replicates that have an update k + 1."""
        return np.flatnonzero(self._updates > k)


class StaleReads:
    """Reads that are used some updates later: formed when they were read, kept till then.

    Where the protocol decides what an update is made of, nothing that was read changes before its
    use, and there is nothing to keep.
    """

    def __init__(
        self, traces: Sequence[Trace], ask: Callable[..., Array], rows_of: CellRows
    ) -> None:
        self._ask = ask
        self._rows_of = rows_of
        self._reads: dict[int, list[tuple[int, int, int]]] = {}
        self._kept: dict[int, list[tuple[int, Array]]] = {}
        for row, trace in enumerate(traces):
            used = trace.updates
            for j in np.flatnonzero(used["staleness"] > 0).tolist():
                read_k = int(used["k"][j]) - 1 - int(used["staleness"][j])
                self._reads.setdefault(read_k, []).append((row, int(used["owner"][j]) - 1, j))

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates and used later."""
        due = self._reads.pop(k, None)
        if due is not None:
            rows, owners, uses = np.array(due, dtype=np.int64).T
            asked = self._ask(state, self._rows_of.repeated(Turn(owners, rows=rows)))
            points = _by_cell(asked, self._rows_of)
            for place, (row, use) in enumerate(zip(rows.tolist(), uses.tolist(), strict=True)):
                self._kept.setdefault(use, []).append((row, points[:, place]))

    def points(self, use: int, fresh: Array) -> Array:
        """Return where the gradients of an answer (from 0) are taken."""
        kept = self._kept.pop(use, None)
        if kept is None:
            return fresh
        asked = fresh.copy()
        for row, points in kept:
            _by_cell(asked, self._rows_of)[:, row] = points
        return asked


class WatchedReads:
    """Shows cells' watches the queries that were answered, formed when they were read."""

    def __init__(
        self,
        watches: Sequence[Watch | None],
        traces: Sequence[Trace],
        ask: Callable[..., Array],
        rows_of: CellRows,
    ) -> None:
        self._watches = watches
        self._reads = Reads.of(traces)
        self._ask = ask
        self._rows_of = rows_of

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates."""
        due = self._reads.between(k, k + 1)
        if len(due.rows) > 0:
            turn = self._rows_of.repeated(Turn(due.owners, peers=due.peers, rows=due.rows))
            points = _by_cell(self._ask(state, turn), self._rows_of)
            for watch, of_cell in zip(self._watches, points, strict=True):
                if watch is not None:
                    watch.take(due.owners, of_cell)


def _by_cell(points: Array, rows_of: CellRows) -> Array:
    """Return points (Cm, p) as those of each cell, shape (C, m, p): a view of them."""
    return points.reshape(rows_of.cells, -1, points.shape[1])
