"""Quantile tables and step functions of many latent normals: NumPy's own results, sooner."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data.dataset import Array

_END = 4.5
_PER_UNIT = 150 / (2 * _END)
Z_KNOTS: Array = np.linspace(-_END, _END, 151)
"""Where quantile tables are tabulated; beyond the ends a variable keeps its end value."""
_BELOW = _PER_UNIT * (1 - 1e-14)  # no rounding takes a z to a knot above it
_NEXT = np.append(Z_KNOTS[1:], np.inf)
FEW = 12
"""Cuts up to which comparing with each of them takes less time than a search."""


def interpolated(z: Array, values: Array) -> Array:
    """Return what ``numpy.interp(z, Z_KNOTS, values)`` does, to the bit.

    The knots are equally far apart, so that their places are reckoned, not searched for.

    Parameters
    ----------
    z : array (n,)
        None NaN.
    values : array
        At :data:`Z_KNOTS`.
    """
    slopes = np.append(np.diff(values) / np.diff(Z_KNOTS), 0.0)
    inside = np.clip(z, -_END, _END)
    place = ((inside + _END) * _BELOW).astype(np.intp)
    place += inside >= _NEXT[place]
    inside -= Z_KNOTS[place]
    inside *= slopes[place]
    inside += values[place]
    return inside


def steps(z: Array, cuts: Array) -> npt.NDArray[np.intp]:
    """Return how many of the increasing cuts are not above each z.

    Parameters
    ----------
    z : array (n,)
        None NaN.
    cuts : array (c,)
    """
    if len(cuts) > FEW:
        return np.searchsorted(cuts, z, side="right")
    passed = np.zeros(len(z), np.int8)
    for cut in cuts.tolist():
        passed += z >= cut
    return passed.astype(np.intp)
