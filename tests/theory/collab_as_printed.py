"""Theorem 2 of Collab as it is printed, which is no bound."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.core.arrays import Array


def as_printed(
    records: int,
    budgets: Sequence[float] | Array,
    *,
    gradient_bound: float,
    convexity: float,
    rho: float,
) -> float:
    """Return (8Ξ²ρ/(Ln²)) Σ 1/ε_i², the right side of (9) for min_k E f(θ[k]) − f*.

    (9) adds any ε' > 0 for large T. It is NOT a bound: the proof lets Σ ρ_k grow without limit,
    but with ρ_k = ρ/(T²k) it is (ρ/T²) H_T → 0, and the model stays at its start. Besides, the
    noise is that of one coordinate (8pΞ² for 8Ξ²), and the factor λ/2 of the noise is lost, which
    takes λ ≤ 2. (10), for the squared distance, is 4/L times this; 2/L would do.

    Parameters
    ----------
    records : int
        n of all owners together.
    budgets : sequence of float
        ε_i > 0, ∞ for no noise.
    gradient_bound : float
        Ξ > 0, in L1 there.
    convexity, rho : float
        L > 0, ρ > 0.
    """
    loud = float(np.sum(np.asarray(budgets, dtype=float) ** -2.0)) / records**2
    return 8 * gradient_bound**2 * rho / convexity * loud
