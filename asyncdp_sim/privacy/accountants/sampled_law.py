"""Sampled Gaussian answers composed without the accountant: what K of them cost at δ, by summing.

The density of an answer is laid out over its values, and each value's loss is shared between the
two nearest multiples of an interval. The accountant asks dp-accounting for an upper bound, from
closed forms; whoever attacks its claims must not.
"""

from functools import lru_cache
from math import ceil, inf, log, log1p, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accountants.gaussian_law import mu_of

Array = npt.NDArray[np.float64]
_VALUES = 2**17
_WIDE = 10.0
"""Standard deviations of noise, on either side, that are laid out."""
_REACH = 14.0
"""Standard deviations, on either side, of a sum of losses that is worked out."""
_FINE = 400
"""Intervals that a standard deviation of a loss is divided into."""
_HALVINGS = 50


@lru_cache(maxsize=4096)
def epsilon_of(mu: float, probability: float, answers: int, delta: float) -> float:
    """Return the least ε at δ of K sampled answers; 0 where δ alone suffices.

    Parameters
    ----------
    mu : float
        μ = 1/z ≥ 0, possibly infinite.
    probability : float
        q in (0, 1).
    answers : int
        K ≥ 0.
    delta : float
        δ in (0, 1).
    """
    if mu in (0, inf) or answers == 0:
        return mu if answers > 0 else 0.0
    losses, masses = _summed(mu, probability, answers)
    low, high = 0.0, max(float(losses[-1]), 0.0)
    if _delta(losses, masses, low) <= delta:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(losses, masses, middle) <= delta else (middle, high)
    return high


@lru_cache(maxsize=4096)
def mu_for(epsilon: float, probability: float, answers: int, delta: float) -> float:
    """Return the largest μ at which K sampled answers cost (ε, δ); ∞ for an infinite ε.

    Parameters
    ----------
    epsilon : float
        ε > 0, possibly infinite.
    probability : float
        q in (0, 1).
    answers : int
        K ≥ 1.
    delta : float
        δ in (0, 1).
    """
    if epsilon == inf:
        return inf
    low = mu_of(epsilon, delta) / sqrt(answers) * (1 - 1e-3)
    high = 2 * low
    while epsilon_of(high, probability, answers, delta) <= epsilon:
        low, high = high, 2 * high
    while high > low * (1 + 1e-6):
        middle = sqrt(low * high)
        inside = epsilon_of(middle, probability, answers, delta) <= epsilon
        low, high = (middle, high) if inside else (low, middle)
    return low


def answers_of(mu: float, probability: float, epsilon: float, delta: float) -> int:
    """Return how many answers of μ cost at most (ε, δ), at least one.

    Parameters
    ----------
    mu : float
        μ > 0.
    probability : float
        q in (0, 1).
    epsilon : float
        ε, finite, which one answer does not exceed.
    delta : float
        δ in (0, 1).
    """
    low, step = 1, 1
    while epsilon_of(mu, probability, low + step, delta) <= epsilon:
        low, step = low + step, 2 * step
    while step > 1:
        step //= 2
        if epsilon_of(mu, probability, low + step, delta) <= epsilon:
            low += step
    return low


def _delta(losses: Array, masses: Array, epsilon: float) -> float:
    some = losses > epsilon
    return float(-np.expm1(epsilon - losses[some]) @ masses[some])


@lru_cache(maxsize=8)
def _summed(mu: float, probability: float, answers: int) -> tuple[Array, Array]:
    """Return losses of K answers, and their probabilities."""
    half, q = mu / 2, probability
    width = (2 * _WIDE + half) / _VALUES
    x = -_WIDE + width * (np.arange(_VALUES) + 0.5)
    there, other, without = (-np.square(x - at) / 2 for at in (half, -half, 0.0))
    first = np.logaddexp(log(q) + there, log1p(-q) + without)
    loss = first - np.logaddexp(log(q) + other, log1p(-q) + without)
    mass = np.exp(first)
    mass /= mass.sum()
    mean = float(mass @ loss)
    spread = sqrt(float(mass @ np.square(loss - mean)))
    interval = spread / _FINE
    lowest = int(np.floor(loss[0] / interval))
    place = loss / interval - lowest
    below = place.astype(np.int64)
    size = int(below[-1]) + 2
    law = np.bincount(below, mass * (1 - (place - below)), size)
    law += np.bincount(below + 1, mass * (place - below), size)
    span = ceil(_REACH * sqrt(answers) * _FINE) + 2 * size
    n = min(2 * span + 1, (size - 1) * answers + 1)
    power = np.fft.irfft(np.fft.rfft(law, n + n % 2) ** answers, n + n % 2)
    n = len(power)
    middle = round(answers * (mean / interval - lowest))
    start = max(0, middle - n // 2) if n < (size - 1) * answers + 1 else 0
    window = np.maximum(np.roll(power, -(start % n)), 0.0)
    return interval * (lowest * answers + start + np.arange(n, dtype=np.float64)), window


__all__ = ["answers_of", "epsilon_of", "mu_for"]
