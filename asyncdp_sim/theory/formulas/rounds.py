"""Synchronous rounds wait for the slowest of N owners; asynchronous learning for none.

Every owner is asked at the start of a round and answers after a time of its own, independent of
the others'; the round ends with the last answer, and the next begins at once.
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
    number, each = count("n_owners", n_owners), positive("rate", rate)
    return fsum(1 / missing for missing in range(1, number + 1)) / each


def mean_gap(n_owners: int, rate: float) -> float:
    """Return 1/(Nμ), the mean time between updates if the same owners never wait for each other.

    N of these take 1/μ: a round takes H_N times as long for as many answers. Arguments as for
    :func:`mean_round`.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    return 1 / (count("n_owners", n_owners) * positive("rate", rate))
