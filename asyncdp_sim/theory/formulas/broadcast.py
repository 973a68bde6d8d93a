"""A query to all owners at once: how many answer, and how many answers do not collide.

Each of N owners listens with probability q, on its own, and answers at a time that is uniform in
a window W after the query, for a constant airtime τ; answers that overlap destroy each other.
Queries do not interfere: W + τ is at most the time between them. With d = τ/W ≤ ½.
"""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.theory.formulas.arguments import Array, count, nonnegative, positive, refused
from asyncdp_sim.theory.formulas.arguments import probability as chance


@dataclass(frozen=True)
class AnswersPerQuery:
    """The answers that one broadcast query brings in.

    Attributes
    ----------
    mean_begun : float
        Nq, answers that are sent, in the mean.
    mean_clean : float
        Answers that overlap no other, in the mean.
    no_collision : float
        P(no two answers overlap), also where nobody answers.
    """

    mean_begun: float
    mean_clean: float
    no_collision: float


def responders(n_owners: int, probability: float) -> Array:
    """Return P(m owners answer), m = 0 … N: Binomial(N, q); N ≥ 1, q in [0, 1].

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    number, listens = count("n_owners", n_owners), chance("probability", probability)
    if listens in (0.0, 1.0):
        certain = np.zeros(number + 1)
        certain[round(listens) * number] = 1.0
        return certain
    from scipy.special import gammaln  # only here: a slow import

    m = np.arange(number + 1)
    ways = gammaln(number + 1) - gammaln(m + 1) - gammaln(number - m + 1)
    return np.asarray(np.exp(ways + m * np.log(listens) + (number - m) * np.log1p(-listens)))


def no_collision_given(answers: int, airtime: float, window: float) -> float:
    """Return P(no two of m answers overlap) = (1 − (m−1)d)₊^m; m ≥ 0.

    The chance that m uniform points in the unit interval are all more than d apart.

    Raises
    ------
    SpecError
        If an argument is outside its domain or d > ½.

    References
    ----------
    Feller, An Introduction to Probability Theory and Its Applications II (1971), section I.7.
    """
    number, d = count("answers", answers, 0), _share(airtime, window)
    return float(max(0.0, 1 - (number - 1) * d) ** number)


def clean_given(answers: int, airtime: float, window: float) -> float:
    """Return P(a given one of m answers is clean) = (1−2d)^m + (2/m)[(1−d)^m − (1−2d)^m]; m ≥ 1.

    Notes
    -----
    The others must start outside (u − d, u + d), where u is uniform in the unit interval: with
    probability (1−2d)^{m−1} each time that both ends lie inside, (1−d−u)^{m−1} for u < d, and
    the same at the other end. For d > ½ the interval may cover the window: refused.

    Raises
    ------
    SpecError
        If an argument is outside its domain or d > ½.
    """
    number, d = count("answers", answers), _share(airtime, window)
    apart = (1 - 2 * d) ** number
    return float(apart + 2 / number * ((1 - d) ** number - apart))


def broadcast(n_owners: int, probability: float, airtime: float, window: float) -> AnswersPerQuery:
    """Return what a query to N owners brings in, over all numbers of listeners.

    The mean number of clean answers is
    Nq(1−2d)(1−2dq)^{N−1} + 2[(1−dq)^N − (1−2dq)^N], the mean of m·P(clean given m): with
    E x^m = (1−q+qx)^N and E m x^m = Nqx(1−q+qx)^{N−1}. Divided by Nq it is the probability that
    a given answer is clean.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    probability : float
        q in [0, 1]: an owner hears the query and answers.
    airtime, window : float
        τ ≥ 0 and W > 0, τ ≤ W/2.

    Raises
    ------
    SpecError
        If an argument is outside its domain or d > ½.
    """
    law, d = responders(n_owners, probability), _share(airtime, window)
    q = float(probability)
    both = 1 - 2 * d * q
    clean = n_owners * q * (1 - 2 * d) * both ** (n_owners - 1)
    clean += 2 * ((1 - d * q) ** n_owners - both**n_owners)
    m = np.arange(n_owners + 1)
    with np.errstate(under="ignore"):
        apart = np.maximum(0.0, 1 - (m - 1) * d) ** m
    return AnswersPerQuery(n_owners * q, clean, float(law @ apart))


def _share(airtime: float, window: float) -> float:
    length, whole = nonnegative("airtime", airtime), positive("window", window)
    if 2 * length > whole:
        raise refused("airtime", repr(airtime), f"a number ≤ window/2 = {whole / 2!r}")
    return length / whole
