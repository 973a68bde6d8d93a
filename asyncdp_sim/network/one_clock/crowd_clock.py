"""The one clock of very many owners: its ticks, and whose they are."""

from itertools import accumulate

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.spec import Network
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import LAST_TICK, block_to_ticks

_BLOCK = 4096
Ticks = npt.NDArray[np.int64]
Owners = npt.NDArray[np.int64]


class CrowdClock:
    """Superposed Poisson clocks: gaps of rate Σλ_i; a tick is owner i's with chance λ_i/Σλ_j.

    Parameters
    ----------
    network : Network
        With superposed clocks.
    crowd : Scope
        The crowd's streams, of which ``gaps`` and ``owners`` are taken.
    """

    def __init__(self, network: Network, crowd: Scope) -> None:
        self._n_owners = network.n_owners
        self._gaps = crowd.generator("gaps")
        self._who = crowd.generator("owners")
        rates = np.array(network.clock.rates(network.n_owners))
        self._mean_gap = 1 / float(rates.sum())
        self._cumulated = np.cumsum(rates) if rates.min() < rates.max() else None
        self._last = 0

    def block(self) -> tuple[Ticks, Owners]:
        """Return the next ticks, and their owners (from 1)."""
        gaps = block_to_ticks(self._gaps.exponential(self._mean_gap, _BLOCK))
        if self._last + gaps.sum(dtype=np.float64) < LAST_TICK:
            ticks = self._last + np.cumsum(gaps)
        else:  # no run sees what comes later
            late = accumulate(gaps.tolist(), initial=self._last)
            ticks = np.array([min(tick, LAST_TICK) for tick in late][1:])
        self._last = int(ticks[-1])
        if self._cumulated is None:
            return ticks, self._who.integers(1, self._n_owners + 1, _BLOCK)
        at = self._who.random(_BLOCK) * self._cumulated[-1]
        return ticks, np.searchsorted(self._cumulated, at, side="right") + 1
