"""Exact moments of one central model whose answers may be stale, given who answers when.

The order of the updates and their staleness may have any law, as long as it does not depend
on models: callers average over orders that they have drawn.
"""

from dataclasses import dataclass

import numpy as np

from analysis.exact.per_update import Initial, drawn
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.objectives import Quadratic


@dataclass(frozen=True, eq=False)
class CentralMap:
    """An update of the one model, in deviations u = θ − θ* from the optimum.

    With C_i = X_iᵀX_i/n_i, r_i = X_iᵀy_i/n_i, update k with owner i's answer to what was read s
    updates before, and its noise w,

        u_k = u_{k−1} − w(s) (A_i u_{k−1−s} + e_i + b_i w),

        A_i = η (σ I + 2N(n_i/n) C_i)/d_i,  e_i = A_i θ* − 2ηN(n_i/n) r_i/d_i,  b_i = ηN(n_i/n)/d_i,

    d_i being 1, or Nπ_i where steps are divided by it. Assumes the loss (y − θᵀx)², ∇g = σθ, no
    clipping of gradients, and a projection that never acts.

    Attributes
    ----------
    optimum : array (p,)
        θ*.
    hessian : array (p, p)
        H; f(θ) − f(θ*) = uᵀHu.
    slope : array (N, p, p)
        A_i.
    drift : array (N, p)
        e_i.
    noise : array (N,)
        b_i.
    """

    optimum: Array
    hessian: Array
    slope: Array
    drift: Array
    noise: Array


def central_map(objective: Quadratic, step: float, divided: Array | None = None) -> CentralMap:
    """Fill in the numbers of :class:`CentralMap`.

    Parameters
    ----------
    objective : Quadratic
    step : float
        η > 0.
    divided : array (N,), optional
        d_i > 0; 1 by default.
    """
    over = np.ones(objective.n_owners) if divided is None else divided
    gain = step * objective.n_owners * objective.weights / over
    pull = step * objective.sigma / over
    optimum = objective.free_optimum
    slope = 2 * gain[:, None, None] * objective.gram
    slope += pull[:, None, None] * np.eye(objective.n_features)
    drift = slope @ optimum - 2 * gain[:, None] * objective.moment
    return CentralMap(optimum, objective.hessian, slope, np.asarray(drift), gain)


def stale_course(
    process: CentralMap,
    owners: Ints,
    staleness: Ints,
    ks: Ints,
    weights: Array,
    variance: Array,
    *,
    initial: Initial,
) -> Array:
    """Return E f(θ_k) − f(θ*) at chosen k, given whose updates 1, 2, … are, and how stale, (R, J).

    Given the order everything is linear in the start and the noises. Let Λ_l be what a change of
    θ_l adds to θ_k. Backwards from Λ_k = I, update l of owner i adds Λ_l to Λ_{l−1}, and takes
    w(s) Λ_l A_i from Λ_{l−1−s}; its noise adds (w(s) b_i)² Λ_lΛ_lᵀ Var w_i to the covariance.
    Forwards, means go as the model does. O(J T p³) for each order.

    Parameters
    ----------
    process : CentralMap
    owners, staleness : array of int (R, T)
        Owners (from 0) of each order's updates, and how many came between read and use.
    ks : array of int (J,)
        Rising, from 0 to T.
    weights : array (R, T)
        w(s) of each update.
    variance : array (N,) or (J, N)
        Of each coordinate of the noise on owners' answers.
    initial : str
        Where the model starts.
    """
    read = np.arange(owners.shape[1]) - staleness
    start, scatter = drawn(initial)
    view: Array = np.linalg.cholesky(process.hessian).T.astype(float)  # uᵀHu = ‖view u‖²
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        means = _means(process, owners, read, weights, start)[:, ks]
        begun, gain = _felt(process, owners, read, weights, ks, view)
        bias = np.square(np.einsum("ab,rjb->rja", view, means)).sum(axis=2)
        free = bias + scatter * begun
        variances = np.broadcast_to(variance, gain.shape[1:])
        return np.asarray(free + np.einsum("rjn,jn->rj", gain, variances))


def _means(process: CentralMap, turns: Ints, read: Ints, much: Array, start: float) -> Array:
    """Return E u_k given the orders, (R, T + 1, p)."""
    every, updates = np.arange(len(turns)), turns.shape[1]
    u = np.empty((len(turns), updates + 1, len(process.optimum)))
    u[:, 0] = start - process.optimum
    for k in range(updates):
        i = turns[:, k]
        moved = np.einsum("rab,rb->ra", process.slope[i], u[every, read[:, k]]) + process.drift[i]
        u[:, k + 1] = u[:, k] - much[:, k, None] * moved
    return u


def _felt(
    process: CentralMap, turns: Ints, read: Ints, much: Array, ks: Ints, view: Array
) -> tuple[Array, Array]:
    """Return what starts, and owners' noises, of unit variance add to E f; (R, J) and (R, J, N)."""
    count, p, every = len(turns), len(view), np.arange(len(turns))
    last = int(ks[-1])
    felt = np.zeros((last + 1, count, len(ks), p, p))
    felt[ks, :, np.arange(len(ks))] = view
    gain = np.zeros((count, len(ks), len(process.noise)))
    for k in range(last, 0, -1):
        i, weight = turns[:, k - 1], much[:, k - 1]
        size = np.einsum("rjab,rjab->rj", felt[k], felt[k])
        gain[every, :, i] += (weight * process.noise[i])[:, None] ** 2 * size
        felt[k - 1] += felt[k]
        back = weight[:, None, None] * process.slope[i]
        felt[read[:, k - 1], every] -= np.einsum("rjab,rbc->rjac", felt[k], back)
    return np.einsum("rjab,rjab->rj", felt[0], felt[0]), gain
