"""Answers to a query to all owners, given how many answer."""

import numpy as np
from scipy.stats import binom

from asyncdp_sim.core.arrays import Array


def responders(n_owners: int, probability: float) -> Array:
    """Return P(m owners answer), m = 0 … N: Binomial(N, q); N ≥ 1, q in [0, 1]."""
    return np.asarray(binom.pmf(np.arange(n_owners + 1), n_owners, probability))


def no_collision_given(answers: int, airtime: float, window: float) -> float:
    """Return P(no two of m answers overlap) = (1 − (m−1)d)₊^m; m ≥ 0.

    The chance that m uniform points in the unit interval are all more than d apart.

    References
    ----------
    Feller, An Introduction to Probability Theory and Its Applications II (1971), section I.7.
    """
    number, d = answers, airtime / window
    return float(max(0.0, 1 - (number - 1) * d) ** number)


def clean_given(answers: int, airtime: float, window: float) -> float:
    """Return P(a given one of m answers is clean) = (1−2d)^m + (2/m)[(1−d)^m − (1−2d)^m]; m ≥ 1.

    Notes
    -----
    The others must start outside (u − d, u + d), where u is uniform in the unit interval: with
    probability (1−2d)^{m−1} each time that both ends lie inside, (1−d−u)^{m−1} for u < d, and
    the same at the other end. For d > ½ the interval may cover the window: refused.
    """
    number, d = answers, airtime / window
    apart = (1 - 2 * d) ** number
    return float(apart + 2 / number * ((1 - d) ** number - apart))
