"""Speed at which models come to the optimum, and to each other.

When the edge between nodes i and j wakes, averaging multiplies the nodes' models by
W = I − (e_i − e_j)(e_i − e_j)ᵀ/2. W is symmetric, doubly stochastic and a projection, WᵀW = W, so
that for y, the deviations from the nodes' mean, E‖Wy‖² = yᵀ(E W)y: the largest factor by which an
update shrinks the expected disagreement is λ_2(E W), the second largest eigenvalue, and 1 − λ_2 is
the spectral gap. Where the edge e wakes with probability p_e, independently of the past,
E W = I − L/2 with L the Laplacian of the graph with weights p_e.

Async prints λ = ‖W_k − 11ᵀW_k/(N+1)‖², which is 1 for every N ≥ 2; the analysis that it builds on
takes the expectation first.

References
----------
Boyd, Ghosh, Prabhakar and Shah, "Randomized gossip algorithms", IEEE Trans. Inf. Theory 52(6),
2006. Touri, Nedić and Ram, "Asynchronous stochastic convex optimization over random networks",
2010. Async, proof of Theorem 2.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from asyncdp_sim.core.arrays import Array

CentralStep = Literal["proof", "text"]
"""β = ρ/(2T²σ) as in the proof of Async, or (N − 1)ρ/(N T²σ) as in its text."""


def contraction(
    curvature: float,
    n_owners: int,
    *,
    step: float,
    sigma: float,
    updates: int,
    central_step: CentralStep = "proof",
) -> float:
    """Return what is left of the distance to the optimum after T updates, in the mean.

    Of owners with equal data that are chosen equally often, without noise and clipping: the largest
    absolute eigenvalue, to the power T, of the mean map of (θ_L, θ_1 … θ_N) along one eigenvector
    of f's second derivative. It has those of (θ_L, the mean of all θ_i) and, N − 1 times, that of
    differences between the θ_i. Above 1, learning diverges.

    Parameters
    ----------
    curvature : float
        The eigenvalue, ≥ σ.
    n_owners : int
        N.
    step : float
        Nρ/(T²σ).
    sigma : float
        σ.
    updates : int
        T.
    central_step : str
        "proof" or "text".
    """
    # An update of owner i reads θ̄ = (θ_L + θ_i)/2 and sets θ_L to central θ̄ and θ_i to own θ̄, each
    # model as its distance to the optimum. pull = ρ/(2T²) is the step of the regularisation in it,
    # and step/N that of the gradient of an owner's records, n_i/n being 1/N.
    pull = step * sigma / (2 * n_owners)
    central = 1 - pull * (1 if central_step == "proof" else 2 * (n_owners - 1) / n_owners)
    own = 1 - pull - step * (curvature - sigma) / n_owners
    # Each owner is chosen with probability 1/N, else its model stays: in the mean over i, what is
    # left of θ_i itself is 1 − 1/N + own/(2N). So a difference θ_i − θ_j shrinks too.
    apart = 1 - (1 - own / 2) / n_owners
    # The rows are the new θ_L and the new mean of all θ_i, by the old ones.
    common = np.linalg.eigvals(
        np.array([[central / 2, central / 2], [own / (2 * n_owners), apart]])
    )
    largest = np.abs([*common, *[apart] * (n_owners > 1)]).max()
    with np.errstate(over="ignore"):
        return float(largest**updates)


Edge = tuple[int, int]
"""Two nodes."""


def mean_update(n_nodes: int, edges: Sequence[Edge], shares: Sequence[float] | Array) -> Array:
    """Return E W, shape (M, M).

    Parameters
    ----------
    n_nodes : int
        M ≥ 2.
    edges : sequence of (int, int)
        Pairs of different nodes, from 0.
    shares : sequence of float
        p_e of each edge, sum 1.
    """
    mean, chance = np.eye(n_nodes), np.asarray(shares)
    a, b = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    np.add.at(mean, (a, a), -chance / 2)
    np.add.at(mean, (b, b), -chance / 2)
    np.add.at(mean, (a, b), chance / 2)
    np.add.at(mean, (b, a), chance / 2)
    return mean


def second_eigenvalue(mean: Array) -> float:
    """Return λ_2, the second largest eigenvalue of a symmetric matrix (M, M), M ≥ 2; O(M³)."""
    return float(np.linalg.eigvalsh(mean)[-2])


def disagreement_left(matrices: Sequence[Array]) -> float:
    """Return the factor by which a round of agreements shrinks the servers' disagreement at most.

    The largest singular value of B_{m−1} … B_0 off the direction of 1; of one symmetric B, its
    second largest |eigenvalue|. (Σ_J ‖x^J − x̄‖²)^(1/2) after all m of them is at most so many
    times what it was.

    Parameters
    ----------
    matrices : sequence of arrays (S, S)
        B_0, B_1, …, doubly stochastic, with a positive diagonal. Each may leave servers apart, if
        all together do not.
    """
    product = np.eye(len(matrices[0]))
    for matrix in matrices:
        product = matrix @ product
    return float(np.linalg.norm(product - 1 / len(product), 2))
