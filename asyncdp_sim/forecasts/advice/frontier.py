"""Good coalitions of many owners, collected greedily, and a bound on all the others."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.advice.coalition_cost import EqualSizeCost

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
ORDERS = 2000
"""Orders of joining that are tried at most."""


def candidates(
    alike: EqualSizeCost, records: Array, spread: Array, sizes: Sequence[int]
) -> tuple[Whole, float]:
    """Return coalitions as counts of classes, (B, K), and a bound on every coalition's quick cost.

    The quick cost of k members falls with n_S and grows with W_S. For every price λ ≥ 0 of a
    record, the k owners with the least w_i − λ n_i have the least W_S − λ n_S: owners join in that
    order, one after the other, and the best of all orders and all k are what is looked for. They
    span, for each k, the corner of the convex hull of all (n_S, W_S) where the best lies. Between
    two neighbours (n, W) and (n', W') on it every coalition has n_S ≤ n' and W_S ≥ W, hence at
    least the cost of (n', W), which bounds all that is not collected.

    Parameters
    ----------
    alike : EqualSizeCost
    records, spread : array (K,)
        n_i and w_i of a class.
    sizes : sequence of int
        Owners of each class.
    """
    which = np.repeat(np.arange(len(sizes)), sizes)
    n, w = records[which], spread[which]
    found, seen = [], []
    for price in _prices(n, w):
        # at one price the largest of equals come first; an infinite price is by size alone
        score = -n if np.isinf(price) else w - price * n
        order = np.lexsort((w, -n, score))
        found.append(order)
        seen.append((np.cumsum(n[order]), np.cumsum(w[order])))
    held, loud = (np.array(each) for each in zip(*seen, strict=True))  # (orders, N)
    members = np.tile(np.arange(1, len(n) + 1), len(seen))
    costs = alike.cost(members, held.ravel(), loud.ravel())[0].reshape(held.shape)
    corner = held[1:].ravel(), loud[:-1].ravel()
    between = alike.cost(members[: corner[0].size], *corner)[0]
    bound = min(float(costs.min()), float(between.min()))
    best = np.unique(np.argmin(costs, axis=0))
    counts = np.concatenate([_counts(which[found[at]], len(sizes)) for at in best.tolist()])
    return np.unique(counts, axis=0), bound


def _prices(n: Array, w: Array) -> list[float]:
    """Return 0, λ between those at which two owners change places (not too many), and ∞."""
    more, louder = n[:, None] - n, w[:, None] - w
    change = np.unique((louder / np.where(more == 0, np.inf, more))[(more > 0) & (louder > 0)])
    if len(change) > ORDERS:
        change = change[np.linspace(0, len(change) - 1, ORDERS).astype(np.int64)]
    between = (change[1:] + change[:-1]) / 2
    return [0.0, *between.tolist(), np.inf]


def _counts(order: Whole, classes: int) -> Whole:
    """Return the counts of classes of the first 1, 2, … owners of an order."""
    joined = order[:, None] == np.arange(classes)
    return np.cumsum(joined, axis=0)
