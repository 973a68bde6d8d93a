"""Orders and times of updates, by simulating the network alone, or by theory; no data is taken."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network import Network, simulate
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.update_order import mean_gap
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.units import to_units

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Orders:
    """Orders and times of updates, of simulations of a network.

    Attributes
    ----------
    owners : array of int (R, K)
        Owners (from 0) of the updates; −1 after a run's last, and where several make one.
    numbers : array of int (R, K)
        How many answers each update's owner had released before, lost ones too; 0 where none is.
    staleness : array of int (R, K)
        Updates between each update's read and its use; 0 where owners are −1.
    times : array (R, K + 1)
        Time units until update k = 0, 1, …; a run that has ended stays where it ended.
    released : array of int (R, N)
        Answers that each owner released.
    """

    owners: Indices
    numbers: Indices
    staleness: Indices
    times: Array
    released: Indices

    @cached_property
    def mean_times(self) -> Array:
        """Mean of the times until update k = 0, 1, …, shape (K + 1,)."""
        return np.asarray(self.times.mean(axis=0))

    @property
    def time_error(self) -> float:
        """Standard error of the mean time of the last update."""
        return float(self.times[:, -1].std(ddof=1) / sqrt(len(self.times)))

    def cut_short(self, updates: int) -> bool:
        """Return whether some run had fewer updates than T."""
        return bool(np.any(np.sum(self.owners >= 0, axis=1) < updates))

    def silenced(self, allowed: Indices, updates: int) -> npt.NDArray[np.bool_]:
        """Return whether some owner had no answer left before a run's last update, shape (R,).

        Parameters
        ----------
        allowed : array of int (N,)
            K_i.
        updates : int
            T.
        """
        spent = self.released >= allowed
        full = np.flatnonzero(np.sum(self.owners >= 0, axis=1) == updates)
        last = self.owners[full, updates - 1 :].ravel()
        spent[full, last] = False
        return np.asarray(spent.any(axis=1))


def orders(network: Network, count: int, seed: int) -> Orders:
    """Simulate a network, whose timing does not look at models, so many times.

    Parameters
    ----------
    network : Network
    count : int
        R ≥ 2.
    seed : int
    """
    streams = Streams(seed).within("forecast", "network")
    traces = [simulate(network, streams.within(r)) for r in range(count)]
    longest = max(trace.n_updates for trace in traces)
    owners, times = np.full((count, longest), -1), np.zeros((count, longest + 1))
    numbers = np.zeros((count, longest), dtype=np.int64)
    staleness = np.zeros_like(numbers)
    for row, trace in enumerate(traces):
        if not network.protocol.makes_updates:
            owners[row, : trace.n_updates] = trace.updates["owner"] - 1
            numbers[row, : trace.n_updates] = trace.numbers
            staleness[row, : trace.n_updates] = trace.updates["staleness"]
        times[row, 1 : trace.n_updates + 1] = to_units(trace.update_ticks)
        times[row, trace.n_updates + 1 :] = times[row, trace.n_updates]
    return Orders(owners, numbers, staleness, times, np.stack([trace.released for trace in traces]))


NETWORKS = 100
"""Simulations of a network whose updates come at no rate that is known."""


@dataclass(frozen=True, eq=False)
class UpdateTimes:
    """Expected times of updates.

    Attributes
    ----------
    times : array (T + 1,)
        Time units until update k = 0 … T, or as many as there will be.
    answers : array (N,)
        Expected answers released by each owner.
    half_width : float
        Of the 95 % interval of the last time; 0 where a formula gives it.
    words : str
        Where they come from.
    """

    times: Array
    answers: Array
    half_width: float
    words: str


def pace(network: Network, released: Array | None, seed: int) -> UpdateTimes:
    """Return when updates come, and how many answers they take.

    Parameters
    ----------
    network : Network
    released : array (N,), optional
        Expected answers of each owner for T updates, where they are known.
    seed : int
        Of simulations, where no formula holds.
    """
    gap = Unknown("budgets may end before T") if released is None else _gap(network)
    if released is not None and not isinstance(gap, Unknown):
        times = np.arange(network.updates + 1, dtype=float) * gap
        return UpdateTimes(np.asarray(times), released, 0.0, "theory")
    found = orders(network, NETWORKS, seed)
    half = 1.98 * found.time_error  # t, 99 degrees
    told = np.asarray(found.released.mean(axis=0)) if released is None else released
    words = f"{NETWORKS} simulations of the network, since {gap}"
    return UpdateTimes(found.mean_times, told, half, words)


def _gap(network: Network) -> float | Unknown:
    """Return the mean time units from one update to the next, or why it is not known."""
    if not network.protocol.makes_updates:
        return mean_gap(network)
    rate = predicted(network, "throughput")
    return rate if isinstance(rate, Unknown) else 1 / rate
