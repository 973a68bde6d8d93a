"""Rounds of many owners who are online alike: exact moments of the mean model of those present.

At round t each of N owners is there with chance p_t, all alike, so that whoever is there is a
random choice of K owners, K binomial. With h_i and g_i the curvature and the pull of owner i, an
update is θ ← (1 − ασ − α h̄_A) θ + α ḡ_A, and of the means over A

    E h̄_A = h̄,   Cov(h̄_A, ḡ_A) = S_hg E[1/K − 1/N],

S with N − 1 in the divisor: draws without replacement. Rounds to which nobody comes move nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives import Quadratic
from scenarios.beyond.moves import LongRun, pulls


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
