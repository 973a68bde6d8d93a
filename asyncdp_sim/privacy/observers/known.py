"""Exact knowledge of pools of observers: which rows are new, and which records are isolated.

Rows are fractions, and are taken modulo a prime: one that is new there is new, and one that is new
is taken for a known one only if this prime divides a certain determinant. They are kept reduced, so
that one that has come to a single number is a node's own vector: that is known from then on, and
leaves the others.

A residue is the number nearest to 0 of those that differ by multiples of the prime, at most 2^30.
Of a product one factor is cut in two halves, so that floats and BLAS multiply without rounding.
"""

from collections.abc import Sequence
from math import prod

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
    products = np.zeros((len(shares), rows.shape[1]))
    take(products, -shares, rows)
    return products


def residues(numbers: Numbers) -> Array:
    """Return whole numbers modulo the prime; they are below 2^52."""
    return _modulo(numbers.astype(float))


def take(rows: Array, held: Array, reduced: Array) -> None:
    """Take held @ reduced from rows (…, m, M), in place."""
    if not held.any():
        return
    for at in range(0, held.shape[-1], _SUMMED):
        left, right = held[..., at : at + _SUMMED], reduced[..., at : at + _SUMMED, :]
        upper = np.rint(left / _HALF)
        product = _modulo(upper @ right)
        product *= _HALF
        product += (left - upper * _HALF) @ right
        rows -= product
        _modulo(rows)


def reduce(rows: Array) -> Numbers:
    """Reduce rows of every lot (…, m, M) by each other, in place; return their pivots (…, m).

    A row is 1 alone of its lot at its pivot; −1 is that of a row of which nothing is left.
    """
    if rows.shape[-2] == 1:
        return _of_first_one(rows[..., 0, :])[..., None]
    half = rows.shape[-2] // 2
    first, second = rows[..., :half, :], rows[..., half:, :]
    first_pivots = reduce(first)
    take(second, _at(second, first_pivots), first)
    second_pivots = reduce(second)
    take(first, _at(first, second_pivots), second)
    return np.concatenate([first_pivots, second_pivots], axis=-1)


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
    scaled = _modulo(rows * upper)
    scaled *= _HALF
    scaled += rows * (factors - upper * _HALF)
    rows[...] = _modulo(scaled)
    return np.where(first == 0, -1, places)[..., 0]


def _modulo(numbers: Array) -> Array:
    """Return whole numbers below 2^53 − 2^31 as their residues, in place."""
    multiples = numbers * (1 / PRIME)
    np.rint(multiples, out=multiples)
    multiples *= PRIME
    numbers -= multiples
    return numbers


Flags = npt.NDArray[np.bool_]
_NUMBERS = 2**19
"""That are reduced at a time: more leave the processor's own memory, fewer keep it waiting."""


class Known:
    """What a pool of observers knows: nodes' own vectors, and reduced rows of several."""

    def __init__(self, blind: Flags) -> None:
        self._blind, self._open = blind, ~blind
        self._alone = np.zeros(len(blind), dtype=np.bool_)
        self._rows = np.zeros((0, len(blind)))  # of several nodes each
        self._pivots = np.zeros(0, dtype=np.int64)

    @property
    def everything(self) -> bool:
        """Whether all nodes' vectors are known."""
        return bool((self._blind | self._alone).all())

    @property
    def alone(self) -> Numbers:
        """The nodes whose own vectors are known."""
        return np.flatnonzero(self._alone)

    @property
    def partly(self) -> Numbers:
        """The nodes of which something is known, and not all."""
        return np.flatnonzero(self._rows.any(axis=0))

    @property
    def pivots(self) -> Numbers:
        """As many of these as there are independent rows, which are so there already."""
        return self._pivots

    def unknown(self, rows: Array) -> Array:
        """Return what rows (m, M) have that no combination of those before has.

        Of the nodes that are no pivots yet, since nothing is left of the others.
        """
        left = rows[:, self._open]
        take(left, rows[:, self._pivots], self._rows[:, self._open])
        return left

    def keep(self, left: Array, pivots: Numbers) -> None:
        """Keep rows of which that is left, and reduced by each other."""
        new, places = np.zeros((len(left), len(self._open))), np.flatnonzero(self._open)[pivots]
        new[:, self._open] = left
        self._open[places] = False
        take(self._rows, self._rows[:, places], new)
        rows, places = np.vstack([self._rows, new]), np.append(self._pivots, places)
        single = np.count_nonzero(rows, axis=1) == 1
        self._alone[places[single]] = True
        self._rows, self._pivots = rows[~single], places[~single]


def learn(pools: Sequence[Known], told: Sequence[Array]) -> list[Flags]:
    """Let every pool keep rows (m, M), which differ by pool; return which are new to it."""
    new_rows = [np.zeros(len(rows), dtype=np.bool_) for rows in told]
    left = [pool.unknown(rows) for pool, rows in zip(pools, told, strict=True)]
    for pool_numbers in _alike([rows.shape for rows in left]):
        lots = np.zeros(
            (len(pool_numbers), *np.max([left[pool].shape for pool in pool_numbers], axis=0))
        )
        for lot, pool in zip(lots, pool_numbers, strict=True):
            lot[: len(left[pool]), : left[pool].shape[1]] = left[pool]
        for lot, pivots, pool in zip(lots, reduce(lots), pool_numbers, strict=True):
            new = pivots >= 0
            new_rows[pool] = new[: len(new_rows[pool])]
            pools[pool].keep(lot[new, : left[pool].shape[1]], pivots[new])
    return new_rows


def _alike(shapes: list[tuple[int, ...]]) -> list[list[int]]:
    """Return places of shapes by their size, as many together as are reduced at a time."""
    lots: list[list[int]] = []
    order = sorted(range(len(shapes)), key=lambda place: shapes[place][::-1], reverse=True)
    for place in order:  # the widest first
        if len(lots) == 0 or (len(lots[-1]) + 1) * prod(shapes[lots[-1][0]]) > _NUMBERS:
            lots.append([])
        lots[-1].append(place)
    return lots
