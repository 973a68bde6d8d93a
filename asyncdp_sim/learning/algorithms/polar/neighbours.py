"""POLAR's servers average on a graph that is not complete: each with its neighbours, openly.

Secure consensus needs every server to hear every other. Where only neighbours talk, the models of
servers are multiplied by a doubly stochastic matrix B (POLAR, section V-A), here by Metropolis
weights: B[I, J] = 1/(1 + max(d_I, d_J)) for neighbours of d_I and d_J neighbours, the rest on the
diagonal. Models are whole numbers on the grid of the secure consensus, and what one server gives
the other takes, so that the mean over servers stays what it was exactly.

References
----------
Xiao, Boyd and Lall (2005), A scheme for robust distributed sensor fusion based on average
consensus, IPSN (the weights).
"""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms.polar.consensus import RESOLUTION
from asyncdp_sim.network.graphs.metropolis import parts
from asyncdp_sim.network.graphs.of_servers import Neighbours

Array = npt.NDArray[np.float64]
Points = npt.NDArray[np.int64]


def gridded(models: Array, bound: float) -> Points:
    """Return models in [−|X|, |X|] as whole numbers, 2⁴⁰ of them per |X|."""
    return np.rint(models / bound * RESOLUTION).astype(np.int64)


def averaged(points: Points, server: int, near: Neighbours) -> Points:
    """Return what a server goes on with: n_I + Σ_J ⌊(n_J − n_I)/(1 + max(d_I, d_J))⌋ towards 0.

    Rounded towards zero, what I gives J is what J takes from I, and no model leaves the hull of
    those that it is made of; it is off by less than one grid point for each neighbour.

    Parameters
    ----------
    points : array of int64 (…, S, p)
        All servers' models before the agreement; those of others than neighbours do not matter.
    server : int
        I, from 0.
    near : tuple of tuples
        Each server's neighbours, from 1.
    """
    own = points[..., server, :]
    found = own.copy()
    for other in near[server]:
        away = points[..., other - 1, :] - own
        found += np.sign(away) * (np.abs(away) // parts(near, server, other - 1))
    return found
