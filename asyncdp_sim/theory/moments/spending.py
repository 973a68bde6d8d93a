"""Weights of answers: what noise on each adds to E f, and parts of a budget that make it least.

With ``v_k`` the variance of the noise on an owner's k-th answer, E f(θ_T) − f* is what it is
without noise plus Σ_k W_k v_k (sums over owners left out). A part s_k of the budget makes
v_k = v s_k^(−q): q = 2 where ε adds up (Laplace), q = 1 where 1/z² does (Gaussian). Proofs and
their range stand in ``docs/privacy/spending.md``.
"""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.theory.formulas.arguments import refused
from asyncdp_sim.theory.moments.gossip_map import GossipMap
from asyncdp_sim.theory.moments.noise_gain import noise_gain
from asyncdp_sim.theory.moments.per_update import Shape

Array = npt.NDArray[np.float64]


def best_parts(weights: Array, q: float) -> Array:
    """Return s_k ∝ W_k^(1/(1+q)), Σ s_k = 1, which make Σ W_k s_k^(−q) least, shape (K,).

    Parameters
    ----------
    weights : array (K,)
        W_k ≥ 0, not all 0. Where W_k = 0, s_k = 0.
    q : float
        > 0.

    Raises
    ------
    SpecError
        If the weights are negative, or all 0.
    """
    roots = _checked(weights) ** (1 / (1 + q))
    return np.asarray(roots / roots.sum())


def least_cost(weights: Array, q: float) -> float:
    """Return (Σ W_k^(1/(1+q)))^(1+q), below which Σ W_k s_k^(−q) is for no parts (Hölder)."""
    return float((_checked(weights) ** (1 / (1 + q))).sum() ** (1 + q))


def cost(weights: Array, parts: Array, q: float) -> float:
    """Return Σ W_k s_k^(−q); answers of weight 0 cost nothing, whatever their part is."""
    some = weights > 0
    with np.errstate(divide="ignore", over="ignore"):
        return float(weights[some] @ parts[some] ** -q)


def round_weights(hessian: Array, schedule: Schedule, judge: Array | None = None) -> Array:
    """Return W_k of unit noise on the mean answer of round k, k = 1 … T, shape (T,).

    In H's eigenvectors, with curvature h, noise of round k is in the model after round T times
    −γ_k Π_{j > k} (1 − 2γ_j h), and, where an average is judged, in that as it goes into it;
    W_k = Σ_h J_hh c_kh², J the judge's H. O(T²p).

    Parameters
    ----------
    hessian : array (p, p)
        H.
    schedule : Schedule
        With ``sizes`` (T,).
    judge : array (p, p), optional
        Another H, of the fitness that judges the model.
    """
    values, vectors = np.linalg.eigh(hessian)
    form = np.einsum("ah,ab,bh->h", vectors, hessian if judge is None else judge, vectors)
    rounds = len(schedule.sizes)
    model, average = np.zeros((rounds, len(values))), np.zeros((rounds, len(values)))
    for k, size in enumerate(schedule.sizes.tolist()):
        if schedule.kept is not None:
            average = schedule.kept[k] * average + (1 - schedule.kept[k]) * model
        model *= 1 - 2 * size * values
        model[k] = -size
    return np.asarray(np.square(model if schedule.kept is None else average) @ form)


def endless_weights(process: GossipMap, answers: int, *, noise: Shape = "vector") -> Array:
    """Return W_ik of asynchronous learning whose owners are never silent, exactly, shape (N, K).

    i_k is independent, so that owner i's k-th answer makes update t with the negative binomial
    probability C(t−1, k−1) π_i^k (1 − π_i)^(t−k), whatever follows; noise of an update adds what
    it does T − t updates later, the increments of
    :func:`~asyncdp_sim.theory.moments.noise_gain.noise_gain` over π_i.

    Parameters
    ----------
    process : GossipMap
        The algorithm with its numbers, and its assumptions; π_i > 0.
    answers : int
        K, of T or more: fewer would fall silent.
    noise : str
        As for :func:`~asyncdp_sim.theory.moments.noise_gain.noise_gain`.

    Raises
    ------
    SpecError
        If owners may fall silent before T.
    """
    if answers < process.updates:
        raise refused("answers", answers, f"T = {process.updates} or more: nobody is silent")
    gained = np.diff(noise_gain(process, noise=noise), axis=0)[::-1]  # of update t = 1 … T
    found = np.zeros((process.n_owners, answers))
    chance = process.probability
    made = np.zeros((answers + 1, process.n_owners))  # P(k answers before update t)
    made[0] = 1.0
    for felt in gained:
        found += (made[:-1] * felt).T
        made[1:] = made[1:] * (1 - chance) + made[:-1] * chance
        made[0] *= 1 - chance
    return found


def _checked(weights: Array) -> Array:
    if np.any(weights < 0) or not np.any(weights > 0):
        raise refused("weights", weights.tolist(), "numbers ≥ 0, not all 0")
    return weights


__all__ = ["best_parts", "cost", "endless_weights", "least_cost", "round_weights"]
