"""Waiting for all of N owners: for the slowest in a round, and until every one has contributed.

In a synchronous round every owner is asked at the start and answers after a time of its own,
independent of the others'; the round ends with the last answer, and the next begins at once.
"""

from math import fsum

from asyncdp_sim.theory.formulas.arguments import count, positive


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
