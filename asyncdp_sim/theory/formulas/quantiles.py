"""Quantiles of a binomial count and of Student's t, by the part of SciPy that imports fast."""

import numpy as np

from asyncdp_sim.core.arrays import Array


def binomial_quantile(share: float, trials: int, chance: Array | float) -> Array:
    """Return the smallest k with P(Bin(n, p) ≤ k) ≥ q.

    Parameters
    ----------
    share : float
        q, in (0, 1).
    trials : int
        n ≥ 1.
    chance : float or array
        p, in [0, 1].

    Returns
    -------
    array
        Whole numbers, of the shape of p.
    """
    from scipy.special import bdtr, bdtrik

    chances = np.asarray(chance, dtype=np.float64)
    sure = (chances <= 0) | (chances >= 1)
    inside = np.where(sure, 0.5, chances)
    near = np.clip(np.ceil(bdtrik(share, trials, inside)), 0, trials)
    one_less = np.maximum(near - 1, 0)  # rounding may have carried it past a whole number
    quantile = np.where(bdtr(one_less, trials, inside) >= share, one_less, near)
    return np.asarray(np.where(sure, trials * np.clip(chances, 0, 1), quantile))


def t_quantile(freedom: int, share: float) -> float:
    """Return t with P(T ≤ t) = p, T having Student's law with ν degrees of freedom.

    Parameters
    ----------
    freedom : int
        ν ≥ 1.
    share : float
        p, in (0, 1).
    """
    from scipy.special import stdtrit  # only where a ± is made, as it takes longer than a small run

    return float(stdtrit(freedom, share))
