"""Models that a random owner moves at a time: their exact means and second moments in the long run.

An update is x ← A_e x + c_e, e being who made it: an owner, or all owners of a round. Where e is
drawn anew each time, with chances q_e, moments that no longer change satisfy

    m = Σ q_e (A_e m + c_e),   S = Σ q_e (A_e S A_eᵀ + A_e m c_eᵀ + c_e mᵀ A_eᵀ + c_e c_eᵀ).

Where e updates at rates λ_e(s) while some s lasts, s being a Markov chain with rates Q, the moments
m_s = E x 1{s} and S_s = E x xᵀ 1{s} at any time satisfy

    0 = Σ m_t Q_ts + Σ λ_e(s) ((A_e − 1) m_s + π_s c_e),

and S_s likewise; after an update they are means over s and e, weighted by λ_e(s).

Of rounds of many owners who are online alike, the mean model of those present needs less.
At round t each of N owners is there with chance p_t, all alike, so that whoever is there is a
random choice of K owners, K binomial. With h_i and g_i the curvature and the pull of owner i, an
update is θ ← (1 − ασ − α h̄_A) θ + α ḡ_A, and of the means over A

    E h̄_A = h̄,   Cov(h̄_A, ḡ_A) = S_hg E[1/K − 1/N],

S with N − 1 in the divisor: draws without replacement. Rounds to which nobody comes move nothing.

Written from the algorithms' formulas, apart from the code that learns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives import Quadratic


@dataclass(frozen=True, eq=False)
class Moves:
    """What updates do to the numbers of a model.

    Attributes
    ----------
    factor : array (E, d, d)
        A_e.
    shift : array (E, d)
        c_e.
    """

    factor: Array
    shift: Array


@dataclass(frozen=True, eq=False)
class LongRun:
    """Moments of the model after an update, when they no longer change.

    Attributes
    ----------
    mean : array (d,)
    second : array (d, d)
        E x xᵀ.
    """

    mean: Array
    second: Array

    def psi(self, objective: Quadratic) -> float:
        """Return E ψ of the first p numbers."""
        p = len(objective.optimum)
        mean, best = self.mean[:p], objective.optimum
        away = self.second[:p, :p] - np.outer(mean, best) - np.outer(best, mean)
        excess = np.sum(objective.hessian * (away + np.outer(best, best)))
        return float(excess / objective.fitness(best))


def long_run(moves: Moves, chances: Array) -> LongRun:
    """Return the moments where each update is drawn anew, with these chances (E,)."""
    a, c, d = moves.factor, moves.shift, moves.shift.shape[1]
    mean = np.linalg.solve(np.eye(d) - np.einsum("e,eij->ij", chances, a), chances @ c)
    crossed = np.einsum("e,eij,j,ek->ik", chances, a, mean, c)
    known = crossed + crossed.T + np.einsum("e,ei,ej->ij", chances, c, c)
    twice = np.einsum("e,eij,ekl->ikjl", chances, a, a).reshape(d * d, d * d)
    second = np.linalg.solve(np.eye(d * d) - twice, known.ravel()).reshape(d, d)
    return LongRun(mean, second)


def while_it_lasts(moves: Moves, rates: Array, changes: Array) -> LongRun:
    """Return the moments where who updates depends on a chain that goes on by itself.

    Parameters
    ----------
    moves : Moves
    rates : array (S, E)
        λ_e(s).
    changes : array (S, S)
        Q, rows adding up to 0.
    """
    a, c, d = moves.factor, moves.shift, moves.shift.shape[1]
    n_states = len(rates)
    ones = np.append(np.zeros(n_states), 1.0)
    share = np.linalg.lstsq(np.vstack([changes.T, np.ones(n_states)]), ones, rcond=None)[0]
    mean = _balanced(np.einsum("se,eij->sij", rates, a), rates, changes, share[:, None] * rates @ c)
    crossed = np.einsum("se,eij,sj,ek->sik", rates, a, mean, c)
    known = crossed + crossed.swapaxes(1, 2)
    known += np.einsum("s,se,ei,ej->sij", share, rates, c, c)
    twice = np.einsum("se,eij,ekl->sikjl", rates, a, a).reshape(n_states, d * d, d * d)
    second = _balanced(twice, rates, changes, known.reshape(n_states, d * d))
    each = float(share @ rates.sum(axis=1))
    moved = np.einsum("se,eij,sj->i", rates, a, mean) + share @ rates @ c
    twice_moved = np.einsum("sij,sj->i", twice, second).reshape(d, d) + known.sum(axis=0)
    return LongRun(moved / each, twice_moved / each)


def _balanced(gains: Array, rates: Array, changes: Array, known: Array) -> Array:
    """Solve 0 = Σ v_t Q_ts + (G_s − Σ_e λ_e(s)) v_s + b_s for v, (S, D)."""
    n_states, size = known.shape
    matrix = np.einsum("ts,ij->sitj", changes, np.eye(size))
    for s in range(n_states):
        matrix[s, :, s, :] += gains[s] - rates[s].sum() * np.eye(size)
    solved = np.linalg.solve(matrix.reshape(n_states * size, -1), -known.ravel())
    return np.asarray(solved.reshape(n_states, size))


def pulls(objective: Quadratic) -> Moves:
    """Return 2C_i and 2r_i: owner i's gradient is the first times θ, less the second."""
    return Moves(2 * objective.gram, 2 * objective.moment)


def shares(objective: Quadratic) -> Array:
    """Return n_i/n."""
    return np.asarray(objective.records / objective.records.sum())


