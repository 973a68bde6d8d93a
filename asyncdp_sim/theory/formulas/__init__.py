"""Closed forms that know no network: a formula a subject, with its domain and its source.

Here are the domains, whose violations are refused by name, and quantiles that import fast.
"""

from math import isfinite

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError


def refused(key: str, value: object, allowed: str) -> SpecError:
    """Return the error that says what was given and what is allowed."""
    return SpecError([Fault(key, str(value), f"allowed is {allowed}")])


def positive(key: str, value: float) -> float:
    """Return a finite number > 0."""
    if not isfinite(value) or value <= 0:
        raise refused(key, repr(value), "a finite number > 0")
    return float(value)


def finite(key: str, values: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of finite numbers of this shape."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise refused(key, f"an array of shape {array.shape}", f"one of shape {shape}")
    if not np.all(np.isfinite(array)):
        raise refused(key, "an array with NaN or infinite numbers", "finite numbers")
    return array


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
