"""Time until everybody has answered: its law."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import binom

from asyncdp_sim.core.arrays import Array


def all_contributed(n_owners: int, updates: int) -> Array:
    """Return P(M ≤ m) for m = 0 … ``updates``: every owner has contributed.

    Assumes i_k independent and uniform. The number of owners that have contributed is a Markov
    chain; summing its steps never subtracts, so that small values are as accurate as large ones.
    """
    return np.array([seen[-1] for seen in _seen(n_owners, updates)])


def _seen(n_owners: int, updates: int) -> Iterator[Array]:
    """Yield for m = 0 … ``updates`` the law of the number of owners seen, 0 … N; one buffer."""
    old = np.arange(n_owners + 1) / n_owners  # P(the next owner is one of j seen)
    new = np.arange(n_owners, 0, -1) / n_owners  # P(it is one of the others)
    seen = np.zeros(n_owners + 1)
    seen[0] = 1.0
    yield seen
    for _ in range(updates):
        entered = seen[:-1] * new
        seen *= old
        seen[1:] += entered
        yield seen


def answers(n_owners: int, updates: int) -> Array:
    """Return P(owner i has c of the T updates) for c = 0 … T: Binomial(T, 1/N).

    Assumes i_k independent and uniform. The counts of all owners are jointly multinomial.

    Parameters
    ----------
    n_owners, updates : int
        N ≥ 1, T ≥ 0.

    Returns
    -------
    array (T + 1,)
    """
    return np.asarray(binom.pmf(np.arange(updates + 1), updates, 1 / n_owners))
