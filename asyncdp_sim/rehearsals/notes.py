"""Notes of a rehearsal, from which its trace is made."""

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.trace import Recorder


class Notes(Recorder):
    """Takes notes of a rehearsal; owners tell in the end what they alone know."""

    def __init__(self, n_owners: int, kernel: Kernel) -> None:
        super().__init__(n_owners, kernel)
        self._shares = np.full(n_owners, np.nan)

    def told(self, owner: int, unheard: int, online: float) -> None:
        """Note how many requests of an owner (from 1) were lost, and its share of time online."""
        self.attempts[owner] += unheard
        self.unheard[owner] += unheard
        self._shares[owner - 1] = online

    @override
    def online_shares(self, end_tick: int) -> npt.NDArray[np.float64]:
        return self._shares


__all__ = ["Notes"]
