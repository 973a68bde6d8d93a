"""Exact moments of asynchronous learning given who updates when: noise is averaged over, not drawn.

The order of the updates may have any law, as long as it does not look at the models.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np

from analysis.exact.gossip_map import GossipMap
from analysis.exact.per_update import Initial, Shape, drawn, variances
from asyncdp_sim.core.arrays import Array, Ints

NUMBERS = 2**23
"""Of the adjoints that are worked on at a time, at most, unless one order has more."""


@dataclass(frozen=True, eq=False)
class Ordered:
    """Expected fitness given the order of the updates, for each of several orders.

    Attributes
    ----------
    excess, noise_free : array (R, J)
        E f(θ_L,k) − f(θ*) given an order, with noise and without, at each of J values of k.
    """

    excess: Array
    noise_free: Array


def ordered(
    process: GossipMap,
    owners: Ints,
    ks: Ints,
    noise_variance: Array | None = None,
    *,
    noise: Shape = "vector",
    initial: Initial = "zeros",
    numbers: Ints | None = None,
    hessian: Array | None = None,
    optimum: Array | None = None,
) -> Ordered:
    """Return the expected fitness at chosen k, given whose updates 1, 2, … are.

    Given the order everything is linear in the starts and the noises. Let A_k,l be what a change of
    all models after l updates adds to θ_L,k. Backwards from A_k,k, which is the identity at θ_L,
    update l of owner i makes both blocks at θ_L and at θ_i (m A_L + A_i M_i)/2 (notation of
    :class:`~analysis.exact.gossip_map.GossipMap`); its noise adds s_i² A_i Cov(w_i)
    A_iᵀ to the covariance of θ_L,k. Forwards, means go as the models do. O(J T p³) for each order.

    Parameters
    ----------
    process : GossipMap
        The algorithm with its numbers; its π_i do not matter.
    owners : array of int (R, T)
        Owners (from 0) of each order's updates; −1 after its last, where models stay.
    ks : array of int (J,)
        Rising, from 0 to T.
    noise_variance : array (N,) or (N, K), optional
        As for :func:`~analysis.exact.per_update.moments`; or of the first, second …
        answer of each owner.
    noise, initial : str
        As there.
    numbers : array of int (R, T), optional
        How many answers each update's owner had released before: required where there are K.
    hessian, optimum : array (p, p), array (p,), optional
        Of another quadratic fitness that judges the model; the training one by default.
    """
    variance = variances(process, noise_variance)
    levels = variance[owners] if variance.ndim == 1 else variance[owners, numbers]
    start, spread = drawn(initial)
    judge = process.hessian if hessian is None else hessian
    shift = np.zeros(process.n_features) if optimum is None else process.optimum - optimum
    view: Array = np.linalg.cholesky(judge).T.astype(float)  # uᵀHu = ‖view u‖²
    width = max(1, NUMBERS // (ks.size * (process.n_owners + 1) * process.n_features**2))
    loud, quiet = np.empty((len(owners), ks.size)), np.empty((len(owners), ks.size))
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for first in range(0, len(owners), width):
            rows = slice(first, first + width)
            bias = np.einsum("ab,rjb->rja", view, _means(process, owners[rows], ks, start) + shift)
            free, added = _covered(process, owners[rows], ks, view, levels[rows], noise)
            quiet[rows] = np.square(bias).sum(axis=2) + spread * free
            loud[rows] = quiet[rows] + added
    return Ordered(loud, quiet)


def _means(process: GossipMap, turns: Ints, ks: Ints, start: float) -> Array:
    """Return E u_L,k given the orders, (R, J, p)."""
    every = np.arange(len(turns))
    u = np.tile(start - process.optimum, (len(turns), process.n_owners + 1, 1))  # θ_L is row 0
    means = np.empty((len(turns), len(ks), process.n_features))
    for k in range(int(ks[-1]) + 1):
        if k > 0:
            rows = every[turns[:, k - 1] >= 0]
            i = turns[rows, k - 1]
            q = (u[rows, 0] + u[rows, 1 + i]) / 2
            u[rows, 0] = process.central_factor * q + process.central_drift
            u[rows, 1 + i] = np.einsum("rab,rb->ra", process.factor[i], q) + process.drift[i]
        means[:, ks == k] = u[:, :1]
    return means


def _covered(
    process: GossipMap, turns: Ints, ks: Ints, view: Array, levels: Array, noise: Shape
) -> tuple[Array, Array]:
    """Return E f(θ_L,k)'s part of starts of unit variance, and of the noises, (R, J) each."""
    started = added = np.zeros((len(turns), len(ks)))
    for k, rows, begun, felt in _backwards(process, turns, ks, view, noise):
        if k == 0:
            started = felt
        else:
            added[rows, begun:] += levels[rows, k - 1][:, None] * felt
    return started, added


def _backwards(
    process: GossipMap, turns: Ints, ks: Ints, view: Array, noise: Shape
) -> Iterator[tuple[int, Ints, int, Array]]:
    """Yield k, the orders that have it, the first of ``ks`` from it on, and what noise adds there.

    What unit noise of update k adds to E f(θ_L), for k down to 1; then what starts of unit variance
    do, k = 0.
    """
    count, p, points = len(turns), process.n_features, len(ks)
    every, m = np.arange(count), process.central_factor
    a = np.zeros((count, process.n_owners + 1, points, p, p))
    for k in range(int(ks[-1]), -1, -1):
        a[:, 0, ks == k] = view
        if k == 0:
            break
        begun = int(np.searchsorted(ks, k))
        rows = every[turns[:, k - 1] >= 0]
        i = turns[rows, k - 1]
        own = a[rows, 1 + i, begun:]
        felt = own if noise == "vector" else own.sum(axis=-1, keepdims=True)
        yield k, rows, begun, np.einsum("rjab,rjab->rj", felt, felt)
        stacked = own.reshape(len(rows), own.shape[1] * p, p) @ process.factor[i]
        both = (m * a[rows, 0, begun:] + stacked.reshape(own.shape)) / 2
        a[rows, 0, begun:] = both
        a[rows, 1 + i, begun:] = both
    yield 0, every, 0, np.einsum("rnjab,rnjab->rj", a, a)


def standard_error(each: Array) -> Array:
    """Return the standard error of a mean over orders, shape (J,)."""
    return np.asarray(each.std(axis=0, ddof=1) / sqrt(len(each)))
