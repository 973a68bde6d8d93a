"""Gaussian differential privacy: closed forms of one number μ, without the accountant.

Answers of multiplier z are as hard to tell apart as N(0, 1) from N(μ, 1), μ = 1/z; K of them have
μ√K. The accountant asks dp-accounting for the same numbers; whoever attacks its claims must not.
"""

from functools import lru_cache
from math import exp, inf, sqrt

_HALVINGS = 200
"""Of an interval: more than a float's digits, so that the last one decides."""


def delta_of(epsilon: float, mu: float) -> float:
    """Return the least δ at ε: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ); 0 for μ = 0.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    mu : float
        μ ≥ 0.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian mechanism, theorem 8.
    """
    if mu == 0:
        return 0.0
    from scipy.special import log_ndtr

    above = exp(float(log_ndtr(mu / 2 - epsilon / mu)))
    return above - exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)))


@lru_cache(maxsize=4096)
def epsilon_of(mu: float, delta: float) -> float:
    """Return the least ε at δ; 0 where δ alone suffices, ∞ for an infinite μ.

    Parameters
    ----------
    mu : float
        μ ≥ 0, possibly infinite.
    delta : float
        δ in (0, 1).
    """
    if mu == inf:
        return inf
    low, high = 0.0, 1.0
    if delta_of(low, mu) <= delta:
        return 0.0
    while delta_of(high, mu) > delta:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle, mu) <= delta else (middle, high)
    return high


@lru_cache(maxsize=4096)
def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest μ that is (ε, δ)-differentially private; ∞ for an infinite ε.

    Parameters
    ----------
    epsilon : float
        ε > 0, possibly infinite.
    delta : float
        δ in (0, 1).
    """
    if epsilon == inf:
        return inf
    low, high = 0.0, sqrt(2 * epsilon) + 1
    while delta_of(epsilon, high) <= delta:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(epsilon, middle) <= delta else (low, middle)
    return low


__all__ = ["delta_of", "epsilon_of", "mu_of"]
