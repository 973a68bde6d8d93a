"""Reads of models: kept until a stale answer uses them, and shown to whoever watches."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from asyncdp_sim.learning.algorithms import Array, CellRows, Turn
from asyncdp_sim.learning.watch import Reads, Watch
from asyncdp_sim.trace import Trace


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
