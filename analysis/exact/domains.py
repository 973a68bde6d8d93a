"""Domains of exact recursions, whose violations are refused by name."""

from collections.abc import Sequence
from math import fsum, isfinite
from numbers import Integral

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas import refused


def count(key: str, value: int, least: int = 1) -> int:
    """Return a whole number ≥ ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise refused(key, repr(value), f"a whole number ≥ {least}")
    return int(value)


def nonnegative(key: str, value: float) -> float:
    """Return a finite number ≥ 0."""
    if not isfinite(value) or value < 0:
        raise refused(key, repr(value), "a finite number ≥ 0")
    return float(value)


def probability(key: str, value: float) -> float:
    """Return a number in [0, 1]."""
    if not 0 <= value <= 1:
        raise refused(key, repr(value), "a number in [0, 1]")
    return float(value)


def probabilities(key: str, values: Sequence[float] | Array) -> Array:
    """Return numbers ≥ 0 that sum to one (to 1e-9)."""
    array = np.asarray(values, dtype=float)
    fits = array.ndim == 1 and array.size > 0 and bool(np.all(array >= 0))
    if not fits or abs(fsum(array.tolist()) - 1) > 1e-9:
        raise refused(key, array.tolist(), "a list of numbers ≥ 0 that sum to 1")
    return array
