"""Pure answers composed without the accountant: a lower estimate of what K of them cost at δ.

Randomised response composes to a binomial law. Of Laplace noise no less can be told than of its
answers rounded to cells, m of them where the two densities' ratio changes: the ratio of cell
k = 0 … m − 1 has the logarithm (2k + 1 − m) ε₀/m, and beyond it is ±ε₀. The accountant asks
dp-accounting for an upper bound; whoever attacks its claims must not.
"""

from functools import lru_cache
from math import ceil, exp, inf, log, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accountants.gaussian_law import mu_of

Array = npt.NDArray[np.float64]
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


@lru_cache(maxsize=4096)
def charge_of(epsilon: float, answers: int, delta: float, *, laplace: bool) -> float:
    """Return the largest ε₀ of which K answers cost (ε, δ); ∞ for an infinite ε.

    A single answer is charged whole, as the accountant has it: ε₀ = ε, though δ allows more.

    Parameters
    ----------
    epsilon : float
        ε > 0, possibly infinite.
    answers : int
        K ≥ 1.
    delta : float
        δ in (0, 1).
    laplace : bool
        See :func:`delta_of`.
    """
    if epsilon == inf or answers == 1:
        return epsilon
    low = epsilon / answers
    high = 2 * max(low, mu_of(epsilon, delta) / sqrt(answers))
    while epsilon_of(high, answers, delta, laplace=laplace) <= epsilon:
        high *= 2
    while high > low * (1 + 1e-7):
        middle = sqrt(low * high)
        inside = epsilon_of(middle, answers, delta, laplace=laplace) <= epsilon
        low, high = (middle, high) if inside else (low, middle)
    return low


def answers_of(charge: float, epsilon: float, delta: float, *, laplace: bool) -> int:
    """Return how many answers of ε₀ each cost at most (ε, δ).

    Parameters
    ----------
    charge, epsilon : float
        ε₀ and ε ≥ ε₀, finite.
    delta : float
        δ in (0, 1).
    laplace : bool
        See :func:`delta_of`.
    """
    low, step = 1, 1
    while epsilon_of(charge, low + step, delta, laplace=laplace) <= epsilon:
        low, step = low + step, 2 * step
    while step > 1:
        step //= 2
        if epsilon_of(charge, low + step, delta, laplace=laplace) <= epsilon:
            low += step
    return low


def _binomial(epsilon: float, charge: float, answers: int) -> float:
    """Return P(B ≥ b) − e^ε P'(B ≥ b), B successes of K at e^ε₀ : 1 and at 1 : e^ε₀."""
    from scipy.special import betainc

    success = 1 / (1 + exp(-charge))
    least = int((epsilon / charge + answers) // 2) + 1  # successes from which losses exceed ε
    if least > answers:
        return 0.0
    rest = answers - least + 1
    likely, unlikely = betainc(least, rest, success), betainc(least, rest, 1 - success)
    return float(likely) - exp(epsilon + log(unlikely)) if unlikely > 0 else float(likely)


@lru_cache(maxsize=64)
def _summed(charge: float, answers: int) -> tuple[Array, Array]:
    """Return losses of K Laplace answers that are rounded to cells, and their probabilities."""
    cells = CELLS * ceil(max(charge, 1.0))
    width = charge / cells
    masses = np.zeros(2 * cells + 1)
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


__all__ = ["answers_of", "charge_of", "delta_of", "epsilon_of"]
