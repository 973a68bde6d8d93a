"""The published privacy bound of noise-then-gossip averaging: a sum over single messages.

Cyffers, Even, Bellet and Massoulié (2022), "Muffliato: Peer-to-Peer Privacy Amplification for
Decentralized Optimization and Averaging", in the form that their published code sums.
"""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.theory.formulas.arguments import refused

Array = npt.NDArray[np.float64]


def sum_over_messages(matrix: Array, steps: int) -> Array:
    """Return the sum for owner u (rows) against node v (columns), shape (M, M), as printed.

    Σ_{t<T} Σ_{w ∈ N(v)} (Wᵗ)²_{wu}/‖(Wᵗ)_w‖², in units of 1/z²: what each message that v is sent
    in T steps tells of u's vector by itself, z being the noise multiplier of all nodes. Messages
    share the noise that was added once, so that it bounds nothing: the exact figure, h_u of
    :mod:`asyncdp_sim.privacy.observers.node`, may be above it by any factor, as
    ``docs/privacy/gossip-averaging.md`` shows.

    Parameters
    ----------
    matrix : array (M, M)
        W, symmetric, rows adding up to 1; a node receives each vector to which it gives weight.
    steps : int
        T ≥ 1.

    Raises
    ------
    ValueError
        If the arguments are not such.
    """
    rows = np.asarray(matrix, dtype=float)
    square = rows.ndim == 2 and rows.shape[0] == rows.shape[1]
    if not square or not np.allclose(rows, rows.T) or not np.allclose(rows.sum(axis=1), 1):
        raise refused("matrix", "another", "symmetric, with rows that add up to 1")
    if steps < 1:
        raise refused("steps", steps, "at least 1")
    near = (rows != 0) & ~np.eye(len(rows), dtype=np.bool_)
    total, power = np.zeros_like(rows), np.eye(len(rows))
    for _ in range(steps):
        share = np.square(power / np.linalg.norm(power, axis=1, keepdims=True))
        total += share.T @ near
        power = rows @ power
    return total
