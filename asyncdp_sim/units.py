"""Time: integer ticks inside, model time units outside.

One time unit is the mean time between two ticks of a rate-one clock; the simulation counts
10⁹ ticks in it, so that order never hangs on the rounding of a float.
"""

from math import isfinite

import numpy as np
import numpy.typing as npt

TICKS_PER_UNIT = 10**9
LAST_TICK = 2**62
"""No run goes beyond this tick (4.6·10⁹ time units): tables hold 64-bit integers."""
_LAST_UNIT = LAST_TICK / TICKS_PER_UNIT
"""The last tick in time units: a float whose product with the ticks per unit is it exactly."""


def to_ticks(units: float) -> int:
    """Return a duration or an instant in ticks, rounded to the nearest one.

    Parameters
    ----------
    units : float
        Time in model units; finite.

    Raises
    ------
    ValueError
        If ``units`` is not finite.
    """
    if not isfinite(units):
        raise ValueError(f"a time must be finite, given {units!r}")
    return round(units * TICKS_PER_UNIT)


def to_units(ticks: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return times in model units (float64), elementwise."""
    return np.asarray(ticks, dtype=np.int64) / TICKS_PER_UNIT


def total_units(ticks: npt.NDArray[np.int64]) -> float:
    """Return the sum of times in model units, which may be more ticks than 64 bits hold."""
    high, low = int((ticks >> 32).sum()), int((ticks & (2**32 - 1)).sum())
    return float((high << 32) + low) / TICKS_PER_UNIT


def block_to_ticks(units: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return a block of durations in ticks; the same rounding as :func:`to_ticks`.

    A duration beyond :data:`LAST_TICK` becomes that: no run sees its end.
    """
    ticks = np.minimum(units, _LAST_UNIT)
    ticks *= TICKS_PER_UNIT
    return np.rint(ticks, out=ticks).astype(np.int64)
