"""Schedules: which owners' answers each update of recorded traces is made of."""

from collections.abc import Iterator, Sequence

import numpy as np

from asyncdp_sim.learning.algorithms import Indices, Turn
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
