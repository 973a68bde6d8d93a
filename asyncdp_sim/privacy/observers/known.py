"""Exact knowledge of pools of observers: new rows, and nodes whose own vector is known.

Rows of fractions are taken modulo a prime. A row that is new modulo the prime is new; a new row is
missed only if the prime divides a certain determinant. Rows are kept reduced. A row with a single
number is a node's own vector: it is known from then on, and removed from the others.

A residue is the representative nearest to 0, at most 2^30 in size. One factor of a product is split
into two halves, so that floats and BLAS multiply without rounding.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Bools

Numbers = npt.NDArray[np.int64]
PRIME = 2**31 - 1
_HALF = 2.0**15
_SUMMED = 128
"""Products of a half and a residue, 2^45 at most, that are summed at a time: floats hold 2^53."""


def applied(weights: Numbers, parts: int, rows: Array) -> Array:
    """Return Σ_j w_ij x_j/``parts``, modulo the prime."""
    shares = residues(weights % PRIME * pow(parts, -1, PRIME) % PRIME)
    products = np.zeros((len(shares), rows.shape[1]))
    take(products, -shares, rows)
    return products


def residues(numbers: Numbers) -> Array:
    """Return integers, below 2^52, modulo the prime."""
    return _modulo(numbers.astype(float))


def take(rows: Array, held: Array, reduced: Array) -> None:
    """Subtract held @ reduced from rows (…, m, M), in place."""
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
    """Reduce the rows of each lot (…, m, M), in place; return their pivots (…, m).

    At its pivot a row is 1 and all others of its lot are 0; a zero row has pivot −1.
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
    """Return numbers of rows at pivots; arbitrary ones for pivot −1, whose row is 0."""
    return np.take_along_axis(rows, pivots[..., None, :], axis=-1)


def _of_first_one(rows: Array) -> Numbers:
    """Scale rows (…, M), in place, so that their first nonzero number is 1; return its index or −1.

    Only multiples of the prime have residue 0, so every other first number has an inverse.
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
    """Replace integers below 2^53 − 2^31 by their residues, in place."""
    multiples = numbers * (1 / PRIME)
    np.rint(multiples, out=multiples)
    multiples *= PRIME
    numbers -= multiples
    return numbers


_NUMBERS = 2**19
"""Numbers reduced at a time: more do not fit the cache, fewer do not use the processor."""


class Known:
    """The knowledge of a pool of observers: own vectors of nodes, and reduced rows."""

    def __init__(self, blind: Bools) -> None:
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
        """The nodes that are partly known."""
        return np.flatnonzero(self._rows.any(axis=0))

    @property
    def pivots(self) -> Numbers:
        """One pivot node per independent row; on these nodes the rows are independent."""
        return self._pivots

    def unknown(self, rows: Array) -> Array:
        """Return the part of rows (m, M) that no combination of the kept rows has.

        It is restricted to nodes that are not pivots yet; the rest of it is 0.
        """
        left = rows[:, self._open]
        take(left, rows[:, self._pivots], self._rows[:, self._open])
        return left

    def keep(self, left: Array, pivots: Numbers) -> None:
        """Keep the new parts of rows, which are reduced."""
        new, places = np.zeros((len(left), len(self._open))), np.flatnonzero(self._open)[pivots]
        new[:, self._open] = left
        self._open[places] = False
        take(self._rows, self._rows[:, places], new)
        rows, places = np.vstack([self._rows, new]), np.append(self._pivots, places)
        single = np.count_nonzero(rows, axis=1) == 1
        self._alone[places[single]] = True
        self._rows, self._pivots = rows[~single], places[~single]


def learn(pools: Sequence[Known], told: Sequence[Array]) -> list[Bools]:
    """Let every pool keep its rows (m, M); return which are new to it."""
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
    """Return indices of shapes in groups of similar size that are reduced at a time."""
    lots: list[list[int]] = []
    order = sorted(range(len(shapes)), key=lambda place: shapes[place][::-1], reverse=True)
    for place in order:  # the widest first
        if len(lots) == 0 or (len(lots[-1]) + 1) * prod(shapes[lots[-1][0]]) > _NUMBERS:
            lots.append([])
        lots[-1].append(place)
    return lots
