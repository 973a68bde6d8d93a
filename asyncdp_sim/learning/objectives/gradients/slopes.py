"""Clipped slopes in place of predictions: in NumPy, and in one compiled pass where that pays.

Both do the same operations in the same order: the bits are the same.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

from asyncdp_sim.learning.objectives.losses import Array, Loss

WORTH = 1_000_000_000
"""Slopes that take NumPy as much longer as numba takes to be imported and what it made read."""


class Slopes:
    """What one objective's slopes are worked out by.

    It is NumPy, until so much is done that numba would have paid for itself: no run waits longer
    for numba than it has worked without it.

    Parameters
    ----------
    loss : Loss
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._done = 0

    def put(self, z: Array, y: Array, bound: Array | None) -> None:
        """Put slopes in place of predictions z (r, m) of records with targets y (m,).

        Parameters
        ----------
        z, y : array
        bound : array (m,), optional
            Slopes are clipped to ±bound.
        """
        if bound is None:
            self._loss.slope(z, y, out=z)
            return
        factor = self._loss.per_residual
        if factor is not None and self._worthwhile(z.size):
            compiled()(z, factor, np.ascontiguousarray(y), bound)
            return
        self._loss.slope(z, y, out=z)
        np.maximum(z, -bound, out=z)  # faster than np.clip where there is little to clip
        np.minimum(z, bound, out=z)

    def _worthwhile(self, count: int) -> bool:
        self._done += count
        return compiled.cache_info().currsize > 0 or (self._done > WORTH and _installed())


@cache
def _installed() -> bool:
    return find_spec("numba") is not None


@cache
def compiled() -> Callable[..., None]:
    """Return :func:`clip_residuals`, compiled; what was made is kept on disk."""
    from numba import njit, types

    given = types.Array(types.float64, 1, "C", readonly=True)
    signature: Any = types.void(types.float64[:, ::1], types.float64, given, given)
    try:
        made = njit(signature, cache=True)(clip_residuals)
    except RuntimeError:  # nowhere to keep what was compiled
        made = njit(signature)(clip_residuals)
    return cast("Callable[..., None]", made)


def clip_residuals(z: Array, factor: float, y: Array, bound: Array) -> None:
    """Put c(z − y), clipped to ±bound, in place of z (r, m)."""
    for r in range(z.shape[0]):
        for j in range(z.shape[1]):
            slope, most = (z[r, j] - y[j]) * factor, bound[j]
            slope = -most if slope < -most else slope
            z[r, j] = most if slope > most else slope
