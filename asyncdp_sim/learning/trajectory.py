"""The trajectory of a central model, and its recording."""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Indices


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
    """

    updates: Indices
    record_every: int
    central: Array
    final: Array
    clipped: Indices

    def ks(self, replicate: int) -> Indices:
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


class Recording:
    """A trajectory in the making, filled in block by block.

    Parameters
    ----------
    start : array (R, p)
        θ_L at k = 0.
    updates : array of int (R,)
        Number of updates of each replicate.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    """

    def __init__(self, start: Array, updates: Indices, record_every: int) -> None:
        replicates, p = start.shape
        self._updates = updates
        self._every = record_every
        self._final = start.copy()
        self._models = np.empty((replicates, int(updates.max()) // record_every + 1, p))
        """A replicate's models side by side: they are written, and judged, together."""
        self._models[:, 0] = start

    def take(self, some: slice, first: int, models: Array) -> None:
        """Record θ_L (r, b, p) of some replicates after updates ``first`` + 1 … ``first`` + b."""
        every, count, updates = self._every, models.shape[1], self._updates[some]
        begin = first // every + 1
        chosen = models[:, begin * every - first - 1 :: every]
        self._models[some, begin : begin + chosen.shape[1]] = chosen
        ended = np.flatnonzero((first < updates) & (updates <= first + count))
        self._final[some][ended] = models[ended, updates[ended] - first - 1]

    def trajectory(self, clipped: Indices) -> Trajectory:
        """Return the trajectory; rows past a replicate's end repeat its last model."""
        for row, last in enumerate(self._updates.tolist()):
            self._models[row, last // self._every + 1 :] = self._final[row]
        central = self._models.transpose(1, 0, 2)
        return Trajectory(self._updates, self._every, central, self._final, clipped)
