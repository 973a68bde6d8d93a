"""Theorem 2 of Async as it is printed: shapes to fit and to compare with, none of them a bound."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from asyncdp_sim.theory.formulas.arguments import (
    Array,
)
from asyncdp_sim.theory.formulas.gossip_spectrum import star


def privacy_term(records: int, budgets: Sequence[float] | Array) -> float:
    """Return (1/n²) Σ_i 1/ε_i², of which (5) and (6) are functions; n is of all owners together."""
    return float(np.sum(np.asarray(budgets, dtype=float) ** -2.0)) / records**2


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


def large_horizon(first: float, second: float, n_owners: int) -> tuple[float, float]:
    """Return c̄_1 = √(8N) c_1 and c̄_2 = 8N c_2 of (5) and (6), for :func:`shape`.

    For large T, B is 8N times :func:`privacy_term` (8pN times with the noise of all p parameters).
    The paper holds c_1 constant there; by its proof c_1 falls as 1/T, and the first term goes.
    """
    return sqrt(8 * n_owners) * first, 8 * n_owners * second


def shape(first: float, second: float, term: Array) -> Array:
    """Return c_1 √B + c_2 B for each of some terms B ≥ 0, an array of any shape.

    With :func:`horizon_term` it is the right side of (3) or (4); with :func:`privacy_term` and
    :func:`large_horizon` that of (5) or (6): c̄_1/n √(Σ 1/ε²) + c̄_2/n² Σ 1/ε². The paper gives no
    constants for (4) and (6); they are free, for :mod:`~tests.theory.fits`. With
    second = 0 and first = c_2 Ξ it is (11) of Collab, Theorem 3, whose c_2 is not given either,
    may depend on T, and for fixed T cannot hold as ε → ∞.
    """
    return np.asarray(first * np.sqrt(term) + second * term)
