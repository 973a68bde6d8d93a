"""Coupon collector: owners that have contributed after T updates, every i_k being uniform."""

from math import fsum

import numpy as np
import numpy.typing as npt

from asyncdp_sim.theory.formulas.arguments import count

Array = npt.NDArray[np.float64]


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


def answers(n_owners: int, updates: int) -> Array:
    """Return P(owner i has c of the T updates) for c = 0 … T: Binomial(T, 1/N).

    Assumes i_k independent and uniform. The counts of all owners are jointly multinomial.

    Parameters
    ----------
    n_owners, updates : int
        N ≥ 1, T ≥ 0.

    Returns
    -------
    array (T + 1,)

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    number, total = count("n_owners", n_owners), count("updates", updates, 0)
    if number == 1:
        certain = np.zeros(total + 1)
        certain[total] = 1.0
        return certain
    from scipy.special import gammaln  # only here: a slow import

    hits = np.arange(total + 1)
    ways = gammaln(total + 1) - gammaln(hits + 1) - gammaln(total - hits + 1)
    return np.asarray(np.exp(ways - hits * np.log(number) + (total - hits) * np.log1p(-1 / number)))
