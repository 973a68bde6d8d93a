"""Exact knowledge of pools of observers, and the directions that they know.

Rows of successive powers of a matrix are dependent in float precision long before they are
dependent. Here they are fixed-point numbers of many digits, in limbs of 20 bits, each an integer in
a float. An array of them has a leading axis of L limbs, and is Σ_k limb_k 2^(−20k). Limbs, their
products and sums of these stay below 2^53, where floats are exact, so that BLAS multiplies them.

Floats give a triangular matrix that makes rows orthonormal up to float precision. Applied to all
their digits it gives rows that span the same space, whatever was rounded, and are less dependent by
a dozen digits. This is repeated until floats alone determine the space, with a bound on the error
(for inverses: Rump 2009, Inversion of extremely ill-conditioned matrices in floating-point).

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
BITS = 20
"""Bits of a limb: products of two, and sums of 2^13 of these, stay below 2^53."""
_BASE = 2.0**BITS
FINE = 2.0 ** (2 * BITS)
"""Entries of a matrix of :func:`combined` are multiples of 1/FINE."""


def whole(numbers: Numbers, count: int) -> Array:
    """Return integers in ``count`` limbs."""
    limbs = np.zeros((count, *numbers.shape))
    limbs[0] = numbers
    return limbs


def unit(count: int) -> float:
    """Return the unit of the last of ``count`` limbs."""
    return 2.0 ** (-BITS * (count - 1))


def averaged(weights: Numbers, parts: int, rows: Array) -> Array:
    """Return Σ_j w_ij x_j/``parts`` to within a unit of the last limb, (L, a, M) of (L, b, M)."""
    total = np.asarray(weights.astype(float) @ rows)
    left = np.zeros(total.shape[1:])
    for limb in total:
        left = left * _BASE + limb
        limb[...] = np.floor(left / parts)
        left -= limb * parts
    return _carried(total)


def combined(matrix: Array, rows: Array) -> Array:
    """Return matrix @ rows to within r + 1 units of the last limb, (L, r, M).

    Parameters
    ----------
    matrix : array (r, r)
        A lower triangle of multiples of 1/FINE, at most 1.
    rows : array (L, r, M)
        Less than 1.
    """
    from scipy.linalg.blas import dtrmm

    coarse = np.rint(matrix * _BASE)
    fine = (matrix * _BASE - coarse) * _BASE
    limbs = np.zeros((len(rows) + 1, *rows.shape[1:]))
    for place, row in enumerate(rows, start=1):  # transposed, which for BLAS all of them are
        limbs[place] += dtrmm(1.0, coarse.T, row.T, side=1).T
        if place < len(rows):
            limbs[place + 1] += dtrmm(1.0, fine.T, row.T, side=1).T
    return _carried(limbs)[:-1]


def raised(rows: Array, exponents: Numbers) -> Array:
    """Return rows (L, r, M) times 2^e, e ≥ 0 for each; their numbers must stay below 1."""
    limbs, bits = np.divmod(exponents, BITS)
    places = np.arange(len(rows))[:, None] + limbs
    raised_rows = rows[np.minimum(places, len(rows) - 1), np.arange(rows.shape[1])]
    scales = np.where(places < len(rows), 2.0**bits, 0.0)
    return _carried(raised_rows * scales[:, :, None])


def floats(limbs: Array) -> Array:
    """Return the nearest floats, or their neighbours."""
    values = np.zeros(limbs.shape[1:])
    for limb in limbs[::-1]:
        values = values / _BASE + limb
    return values


def _carried(limbs: Array) -> Array:
    """Carry, in place, so that all limbs but the first are below 2^20."""
    for place in range(len(limbs) - 1, 0, -1):
        over = np.rint(limbs[place] / _BASE)
        limbs[place] -= over * _BASE
        limbs[place - 1] += over
    return limbs


EPS = float(np.finfo(float).eps)
DOUBT = 1e-9
"""Largest accepted error of leverages."""
_LEAST = float(np.finfo(float).tiny)
_GONE = 1e-3
"""Largest relative error of a row; beyond it more digits are needed."""
_SMALL = 10
"""Largest number of leading zero bits of rows before they are raised."""
_STRAIGHT = 1e4
"""Largest entry of an inverse of rows; above it rows are combined once more."""
_SEEN, _LAST = 1e10, 7
"""Largest inverse in float precision, and the number of limbs in the last pass."""


def leverage(rows: Array, off: Array, noise: Array) -> tuple[Array, float] | None:
    """Return [Aᵀ(A Aᵀ)⁻¹A]_uu of A = rows · diag(noise), (m,), and a bound on its error.

    None if more digits are needed.

    Parameters
    ----------
    rows : array (L, r, m)
        Limbs of independent rows; their numbers are less than 1.
    off : array (r,)
        Bound on the error of each number of a row, in units of the last limb.
    noise : array (m,)
        > 0.
    """
    for _ in range(len(rows)):
        values = floats(rows) * noise
        lengths = np.linalg.norm(values, axis=1)
        lost = off * (unit(len(rows)) * np.linalg.norm(noise)) / np.maximum(lengths, _LEAST)
        if lost.max() > _GONE:
            return None
        values /= lengths[:, None]
        axes, triangle = np.linalg.qr(values.T)
        inverse = _inverse(triangle)
        if np.abs(inverse).max() < _STRAIGHT:
            doubt = _doubt(values, axes, inverse, lost)
            if doubt <= DOUBT:
                return np.square(axes).sum(axis=1), doubt
        exponents = np.maximum(-np.frexp(lengths / noise.min())[1], 0).astype(np.int64)
        if exponents.max() > _SMALL:
            rows, larger = raised(rows, exponents), 2.0**exponents
            off, lengths = off * larger, lengths * larger
        if np.abs(inverse).max() < _SEEN:  # floats will do next, and need no more digits
            rows, off = _shortened(rows, off)
        rows, off = _straightened(rows, off, inverse.T / lengths)
    return None


def _shortened(rows: Array, off: Array) -> tuple[Array, Array]:
    """Return the first limbs of rows, and their errors."""
    least = unit(len(rows)) / unit(min(_LAST, len(rows)))
    return rows[:_LAST], off * least + 1


def _inverse(triangle: Array) -> Array:
    """Return the inverse of an upper triangle, made invertible if it is not."""
    from scipy.linalg import lapack

    places = np.diag_indices(len(triangle))
    triangle[places] = np.where(np.abs(triangle[places]) < EPS, EPS, triangle[places])
    return np.asarray(lapack.dtrtri(triangle)[0])


def _doubt(values: Array, axes: Array, inverse: Array, lost: Array) -> float:
    """Return a bound on the sine of the angle between the axes and the space of the true rows.

    It is the part of rows outside the axes, plus their error and the rounding of sums, over the
    least length of a combination of rows.
    """
    beside = np.linalg.norm(values - (values @ axes) @ axes.T)
    rounded = sum(values.shape) * EPS * len(values) ** 0.5
    return float((beside + np.linalg.norm(lost) + rounded) * np.linalg.norm(inverse))


def _straightened(rows: Array, off: Array, steps: Array) -> tuple[Array, Array]:
    """Return rows times a lower triangle, which is rounded to one with a nonzero diagonal."""
    steps = np.tril(steps / np.abs(steps).max(axis=1)[:, None])
    steps = np.rint(steps * FINE) / FINE
    places = np.diag_indices(len(steps))
    steps[places] = np.where(steps[places] == 0, 1 / FINE, steps[places])
    return combined(steps, rows), np.abs(steps) @ off + len(steps) + 1


PRIME = 2**31 - 1
_HALF = 2.0**15
_SUMMED = 128
"""Products of a half and a residue, 2^45 at most, that are summed at a time: floats hold 2^53."""


def applied(weights: Numbers, parts: int, rows: Array) -> Array:
    """Return Σ_j w_ij x_j/``parts``, modulo the prime."""
    shares = residues(weights % PRIME * pow(parts, -1, PRIME) % PRIME)
    products = np.zeros((len(shares), rows.shape[1]))
    subtract_product(products, -shares, rows)
    return products


def residues(numbers: Numbers) -> Array:
    """Return integers, below 2^52, modulo the prime."""
    return _modulo(numbers.astype(float))


def subtract_product(rows: Array, held: Array, reduced: Array) -> None:
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
    subtract_product(second, _at_pivots(second, first_pivots), first)
    second_pivots = reduce(second)
    subtract_product(first, _at_pivots(first, second_pivots), second)
    return np.concatenate([first_pivots, second_pivots], axis=-1)


def _at_pivots(rows: Array, pivots: Numbers) -> Array:
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
"""Numbers reduced at a time, 4 MiB: more do not fit the cache, fewer do not use the processor."""


class Known:
    """The knowledge of a pool of observers: own vectors of nodes, and reduced rows."""

    def __init__(self, blind: Bools) -> None:
        self._blind, self._open = blind, ~blind
        self._alone = np.zeros(len(blind), dtype=np.bool_)
        self._rows = np.zeros((0, len(blind)))  # of several nodes each
        self._pivots = np.zeros(0, dtype=np.int64)

    @property
    def everything(self) -> bool:
        """Whether the own vectors of all other nodes are known."""
        return bool((self._blind | self._alone).all())

    @property
    def alone(self) -> Numbers:
        """The nodes whose own vectors are known."""
        return np.flatnonzero(self._alone)

    @property
    def partly(self) -> Numbers:
        """The nodes whose vectors are known in sums with others alone."""
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
        subtract_product(left, rows[:, self._pivots], self._rows[:, self._open])
        return left

    def keep(self, left: Array, pivots: Numbers) -> None:
        """Keep the new parts of rows, which are reduced."""
        new, places = np.zeros((len(left), len(self._open))), np.flatnonzero(self._open)[pivots]
        new[:, self._open] = left
        self._open[places] = False
        subtract_product(self._rows, self._rows[:, places], new)
        rows, places = np.vstack([self._rows, new]), np.append(self._pivots, places)
        single = np.count_nonzero(rows, axis=1) == 1
        self._alone[places[single]] = True
        self._rows, self._pivots = rows[~single], places[~single]


def learn(pools: Sequence[Known], received: Sequence[Array]) -> list[Bools]:
    """Let every pool keep the rows (m, M) that it received; return which are new to it, (m,)."""
    new_rows = [np.zeros(len(rows), dtype=np.bool_) for rows in received]
    left = [pool.unknown(rows) for pool, rows in zip(pools, received, strict=True)]
    for pool_numbers in _of_similar_size([rows.shape for rows in left]):
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


def _of_similar_size(shapes: list[tuple[int, ...]]) -> list[list[int]]:
    """Return indices of shapes in groups of similar size that are reduced at a time."""
    lots: list[list[int]] = []
    order = sorted(range(len(shapes)), key=lambda place: shapes[place][::-1], reverse=True)
    for place in order:  # the widest first
        if len(lots) == 0 or (len(lots[-1]) + 1) * prod(shapes[lots[-1][0]]) > _NUMBERS:
            lots.append([])
        lots[-1].append(place)
    return lots
