"""Time until everybody has answered: its law."""

from collections.abc import Iterator

import numpy as np

from asyncdp_sim.theory.formulas.arguments import count
from asyncdp_sim.theory.formulas.coupon_collector import Array


def someone_missing(n_owners: int, updates: int) -> Array:
    """Return P(M > m) for m = 0 … ``updates``: some owner has not contributed after m updates.

    Assumes i_k independent and uniform. The number of owners that have contributed is a Markov
    chain; summing its steps never subtracts, so that each value is good to about
    ``updates`` roundings, also where the inclusion–exclusion sum
    P(M ≤ m) = Σ_j (−1)^j C(N,j) (1−j/N)^m cancels to nothing. Takes N·``updates`` operations.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    updates : int
        ≥ 0.

    Returns
    -------
    array (updates + 1,)

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    return np.array([seen[:-1].sum() for seen in _seen(n_owners, updates)])


def all_contributed(n_owners: int, updates: int) -> Array:
    """Return P(M ≤ m) for m = 0 … ``updates``: every owner has contributed.

    The same chain as :func:`someone_missing`, summed from its end, so that small values are as
    accurate as large ones.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    return np.array([seen[-1] for seen in _seen(n_owners, updates)])


def _seen(n_owners: int, updates: int) -> Iterator[Array]:
    """Yield for m = 0 … ``updates`` the law of the number of owners seen, 0 … N; one buffer."""
    number, last = count("n_owners", n_owners), count("updates", updates, 0)
    old = np.arange(number + 1) / number  # P(the next owner is one of j seen)
    new = np.arange(number, 0, -1) / number  # P(it is one of the others)
    seen = np.zeros(number + 1)
    seen[0] = 1.0
    yield seen
    for _ in range(last):
        entered = seen[:-1] * new
        seen *= old
        seen[1:] += entered
        yield seen
