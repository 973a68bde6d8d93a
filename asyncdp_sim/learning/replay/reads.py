"""Reads of models: kept until a stale answer uses them, and shown to whoever watches."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Turn
from asyncdp_sim.learning.watch import Reads, Watch
from asyncdp_sim.trace import Trace


class StaleReads:
    """Reads that are used some updates later: formed when they were read, kept till then.

    Where the protocol decides what an update is made of, nothing that was read changes before its
    use, and there is nothing to keep.
    """

    def __init__(self, traces: Sequence[Trace], ask: Callable[..., Array]) -> None:
        self._ask = ask
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
            points = self._ask(state, Turn(owners, rows=rows))
            for row, use, point in zip(rows.tolist(), uses.tolist(), points, strict=True):
                self._kept.setdefault(use, []).append((row, point))

    def points(self, use: int, fresh: Array) -> Array:
        """Return where the gradients of an answer (from 0) are taken."""
        kept = self._kept.pop(use, None)
        if kept is None:
            return fresh
        asked = fresh.copy()
        for row, point in kept:
            asked[row] = point
        return asked


class WatchedReads:
    """Shows a watch the queries that were answered, formed when they were read."""

    def __init__(self, watch: Watch, traces: Sequence[Trace], ask: Callable[..., Array]) -> None:
        self._watch = watch
        self._reads = Reads.of(traces)
        self._ask = ask

    def read(self, k: int, state: Any) -> None:
        """Form the queries that were read after ``k`` updates."""
        due = self._reads.between(k, k + 1)
        if len(due.rows) > 0:
            turn = Turn(due.owners, peers=due.peers, rows=due.rows)
            self._watch.take(due.owners, self._ask(state, turn))
