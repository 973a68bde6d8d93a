"""The trajectory of a central model."""

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
