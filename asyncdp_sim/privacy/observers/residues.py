"""Rows of whole numbers modulo a prime, in floats: many lots of them are reduced at once.

A residue is the number nearest to 0 of those that differ by multiples of the prime, at most 2^30.
Of a product one factor is cut in two halves, so that floats and BLAS multiply without rounding.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
PRIME = 2**31 - 1
_HALF = 2.0**15
_SUMMED = 128
"""Products of a half and a residue, 2^45 at most, that are summed at a time: floats hold 2^53."""


def applied(weights: Numbers, parts: int, rows: Array) -> Array:
    """Return Σ_j w_ij x_j over ``parts``."""
    shares = residues(weights % PRIME * pow(parts, -1, PRIME) % PRIME)
    found = np.zeros((len(shares), rows.shape[1]))
    take(found, -shares, rows)
    return found


def residues(numbers: Numbers) -> Array:
    """Return whole numbers modulo the prime; they are below 2^52."""
    return _modulo(numbers.astype(float))


def take(rows: Array, held: Array, reduced: Array) -> None:
    """Take held @ reduced from rows (…, m, M), in place."""
    if not held.any():
        return
    for at in range(0, held.shape[-1], _SUMMED):
        some, others = held[..., at : at + _SUMMED], reduced[..., at : at + _SUMMED, :]
        upper = np.rint(some / _HALF)
        found = _modulo(upper @ others)
        found *= _HALF
        found += (some - upper * _HALF) @ others
        rows -= found
        _modulo(rows)


def reduce(rows: Array) -> Numbers:
    """Reduce rows of every lot (…, m, M) by each other, in place; return their pivots (…, m).

    A row is 1 alone of its lot at its pivot; −1 is that of a row of which nothing is left.
    """
    if rows.shape[-2] == 1:
        return _of_first_one(rows[..., 0, :])[..., None]
    half = rows.shape[-2] // 2
    first, second = rows[..., :half, :], rows[..., half:, :]
    some = reduce(first)
    take(second, _at(second, some), first)
    others = reduce(second)
    take(first, _at(first, others), second)
    return np.concatenate([some, others], axis=-1)


def _at(rows: Array, pivots: Numbers) -> Array:
    """Return numbers of rows at pivots; any where there is none, which counts rows of 0."""
    return np.take_along_axis(rows, pivots[..., None, :], axis=-1)


def _of_first_one(rows: Array) -> Numbers:
    """Multiply rows (…, M) so that their first number is 1, in place; return where that is, or −1.

    A prime has no other multiples than those of its residue 0, which is 0 in floats.
    """
    places = (rows != 0).argmax(axis=-1)[..., None]
    first = np.take_along_axis(rows, places, axis=-1).astype(np.int64)
    inverses = [pow(number, -1, PRIME) if number else 0 for number in first.ravel().tolist()]
    factors = residues(np.array(inverses, dtype=np.int64)).reshape(first.shape)
    upper = np.rint(factors / _HALF)
    found = _modulo(rows * upper)
    found *= _HALF
    found += rows * (factors - upper * _HALF)
    rows[...] = _modulo(found)
    return np.where(first == 0, -1, places)[..., 0]


def _modulo(numbers: Array) -> Array:
    """Return whole numbers below 2^53 − 2^31 as their residues, in place."""
    multiples = numbers * (1 / PRIME)
    np.rint(multiples, out=multiples)
    multiples *= PRIME
    numbers -= multiples
    return numbers
