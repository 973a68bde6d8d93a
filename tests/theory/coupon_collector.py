"""Time until everybody has answered: its law."""

from collections.abc import Iterator

import numpy as np

from asyncdp_sim.theory.formulas.arguments import Array, count


def all_contributed(n_owners: int, updates: int) -> Array:
    """Return P(M ≤ m) for m = 0 … ``updates``: every owner has contributed.

    Assumes i_k independent and uniform. The number of owners that have contributed is a Markov
    chain; summing its steps never subtracts, so that small values are as accurate as large ones.

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

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    number, total = count("n_owners", n_owners), count("updates", updates, 0)
    if number == 1:
        certain = np.zeros(total + 1)
        certain[total] = 1.0
        return certain
    from scipy.special import gammaln  # only here: a slow import

    hits = np.arange(total + 1)
    ways = gammaln(total + 1) - gammaln(hits + 1) - gammaln(total - hits + 1)
    return np.asarray(np.exp(ways - hits * np.log(number) + (total - hits) * np.log1p(-1 / number)))
