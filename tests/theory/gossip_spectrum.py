"""Disagreement of models after a gossip update, and closed forms of its spectrum."""

from collections.abc import Sequence
from math import cos, pi

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas.convergence import Edge


def star(n_owners: int) -> float:
    """Return λ_2(E W) of a learner with N owners that wake alike: 1 − 1/(2N), 0 for N = 1."""
    return 0.0 if n_owners == 1 else 1 - 1 / (2 * n_owners)


def complete(n_owners: int) -> float:
    """Return λ_2(E W) of N ≥ 2 owners of whom all pairs wake alike: 1 − 1/(N − 1)."""
    return 1 - 1 / (n_owners - 1)


def ring(n_owners: int) -> float:
    """Return λ_2(E W) of N ≥ 2 owners in a ring: 1 − (1 − cos(2π/N))/N, 0 for N = 2.

    The gap falls as 2π²/N³.
    """
    if n_owners == 2:  # one edge, not two
        return 0.0
    return 1 - (1 - cos(2 * pi / n_owners)) / n_owners


def disagreement(
    moment: Array, edges: Sequence[Edge], shares: Sequence[float] | Array, updates: int
) -> Array:
    """Return E Σ_i (x_i − x̄)² after k = 0 … K updates that average and do nothing else.

    The trace of S = E yyᵀ, y_i = x_i − x̄, which an update takes to E[W S W]. It is λ_2^k times the
    first where all eigenvalues of E W but the largest are λ_2, as on a complete graph.

    Parameters
    ----------
    moment : array (M, M)
        S before the first update, symmetric: yyᵀ where the start is known, v(I − 11ᵀ/M) where the
        x_i are independent with variance v.
    edges, shares
        As in :func:`mean_update`.
    updates : int
        K ≥ 0.
    """
    found = [float(np.trace(moment))]
    for _ in range(updates):
        after = np.zeros_like(moment)
        for (a, b), share in zip(edges, shares, strict=True):
            met = moment.copy()
            met[[a, b]] = (met[a] + met[b]) / 2
            met[:, [a, b]] = ((met[:, a] + met[:, b]) / 2)[:, None]
            after += share * met
        moment = after
        found.append(float(np.trace(moment)))
    return np.array(found)
