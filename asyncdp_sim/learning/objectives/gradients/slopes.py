"""Steps of many record gradients at once: models side by side, and clipped slopes.

A matrix product of more models is faster, for the records are read once for all of them; but BLAS
takes another way for another number of models, and rounds otherwise. So every product has
:data:`ABREAST` of them, the last ones filled up with zeros: its shape is that of the records, and
a model's bits depend neither on its place nor on how many others there are.

Slopes are clipped in NumPy, or in one compiled pass where that pays. Both do the same operations in
the same order: the bits are the same.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import Any, NamedTuple, cast

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.objectives.losses import Array, Loss

ABREAST = 8
"""Models to a product: 4 take 1.3 times as long for each of many, 16 1.7 times for one alone."""
WORTH = 600_000_000
"""Slopes that take NumPy as much longer as numba takes to be imported and what it made read."""
ALONE = 2**17
"""Slopes that one thread has worked out before another has begun."""
_ONE_AT_A_TIME = Lock()
"""Held while numba is asked for: several threads would each compile."""


def stacked(points: Array) -> Array:
    """Return models (r, p) in stacks, shape (⌈r/8⌉, 8, p), with zeros behind the last."""
    stacks = np.zeros((-(-len(points) // ABREAST), ABREAST, points.shape[1]))
    unstacked(stacks, len(points))[:] = points
    return stacks


def unstacked(stacks: Array, count: int) -> Array:
    """Return the first so many rows of stacks (s, 8, m), shape (count, m): a view of them."""
    return stacks.reshape(-1, stacks.shape[2])[:count]


def product_beside(slopes: Array, x: Array) -> Array:
    """Return what matmul does, with the same bits, and let other threads run meanwhile.

    NumPy lets them in a product of two matrices, but in stacked ones only if much comes out.
    """
    return np.stack([np.dot(each, x) for each in slopes])


class Products(NamedTuple):
    """A way to multiply slopes in stacks (s, 8, m) with a block of records (m, p).

    Attributes
    ----------
    block : callable
        Gives the block as it is multiplied.
    product : callable
        Gives the products, shape (s, 8, p).
    """

    block: Callable[[Array], Array]
    product: Callable[[Array, Array], Array]


TOGETHER = Products(lambda x: x, np.matmul)
"""All at once."""
BESIDE = Products(np.asfortranarray, product_beside)
"""While other threads work too; a block is copied once, as each of its products would be."""


@cache  # cells of a sweep pay for numba together
def slopes_of(loss: Loss) -> "ClippedSlopes":
    """Return what works slopes of a loss out, for all who have it."""
    return (
        ClippedSlopes(loss)
        if loss.per_residual is None
        else CompiledSlopes(loss, loss.per_residual)
    )


class RecordSlopes:
    """Slopes of records as they are.

    Parameters
    ----------
    loss : Loss
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss

    def expect(self, count: int) -> None:
        """Be told that so many slopes are to come; what takes time to be had may pay then."""

    def put(self, z: Array, y: Array, bound: Array) -> None:  # noqa: ARG002
        """Put slopes in place of predictions z (r, m) of records with targets y (m,).

        Parameters
        ----------
        z, y : array
        bound : array (m,)
            Slopes are clipped to ±bound, where they are clipped.
        """
        self._loss.slope(z, y, out=z)


class ClippedSlopes(RecordSlopes):
    """Clipped slopes, in NumPy."""

    @override
    def put(self, z: Array, y: Array, bound: Array) -> None:
        super().put(z, y, bound)
        np.maximum(z, -bound, out=z)  # faster than np.clip where there is little to clip
        np.minimum(z, bound, out=z)


class CompiledSlopes(ClippedSlopes):
    """The same of slopes c(z − y), in one compiled pass where so much is to be done that it pays.

    Where nobody has said how much that is, no run waits longer for numba than it has worked
    without it.

    Parameters
    ----------
    loss : Loss
    factor : float
        c.
    """

    def __init__(self, loss: Loss, factor: float) -> None:
        super().__init__(loss)
        self._factor = factor
        self._done = self._expected = 0

    @override
    def expect(self, count: int) -> None:
        self._expected += count

    @override
    def put(self, z: Array, y: Array, bound: Array) -> None:
        with _ONE_AT_A_TIME:
            clip = compiled() if self._worthwhile(z.size) else None
        if clip is None:
            super().put(z, y, bound)
        else:
            clip(z, self._factor, np.ascontiguousarray(y), bound)

    def _worthwhile(self, count: int) -> bool:
        self._done += count
        if compiled.cache_info().currsize > 0:
            return True
        return max(self._done, self._expected) > WORTH and _installed()


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
        made = njit(signature, nogil=True, cache=True)(clip_residuals)
    except RuntimeError:  # nowhere to keep what was compiled
        made = njit(signature, nogil=True)(clip_residuals)
    return cast("Callable[..., None]", made)


def clip_residuals(z: Array, factor: float, y: Array, bound: Array) -> None:
    """Put c(z − y), clipped to ±bound, in place of z (r, m)."""
    for r in range(z.shape[0]):
        for j in range(z.shape[1]):
            slope, most = (z[r, j] - y[j]) * factor, bound[j]
            slope = -most if slope < -most else slope
            z[r, j] = most if slope > most else slope
