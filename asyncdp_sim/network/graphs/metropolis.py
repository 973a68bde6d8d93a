"""Doubly stochastic matrices of servers that average with their neighbours: Metropolis weights.

References
----------
Xiao, Boyd and Lall (2005), A scheme for robust distributed sensor fusion based on average
consensus, IPSN.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.graphs.of_servers import Neighbours

Array = npt.NDArray[np.float64]


def doubly_stochastic(near: Neighbours) -> Array:
    """Return B, shape (S, S): rows and columns sum to 1, and the diagonal is positive.

    Parameters
    ----------
    near : tuple of tuples
        Each server's neighbours, from 1.
    """
    matrix = np.zeros((len(near), len(near)))
    for server, others in enumerate(near):
        for other in others:
            matrix[server, other - 1] = 1 / parts(near, server, other - 1)
    return matrix + np.diag(1 - matrix.sum(axis=1))


def matrices_of(agreements: Sequence[Neighbours | None], n_servers: int) -> list[Array]:
    """Return B of each agreement; 11ᵀ/S where all servers exchange with all."""
    everybody = np.full((n_servers, n_servers), 1 / n_servers)
    return [everybody if near is None else doubly_stochastic(near) for near in agreements]


def parts(near: Neighbours, one: int, other: int) -> int:
    """Return 1 + max(d_I, d_J)."""
    return 1 + max(len(near[one]), len(near[other]))
