"""Times of updates: by theory, or by simulating the network alone, which takes no data."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.simulated_orders import orders
from asyncdp_sim.network import Network
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.update_order import mean_gap
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
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
