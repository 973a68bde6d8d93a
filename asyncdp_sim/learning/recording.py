"""Records of a run: the central models, and the queries that were answered.

Nothing that is recorded changes what is learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
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
    bounds : array (T + 1, R), optional
        The clip bound Ξ after k = 0, 1, …, T updates, where it moves.
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
    """Records the central models of cells that learn together and are recorded equally often.

    Of the rows that are learned together, a cell has one for each replicate. The rows of these
    cells are adjacent.

    Parameters
    ----------
    every : int
        Updates between recorded models, ≥ 1.
    first : int
        The first row of the first cell.
    cells, replicates : int
        Number of these cells, and of the replicates of each.
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


@dataclass(frozen=True, eq=False)
class Reads:
    """Queries that were answered, of several replicates, in the order of k.

    Attributes
    ----------
    rows : array of int (m,)
        The replicates, from 0; in rising order for each k.
    owners, peers : array of int (m,)
        The owner that was asked, from 0, and the peer whose model was read: as in a trace, a
        number from 1, or 0 for the learner.
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
        """Return the queries that were formed after exactly k updates."""
        return self._chosen(slice(*np.searchsorted(self.ks, (k, k + 1)).tolist()))

    def _chosen(self, chosen: Ints | slice) -> "Reads":
        return Reads(*(getattr(self, field.name)[chosen] for field in fields(self)))
