"""Queries to all owners at once: who answers, which answers survive, the wait for the slowest.

In a synchronous round every owner is asked at the start and answers after a time of its own,
independent of the others'; the round ends with the last answer, and the next begins at once.

Each of N owners listens with probability q, on its own, and answers at a time that is uniform in
a window W after the query, for a constant airtime τ; answers that overlap destroy each other.
Queries do not interfere: W + τ is at most the time between them. With d = τ/W ≤ ½.
"""

from dataclasses import dataclass
from math import fsum

from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive, refused
from asyncdp_sim.theory.formulas.arguments import probability as chance


def mean_round(n_owners: int, rate: float) -> float:
    """Return E max of N independent Exp(μ) = H_N/μ, the mean length of a round.

    With j owners still missing, the next answer takes 1/(jμ) in the mean. A constant part of the
    response, the same for all owners, adds to it.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate : float
        μ > 0, the inverse of the mean response time.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Feller, An Introduction to Probability Theory and Its Applications II (1971), section I.6.
    """
    number, response_rate = count("n_owners", n_owners), positive("rate", rate)
    return fsum(1 / missing for missing in range(1, number + 1)) / response_rate


def mean_until_all(n_owners: int) -> float:
    """Return E M = N H_N, the mean number of updates until every owner has contributed.

    The coupon collector: with j owners still missing, the next update is a new one's with
    probability j/N. Assumes i_k independent and uniform.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.

    Raises
    ------
    SpecError
        If N < 1.
    """
    number = count("n_owners", n_owners)
    return fsum(number / missing for missing in range(1, number + 1))


@dataclass(frozen=True)
class AnswersPerQuery:
    """The answers that one broadcast query brings in.

    Attributes
    ----------
    mean_begun : float
        Nq, answers that are sent, in the mean.
    mean_clean : float
        Answers that overlap no other, in the mean.
    """

    mean_begun: float
    mean_clean: float


def broadcast(n_owners: int, probability: float, airtime: float, window: float) -> AnswersPerQuery:
    """Return what a query to N owners brings in, over all numbers of listeners.

    The mean number of clean answers is
    Nq(1−2d)(1−2dq)^{N−1} + 2[(1−dq)^N − (1−2dq)^N], the mean of m·P(clean given m), where m
    answers are begun and P(clean given m) = (1−2d)^m + (2/m)[(1−d)^m − (1−2d)^m]: with
    E x^m = (1−q+qx)^N and E m x^m = Nqx(1−q+qx)^{N−1}. Divided by Nq it is the probability that
    a given answer is clean.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    probability : float
        q in [0, 1]: an owner receives the query and answers.
    airtime, window : float
        τ ≥ 0 and W > 0, τ ≤ W/2.

    Raises
    ------
    SpecError
        If an argument is outside its domain or d > ½.
    """
    number, q, d = (
        count("n_owners", n_owners),
        chance("probability", probability),
        share(airtime, window),
    )
    both = 1 - 2 * d * q
    clean = number * q * (1 - 2 * d) * both ** (number - 1)
    clean += 2 * ((1 - d * q) ** number - both**number)
    return AnswersPerQuery(number * q, clean)


def share(airtime: float, window: float) -> float:
    """Return d = τ/W, which is at most ½."""
    length, span = nonnegative("airtime", airtime), positive("window", window)
    if 2 * length > span:
        raise refused("airtime", repr(airtime), f"a number ≤ window/2 = {span / 2!r}")
    return length / span
