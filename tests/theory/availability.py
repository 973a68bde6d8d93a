"""Poisson clocks seen as one: when the next one ticks, and whose it is; owners that are offline."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, fsum, inf, pi

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array


@dataclass(frozen=True)
class MergedClocks:
    """The superposition of independent Poisson processes: a Poisson process of rate Λ = Σ λ_i.

    The gaps between ticks are independent and exponential with mean 1/Λ. Each tick is owner i's
    with probability λ_i/Λ, independently of the gaps and of all other ticks (Async, section 3:
    i_k uniform for equal rates). Where no update takes time and nothing is lost or refused,
    these are the gaps between updates and the owners i_k.

    Attributes
    ----------
    rate : float
        Λ, ticks per time unit.
    probability : tuple of float
        π_i = λ_i/Λ, by owner.

    References
    ----------
    Kingman, Poisson Processes (1993), sections 2.2 and 5.1.
    """

    rate: float
    probability: tuple[float, ...]

    @property
    def mean_gap(self) -> float:
        """1/Λ, the mean time between ticks."""
        return 1 / self.rate

    def gap_survival(self, time: float) -> float:
        """Return P(gap > ``time``) = e^{−Λ·time}, for a time ≥ 0."""
        return exp(-self.rate * time)

    def mean_count(self, time: float) -> float:
        """Return the mean, and the variance, of the number of ticks in a window: Λ·time."""
        return self.rate * time


def merged(rates: Sequence[float]) -> MergedClocks:
    """Return the superposition of Poisson clocks with these rates.

    Parameters
    ----------
    rates : sequence of float
        λ_i > 0, ticks per time unit, one per owner.
    """
    total = fsum(rates)
    return MergedClocks(total, tuple(rate / total for rate in rates))


def thinned(rates: Sequence[float], probabilities: Sequence[float]) -> MergedClocks:
    """Return the merged clocks if at each tick owner i listens with probability p_i.

    Poisson with rate Σ λ_i p_i (Nλp for equal owners); a tick heard is owner i's with probability
    λ_i p_i/Σ λ_j p_j. Assumes independent Poisson clocks and a draw of its own for every tick.
    Here λ_i > 0 and p_i is in [0, 1], one each per owner; not every p_i is 0.

    References
    ----------
    Kingman, Poisson Processes (1993), section 5.1.
    """
    heard = [rate * p for rate, p in zip(rates, probabilities, strict=True)]
    total = fsum(heard)
    return MergedClocks(total, tuple(rate / total for rate in heard))


def on_fraction(mean_on: float, mean_off: float) -> float:
    """Return the share of the time spent online, E on/(E on + E off).

    Assumes alternating independent periods of any laws with these means (E on > 0, E off ≥ 0):
    the long-run share, and from a stationary start the mean share of every window, however
    short. Times λ it is the rate of ticks heard from a Poisson clock: for exponential periods
    with rates a from on to off and b from off to on, λb/(a+b).

    References
    ----------
    Asmussen, Applied Probability and Queues (2003), sections V.3 and VI.1.
    """
    return mean_on / (mean_on + mean_off)


def on_off_dispersion(rate: float, leaving: float, returning: float, time: float = inf) -> float:
    """Return variance/mean of the count of ticks heard in a window, for exponential periods.

    1 + 2λa/(a+b)² · (1 − (1 − e^{−(a+b)t})/((a+b)t)) exactly, in a window of length t;
    1 + 2λa/(a+b)² for long windows (``time`` = inf). The same for several such owners together.
    Here λ = ``rate``, a = ``leaving`` (on to off), b = ``returning`` and t are > 0.

    Notes
    -----
    A Poisson process modulated by a Markov chain with two states, from a stationary start. Being
    online has probability p = b/(a+b) and covariance p(1−p)e^{−(a+b)|s|}, so that the variance of
    the count is λpt + 2λ²p(1−p) ∫₀ᵗ (t−s) e^{−(a+b)s} ds, and its mean λpt.

    References
    ----------
    Fischer and Meier-Hellstern, The Markov-modulated Poisson process (MMPP) cookbook (1993).
    """
    both = leaving + returning
    x = inf if time == inf else both * time
    series = x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))) if x < 1e-3 else 0.0
    reached = series if x < 1e-3 else 1 + expm1(-x) / x  # which cancels for small x
    return 1 + 2 * rate * leaving / both**2 * reached


def diurnal_integral(
    time: npt.ArrayLike,
    rates: Sequence[float],
    phases: Sequence[float],
    period: float,
    low: float,
    high: float,
) -> Array:
    """Return Λ(t), the mean number of ticks heard in [0, t] where availability is diurnal.

    At a tick at t owner i listens with probability low + (high − low)(1 + sin 2π(t/period + φ_i))/2
    drawn for it. The ticks heard are then a Poisson process of mean
    Λ(t) = Σ λ_i [(low + high)t/2 + (high − low)period/(2π) · sin(πt/period) sin(πt/period + 2πφ_i)]
    and the Λ(t_k) − Λ(t_{k−1}) are independent Exp(1). Here t ≥ 0 has any shape,
    λ_i > 0 and φ_i (in periods) are one each per owner, period > 0 and 0 ≤ low ≤ high ≤ 1.

    References
    ----------
    Daley and Vere-Jones, An Introduction to the Theory of Point Processes I (2003), section 7.4.
    """
    t = np.asarray(time, dtype=float)
    half = pi * (t / period)
    swing = np.zeros_like(t)
    for rate, phase in zip(rates, phases, strict=True):
        swing += rate * np.sin(half + 2 * pi * phase)
    reach = (high - low) * period / (2 * pi)
    return np.asarray(fsum(rates) * (low + high) / 2 * t + reach * np.sin(half) * swing)
