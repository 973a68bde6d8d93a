"""The way of the central model, recorded every so many updates."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.replay_cells import CellTask


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The way of the central model.

    Attributes
    ----------
    updates : array of int (R,)
        Number of updates of each replicate.
    record_every : int
        Distance in k between recorded models.
    central : array (J, R, p)
        θ_L at k = 0, record_every, 2·record_every, …; rows past a replicate's end repeat the last.
    final : array (R, p)
        θ_L after the last update.
    clipped : array of int (R,)
        Updates in which a projection was active.
    bounds : array (K + 1, R), optional
        Ξ of the answers of the next update, after k = 0, 1, … of them, where it moves.
    """

    updates: Ints
    record_every: int
    central: Array
    final: Array
    clipped: Ints
    bounds: Array | None = None

    def ks(self, replicate: int) -> Ints:
        """Return the recorded k of a replicate: 0, the multiples of record_every, and the last."""
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
    """The central models of a fold's rows, of one cell after another that record them as often.

    Parameters
    ----------
    every : int
        ≥ 1.
    first, cells, replicates : int
        The first row, and whose rows they are.
    horizon, size : int
        Updates of the longest replicate, and p.
    """

    def __init__(
        self, every: int, first: int, cells: int, replicates: int, horizon: int, size: int
    ) -> None:
        self._every, self._replicates = every, replicates
        self._rows = slice(first, first + cells * replicates)
        shape = (cells * replicates, horizon // every + 1, size)
        self._central = np.empty(shape).transpose(1, 0, 2)  # a replicate's models judged together

    def record(self, k: int, central: Array) -> None:
        """Keep the rows' models after ``k`` updates, where it is time to."""
        if k % self._every == 0:
            self._central[k // self._every] = central[self._rows]

    def ended(self, updates: Ints, final: Array) -> list[Array]:
        """Return the models of each cell; rows past a replicate's end repeat its last."""
        columns = range(self._rows.stop - self._rows.start)
        for column in columns:
            last = int(updates[column % self._replicates])
            self._central[last // self._every + 1 :, column] = final[self._rows][column]
        return [
            self._central[:, first : first + self._replicates]
            for first in columns[:: self._replicates]
        ]


def recorders_of(cells: Sequence[CellTask], replicates: int, horizon: int) -> list[ModelRecorder]:
    """Return what records the models of cells, whose rows stand one cell after another."""
    recorders, first = list[ModelRecorder](), 0
    for every, group in groupby(cells, key=lambda cell: cell.record_every):
        count, size = len(list(group)), cells[0].steps.n_features
        recorders.append(ModelRecorder(every, first, count, replicates, horizon, size))
        first += count * replicates
    return recorders
