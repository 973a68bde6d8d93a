"""Speed at which agreements bring the servers of POLAR-SGD together, of weights B between them."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas.arguments import finite, refused


def smallest_entry(matrix: Array) -> float:
    """Return ρ, the smallest nonzero entry of a doubly stochastic matrix B; 1/S for B = 11ᵀ/S.

    Parameters
    ----------
    matrix : array (S, S)
        Rows and columns sum to 1 (to 1e-9), entries ≥ 0; connected, with a positive diagonal.

    Raises
    ------
    SpecError
        If it is none such. The paper does not ask for the diagonal, but its source does: two
        servers that swap their models never agree.
    """
    entries = doubly_stochastic(matrix)
    heard = entries > 0
    for _ in range(len(entries).bit_length()):
        heard = heard @ heard
    if not heard.all():
        raise refused("matrix", "servers that are not connected", "a connected graph")
    return float(entries[entries > 0].min())


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

    Raises
    ------
    SpecError
        If they are none such, or together leave servers apart.
    """
    smallest_entry(np.mean(matrices, axis=0))
    product = np.eye(len(matrices[0]))
    for matrix in matrices:
        product = doubly_stochastic(matrix) @ product
    return float(np.linalg.norm(product - 1 / len(product), 2))


def doubly_stochastic(matrix: Array) -> Array:
    """Return a doubly stochastic matrix with a positive diagonal."""
    size = len(matrix)
    entries = finite("matrix", matrix, (size, size))
    sums = np.concatenate([entries.sum(axis=0), entries.sum(axis=1)])
    if np.any(entries < 0) or np.any(np.abs(sums - 1) > 1e-9):
        raise refused("matrix", "other sums or negative entries", "a doubly stochastic matrix")
    if np.any(np.diagonal(entries) <= 0):
        raise refused("matrix", "a zero on the diagonal", "a share > 0 of every server's own model")
    return entries
