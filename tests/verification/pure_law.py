"""Pure answers composed without the accountant: a lower bound on what K of them cost at δ.

Randomised response composes to a binomial law. Of Laplace noise no less can be told than of its
answers rounded to cells, m of them where the two densities' ratio changes: the ratio of cell
k = 0 … m − 1 has the logarithm (2k + 1 − m) ε₀/m, and beyond it is ±ε₀. It has no more digits than
floats: its δ is 10⁻¹⁰ or more. The binomial law has forty.
"""

from functools import lru_cache
from math import ceil, exp, expm1, inf, log, log1p, sqrt

import mpmath
import numpy as np

from asyncdp_sim.core.arrays import Array

CELLS = 16
"""Cells that Laplace noise is rounded to, at least, and for each unit of ε₀."""
_WIDE = 16.0
"""Standard deviations, on either side, of a sum of losses that is worked out."""
_HALVINGS = 60


def delta_of(epsilon: float, charge: float, answers: int, *, laplace: bool) -> float:
    """Return δ of K answers at ε: of randomised response; hardly more than this of Laplace noise.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    charge : float
        ε₀ > 0 of one answer.
    answers : int
        K ≥ 1.
    laplace : bool
        Whether noise is Laplace's, or all that is known of an answer is ε₀.
    """
    if epsilon >= charge * answers:
        return 0.0
    if not laplace:
        return _binomial(epsilon, charge, answers)
    losses, masses = _summed(charge, answers)
    some = losses > epsilon
    return float(-np.expm1(epsilon - losses[some]) @ masses[some])


@lru_cache(maxsize=4096)
def epsilon_of(charge: float, answers: int, delta: float, *, laplace: bool) -> float:
    """Return the least ε at δ of K answers that cost ε₀ each; 0 where δ alone suffices.

    Parameters
    ----------
    charge : float
        ε₀ ≥ 0, possibly infinite.
    answers : int
        K ≥ 0.
    delta : float
        δ in (0, 1).
    laplace : bool
        See :func:`delta_of`.
    """
    if charge in (0, inf) or answers == 0:
        return charge if answers > 0 else 0.0
    low, high = 0.0, charge * answers
    if delta_of(low, charge, answers, laplace=laplace) <= delta:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = delta_of(middle, charge, answers, laplace=laplace) <= delta
        low, high = (low, middle) if inside else (middle, high)
    return high


def _binomial(epsilon: float, charge: float, answers: int) -> float:
    """Return Σ P(B = b) (1 − e^(ε − loss)), B successes of K at e^ε₀ : 1, over losses above ε."""
    with mpmath.workdps(40):
        odds = mpmath.exp(charge)
        first = int((epsilon / charge + answers) // 2) + 1  # successes from which losses exceed ε
        if first > answers:
            return 0.0
        mass = mpmath.binomial(answers, first) * odds**first / (1 + odds) ** answers
        found = mpmath.mpf(0)
        for successes in range(first, answers + 1):
            more = -mass * mpmath.expm1(epsilon - (2 * successes - answers) * mpmath.mpf(charge))
            found += more
            mass *= odds * (answers - successes) / (successes + 1)
            if mass < found * 1e-30:
                break
        return float(found)


@lru_cache(maxsize=64)
def _summed(charge: float, answers: int) -> tuple[Array, Array]:
    """Return losses of K Laplace answers that are rounded to cells, and their probabilities."""
    cells = CELLS * ceil(max(charge, 1.0))
    width = charge / cells
    masses: Array = np.zeros(2 * cells + 1)
    masses[0], masses[-1] = exp(-charge) / 2, 0.5
    places = np.arange(cells)
    masses[1::2] = (np.exp((places + 1) * width - charge) - np.exp(places * width - charge)) / 2
    steps = np.arange(-cells, cells + 1)
    mean = float(masses @ steps)
    spread = sqrt(max(float(masses @ np.square(steps - mean)) * answers, 1.0))
    half = min(ceil(_WIDE * spread) + 2 * cells, 2 * cells * answers + 1)
    n = 2 * half + 1
    first = round(mean * answers) - half  # of the window
    power = np.fft.irfft(np.fft.rfft(masses, n) ** answers, n)
    window = np.roll(power, -((first + cells * answers) % n))
    losses: Array = width * (first + np.arange(n, dtype=np.float64))
    return losses, np.asarray(np.maximum(window, 0.0), dtype=np.float64)


def amplified(epsilon: float, probability: float) -> float:
    """Return ε of a sampled answer, given its ε if the record is in the sample.

    ln ((1 − q + q a)/(1 − q + q/a)), a = e^(ε/2), at most ln (1 + q(e^ε − 1)).

    Parameters
    ----------
    epsilon : float
        ε ≥ 0 at the full sensitivity; at half the sensitivity it is ε/2.
    probability : float
        q in (0, 1).
    """
    if epsilon == inf:
        return inf
    half = epsilon / 2
    if half > 600:
        return half + log(probability) - log1p(probability * expm1(-half))
    return log1p(probability * expm1(half)) - log1p(probability * expm1(-half))
