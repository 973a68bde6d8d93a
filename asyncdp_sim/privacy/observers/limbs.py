"""Numbers of many digits: fixed point, in limbs of 20 bits that are whole floats.

An array of them has a leading axis of L limbs, and is Σ_k limb_k 2^(−20k). Limbs, their products
and sums of these stay below 2^53, where floats are exact, so that BLAS multiplies them.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
BITS = 20
_BASE = 2.0**BITS
FINE = 2.0 ** (2 * BITS)
"""Of a unit, so many parts are what a matrix of :func:`combined` is made of."""


def whole(numbers: Numbers, count: int) -> Array:
    """Return whole numbers in so many limbs."""
    limbs = np.zeros((count, *numbers.shape))
    limbs[0] = numbers
    return limbs


def unit(count: int) -> float:
    """Return what the last of so many limbs counts in."""
    return 2.0 ** (-BITS * (count - 1))


def averaged(weights: Numbers, parts: int, rows: Array) -> Array:
    """Return Σ_j w_ij x_j over ``parts``, less than a last unit off, (L, a, M) of (L, b, M)."""
    total = _times(weights, rows)
    left = np.zeros(total.shape[1:])
    for limb in total:
        left = left * _BASE + limb
        limb[...] = np.floor(left / parts)
        left -= limb * parts
    return _carried(total)


def combined(matrix: Array, rows: Array) -> Array:
    """Return matrix @ rows, (L, r, M), r + 1 last units off at most.

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
    found = np.zeros((len(rows) + 1, *rows.shape[1:]))
    for place, row in enumerate(rows, start=1):  # transposed, which for BLAS all of them are
        found[place] += dtrmm(1.0, coarse.T, row.T, side=1).T
        if place < len(rows):
            found[place + 1] += dtrmm(1.0, fine.T, row.T, side=1).T
    return _carried(found)[:-1]


def raised(rows: Array, exponents: Numbers) -> Array:
    """Return rows (L, r, M) times 2^e, e ≥ 0 for each; their numbers must stay below 1."""
    limbs, bits = np.divmod(exponents, BITS)
    places = np.arange(len(rows))[:, None] + limbs
    found = rows[np.minimum(places, len(rows) - 1), np.arange(rows.shape[1])]
    scales = np.where(places < len(rows), 2.0**bits, 0.0)
    return _carried(found * scales[:, :, None])


def floats(limbs: Array) -> Array:
    """Return the nearest floats, or their neighbours."""
    found = np.zeros(limbs.shape[1:])
    for limb in limbs[::-1]:
        found = found / _BASE + limb
    return found


def _carried(limbs: Array) -> Array:
    """Bring all limbs but the first below 2^20, in place."""
    for place in range(len(limbs) - 1, 0, -1):
        over = np.rint(limbs[place] / _BASE)
        limbs[place] -= over * _BASE
        limbs[place - 1] += over
    return limbs


def _times(weights: Numbers, rows: Array) -> Array:
    """Return weights @ rows, limb by limb; sparse where most weights are 0."""
    if np.count_nonzero(weights) > 0.1 * weights.size:
        return np.asarray(weights.astype(float) @ rows)
    from scipy.sparse import csr_array

    sparse = csr_array(weights.astype(float))
    return np.stack([sparse @ limb for limb in rows])
