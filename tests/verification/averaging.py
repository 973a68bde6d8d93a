"""Averaging an owner's answers: how well it tells one record, and what ε allows any test."""

from math import tanh

import numpy as np


def averaging_advantage(epsilon: float, answers: int) -> float:
    """Return how well the mean of K answers tells whether one record was replaced.

    Let the record move one coordinate of every answer by the most it can, 2Ξ/n = bε/K. The best
    threshold on the mean is half-way, and its true less its false positive rate is
    P(|Σ_j w_j| < ε/2) over K unit Laplace variables. Their sum is a difference of two
    Gamma(K, 1): P(Σ w > x) = Σ_{j<K} C(K−1+j, j) 2^{−(K+j)} Q(K − j, x), with Q the regularised
    upper incomplete gamma function (j arrivals of one Poisson process before K of another). For
    K = 1 it is 1 − e^{−ε/2}, what the best of all tests has; for large K about ε/√(4πK).

    Parameters
    ----------
    epsilon : float
        ε > 0 over the K answers.
    answers : int
        K ≥ 1.
    """
    from scipy.special import gammaincc, gammaln

    j = np.arange(answers, dtype=float)
    chance = gammaln(answers + j) - gammaln(answers) - gammaln(j + 1) - (answers + j) * np.log(2)
    above = float(np.exp(chance) @ gammaincc(answers - j, epsilon / 2))
    return 1 - 2 * above


def advantage_bound(epsilon: float) -> float:
    """Return the largest advantage that ε-differential privacy allows any test: tanh(ε/2).

    True less false positive rate, (e^ε − 1)/(e^ε + 1), whatever is done with all of an owner's
    answers and whatever else is known.

    References
    ----------
    Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy.
    """
    return tanh(epsilon / 2)