def one_model(objective: Quadratic, step: float) -> Moves:
    """Return θ ← θ − η (σθ + N (n_i/n) ∇ℓ_i(θ)), for each owner."""
    pull, weights = pulls(objective), step * len(objective.records) * shares(objective)
    p = pull.shift.shape[1]
    factor = (1 - step * objective.sigma) * np.eye(p) - weights[:, None, None] * pull.factor
    return Moves(factor, weights[:, None] * pull.shift)


def rounds(objective: Quadratic, step: float, online: Sequence[float]) -> tuple[Moves, Array]:
    """Return θ ← θ − α (σθ + Σ_A n_i ∇ℓ_i/Σ_A n_i), and the chance of each set A of owners.

    Rounds to which nobody comes make no update.
    """
    sets = np.array([each for each in product((0, 1), repeat=len(online)) if any(each)])
    chances = np.prod(np.where(sets == 1, online, 1 - np.asarray(online)), axis=1)
    weights = sets * objective.records
    weights = weights / weights.sum(axis=1, keepdims=True)
    pull = pulls(objective)
    p = pull.shift.shape[1]
    factor = (1 - step * objective.sigma) * np.eye(p) - step * np.einsum(
        "ei,ijk->ejk", weights, pull.factor
    )
    return Moves(factor, step * weights @ pull.shift), chances / chances.sum()


def pace(known: Any) -> float:
    """Return ρ/T² of a scenario whose owners update copies of their own."""
    return float(known.algorithm.rho / known.run.updates**2)


def copies(objective: Quadratic, pace: float, divided_by: Array) -> Moves:
    """Return Async's Algorithm 1 with the proof's step, of (θ_L, θ_1 … θ_N), for each owner.

    θ̄ = (θ_L + θ_i)/2; θ_i ← θ̄ − (N r/(σ d_i)) (σθ̄/(2N) + (n_i/n) ∇ℓ_i(θ̄)) with r = ρ/T² (``pace``)
    and d_i (``divided_by``), 1 or Nπ_i; θ_L ← (1 − r/2) θ̄.
    """
    pull, weights = pulls(objective), shares(objective)
    n_owners, p = pull.shift.shape
    factor = np.stack([np.eye((n_owners + 1) * p)] * n_owners)
    shift = np.zeros((n_owners, (n_owners + 1) * p))
    for i in range(n_owners):
        own, first = slice((i + 1) * p, (i + 2) * p), slice(0, p)
        step = n_owners * pace * weights[i] / (objective.sigma * divided_by[i])
        moved = (1 - pace / (2 * divided_by[i])) * np.eye(p) - step * pull.factor[i]
        for rows, change in ((first, (1 - pace / 2) * np.eye(p)), (own, moved)):
            factor[i, rows] = 0.0
            factor[i, rows, first] = factor[i, rows, own] = change / 2
        shift[i, own] = step * pull.shift[i]
    return Moves(factor, shift)


def minimiser(objective: Quadratic, weights: Array) -> Array:
    """Return what makes Σ w_i F_i + (σ/2)‖θ‖² least, Σ w_i being 1."""
    pull = pulls(objective)
    p = pull.shift.shape[1]
    curvature = np.einsum("i,ijk->jk", weights, pull.factor) + objective.sigma * np.eye(p)
    return np.asarray(np.linalg.solve(curvature, weights @ pull.shift))


@dataclass(frozen=True)
class Crowd:
    """What is known of one round: the chance that anybody comes, and E[1/K] if so."""

    anybody: float
    inverse: float


def crowd(chance: float, n_owners: int) -> Crowd:
    """Return what is known of a round with this chance of each owner's presence."""
    sizes = np.arange(1, n_owners + 1)
    steps = np.concatenate([[1.0], (n_owners - sizes + 1) / sizes])
    weights = np.cumprod(steps) * chance ** np.arange(n_owners + 1)
    weights *= (1 - chance) ** (n_owners - np.arange(n_owners + 1))
    anybody = float(weights[1:].sum())
    return Crowd(anybody, float(weights[1:] @ (1 / sizes)) / anybody if anybody > 0 else 1.0)


def in_rounds(objective: Quadratic, step: float, chances: Sequence[float], laps: int) -> LongRun:
    """Return moments after an update, the mean over a period that was repeated so often.

    Parameters
    ----------
    objective : Quadratic
        Of one feature, and owners with as many records.
    step : float
        α.
    chances : sequence of float
        p_t of one period.
    laps : int
        Periods that are let pass.
    """
    pull = pulls(objective)
    h, g = pull.factor[:, 0, 0], pull.shift[:, 0]
    found = [crowd(chance, len(h)) for chance in chances]
    spread, means = np.cov(h, g), (float(h.mean()), float(g.mean()))
    moved = [_moved(step, objective.sigma, spread, means, each, len(h)) for each in found]
    now, kept = np.array([0.0, 0.0, 1.0]), np.zeros((len(found), 2))
    for _ in range(laps):
        for place, (each, change) in enumerate(zip(found, moved, strict=True)):
            kept[place] = change @ now
            now[:2] += each.anybody * (kept[place] - now[:2])
    weights = np.array([each.anybody for each in found])
    second, mean = weights @ kept / weights.sum()
    return LongRun(np.array([mean]), np.array([[second]]))


def _moved(
    step: float, sigma: float, spread: Array, means: tuple[float, float], each: Crowd, n_owners: int
) -> Array:
    """Return what takes (E θ², E θ, 1) to (E θ², E θ) after an update, (2, 3)."""
    part = step**2 * (each.inverse - 1 / n_owners)
    a, c = 1 - step * sigma - step * means[0], step * means[1]
    squared = [a**2 + part * spread[0, 0], 2 * (a * c - part * spread[0, 1])]
    return np.array([[*squared, c**2 + part * spread[1, 1]], [0.0, a, c]])
