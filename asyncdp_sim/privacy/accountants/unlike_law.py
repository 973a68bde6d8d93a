"""Pure answers of unlike costs composed without the accountant: a lower estimate of their ε at δ.

Losses are rounded down to multiples of one width, by which δ(ε) = E (1 − e^(ε − L))₊ falls and
nothing else, and laws are multiplied out by a plain Fourier transform. The accountant rounds up.
"""

from functools import lru_cache
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accountants.gaussian_law import mu_of

Array = npt.NDArray[np.float64]
CELLS = 2**10
"""Widths in the mean cost of an answer: half of one is lost of each."""
_HALVINGS = 40


@lru_cache(maxsize=1024)
def epsilon_of(charges: tuple[float, ...], delta: float, *, laplace: bool) -> float:
    """Return hardly less than the least ε at δ of answers that cost so much each.

    Parameters
    ----------
    charges : tuple of float
        ε of each, > 0, possibly infinite.
    delta : float
        δ in (0, 1).
    laplace : bool
        Whether noise is Laplace's, or all that is known of answers is what they cost.
    """
    if len(charges) == 0 or inf in charges:
        return max(charges, default=0.0)
    losses, masses = _summed(charges, laplace)
    low, high = 0.0, sum(charges)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        some = losses > middle
        inside = float(-np.expm1(middle - losses[some]) @ masses[some]) <= delta
        low, high = (low, middle) if inside else (middle, high)
    return high


@lru_cache(maxsize=1024)
def charge_of(epsilon: float, relative: tuple[float, ...], delta: float, *, laplace: bool) -> float:
    """Return the largest c of which answers that cost c ``relative`` each are (ε, δ)-private.

    A single answer is charged whole, as the accountant has it: c = ε, though δ allows more.

    Parameters
    ----------
    epsilon : float
        ε > 0, possibly infinite.
    relative : tuple of float
        > 0, 1 in the mean.
    delta, laplace
        As for :func:`epsilon_of`.
    """
    if epsilon == inf or len(relative) == 1:
        return epsilon
    low = epsilon / len(relative)
    high = 2 * max(low, mu_of(epsilon, delta) / sqrt(sum(each**2 for each in relative)))
    while high > low * (1 + 1e-5):
        middle = sqrt(low * high)
        cost = epsilon_of(tuple(middle * each for each in relative), delta, laplace=laplace)
        low, high = (middle, high) if cost <= epsilon else (low, middle)
    return low


def _summed(charges: tuple[float, ...], laplace: bool) -> tuple[Array, Array]:
    """Return sums of losses, rounded down, and their probabilities."""
    from scipy.fft import next_fast_len

    width = sum(charges) / (len(charges) * CELLS)
    laws = [_rounded(charge, width, laplace) for charge in charges]
    lowest = sum(low for low, _ in laws)
    n = sum(len(law) - 1 for _, law in laws) + 1
    size = next_fast_len(n)
    product = np.ones(size // 2 + 1, dtype=complex)
    for _, law in laws:
        product *= np.fft.rfft(law, size)
    masses = np.maximum(np.fft.irfft(product, size)[:n], 0.0)
    return width * (lowest + np.arange(n, dtype=float)), np.asarray(masses, dtype=float)


def _rounded(charge: float, width: float, laplace: bool) -> tuple[int, Array]:
    """Return the least loss of an answer in widths, and the probabilities of it and those above."""
    low, top = int(np.floor(-charge / width)), int(np.floor(charge / width))
    masses = np.zeros(top - low + 1)
    if not laplace:
        masses[-1] = 1 / (1 + np.exp(-charge))
        masses[0] = 1 - masses[-1]
        return low, masses
    ends = np.minimum(width * np.arange(low, top + 2), charge)
    below = np.exp((np.maximum(ends, -charge) - charge) / 2) / 2  # P(loss ≤ x), −ε₀ ≤ x < ε₀
    masses += np.diff(below)
    masses[0] += np.exp(-charge) / 2
    masses[-1] += 0.5
    return low, masses


__all__ = ["charge_of", "epsilon_of"]
