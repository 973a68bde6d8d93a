"""Theorem 2 of Async as it is printed, which is no bound."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array
from tests.theory.gossip_spectrum import star


def horizon_term(records: int, budgets: Sequence[float] | Array, updates: int) -> float:
    """Return B = 1/T² + N Σ_i (1/T + 2√2/(nε_i))² of (3) and (4); ε_i = ∞ for no noise.

    With n, as in the proof and in one version of the paper; the other prints n_i in (3). For
    p parameters read 2√(2p) for 2√2.
    """
    each = 1 / updates + 2 * sqrt(2) / (records * np.asarray(budgets, dtype=float))
    return float(1 / updates**2 + len(each) * np.sum(each**2))


def printed_constants(
    n_owners: int, *, gradient_bound: float, sigma: float, rho: float, updates: int
) -> tuple[float, float]:
    """Return c_1 and c_2 of (3): (ρ/T) 2N²C²√(N+1)/(σ²(1−√λ)) and ρNC²/σ².

    The proof defines them without ρ and T and with names swapped. λ as printed,
    ‖W_k − 11ᵀW_k/(N+1)‖², is 1 for N ≥ 2, and c_1 infinite; λ_2(E W) = 1 − 1/(2N) is taken
    instead, on which the analysis of gossip rests. For large T, c_1 falls as 1/T.

    Parameters
    ----------
    n_owners, updates : int
        N, T ≥ 1.
    gradient_bound : float
        C = Ξ_g + Ξ > 0, the largest ‖∇g‖₂ plus the largest ‖∇ℓ‖₂ of a record over Θ.
    sigma, rho : float
        σ > 0, ρ > 0.
    """
    gap = 1 - sqrt(star(n_owners))
    second = rho * n_owners * gradient_bound**2 / sigma**2
    first = 2 * n_owners * sqrt(n_owners + 1) / gap * second / updates
    return first, second


def as_printed(
    records: int,
    budgets: Sequence[float] | Array,
    *,
    gradient_bound: float,
    sigma: float,
    rho: float,
    updates: int,
) -> float:
    """Return c_1 √B + c_2 B, the right side of (3) for E‖θ_L,T − θ*‖², with λ mended.

    It is NOT a bound: the distance of the start is dropped although the steps, of order 1/T², do
    not forget it (the models contract by about e^(−ρ/(TN)) in T updates), and the noise counted is
    that of one coordinate. Arguments as for :func:`horizon_term`, :func:`printed_constants`.
    """
    term = horizon_term(records, budgets, updates)
    first, second = printed_constants(
        len(budgets), gradient_bound=gradient_bound, sigma=sigma, rho=rho, updates=updates
    )
    return first * sqrt(term) + second * term
