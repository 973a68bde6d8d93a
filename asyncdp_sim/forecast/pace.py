"""When updates come: by theory, or by simulating the network alone, which takes no data."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network import Network, simulate
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.predictions import predicted
from asyncdp_sim.units import to_units

Array = npt.NDArray[np.float64]
NETWORKS = 20
"""Simulations of a network whose throughput has no formula."""


@dataclass(frozen=True, eq=False)
class Pace:
    """Expected times of updates.

    Attributes
    ----------
    times : array (T + 1,)
        Time units until update k = 0 … T.
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


def pace(network: Network, chosen: Array, seed: int) -> Pace:
    """Return when updates come, and whose.

    Parameters
    ----------
    network : Network
    chosen : array (N,)
        π as :func:`asyncdp_sim.forecast.assumptions.choice` has it.
    seed : int
        Of simulations, where no formula holds.
    """
    rate = predicted(network, "throughput")
    if isinstance(rate, str):
        return _simulated(network, seed, rate)
    k = np.arange(network.updates + 1)
    return Pace(k / rate, network.updates * chosen, 0.0, "theory")


def _simulated(network: Network, seed: int, reason: str) -> Pace:
    scopes = [Streams(seed).within("forecast", "network", r) for r in range(NETWORKS)]
    traces = [simulate(network, scope) for scope in scopes]
    shortest = min(trace.n_updates for trace in traces)
    ticks = np.stack([trace.update_ticks[:shortest] for trace in traces])
    times = np.concatenate([[0.0], to_units(ticks).mean(axis=0)])
    half = 0.0
    if shortest > 0:
        half = 2.09 * float(to_units(ticks[:, -1]).std(ddof=1)) / NETWORKS**0.5  # t, 19 degrees
    released = np.mean([trace.released for trace in traces], axis=0)
    words = f"{NETWORKS} simulations of the network, since {reason}"
    return Pace(times, released, half, words)
