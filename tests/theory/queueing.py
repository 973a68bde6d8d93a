"""Tails of waits for a learner that serves one request at a time, first come first served.

Notation as in :mod:`asyncdp_sim.theory.formulas.exchanges`.
"""

from math import exp, floor, fsum

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.formulas.exchanges import fifo_wait


def mean_square(rate: float, mean: float, second: float, third: float) -> float:
    """Return E W² = 2(E W)² + ΛE S³/(3(1−ρ)): M/G/1, first come first served.

    Parameters
    ----------
    rate : float
        Λ > 0.
    mean, second, third : float
        E S > 0, E S² ≥ (E S)² and E S³ ≥ (E S²)²/E S. For S constant m, m², m³; for S
        exponential m, 2m², 6m³.

    References
    ----------
    Kleinrock, Queueing Systems, volume 1 (1975), chapter 5 (Takács).
    """
    first = fifo_wait(rate, mean, second)
    return 2 * first**2 + rate * third / (3 * (1 - rate * mean))


def exponential_tail(rate: float, mean: float, time: float) -> float:
    """Return P(W > t) = ρ e^{−(1/m − Λ)t} for exponential service: M/M/1.

    Parameters
    ----------
    rate, mean : float
        Λ > 0, m > 0, Λm < 1.
    time : float
        t ≥ 0.

    References
    ----------
    Kleinrock, Queueing Systems, volume 1 (1975), chapter 5.
    """
    load = rate * mean
    return load * exp(-(1 - load) * time / mean)


def constant_tail(rate: float, service: float, time: float) -> float:
    """Return P(W > t) for constant service D: M/D/1, exact, to about 1e-13 of its value.

    Erlang's and Crommelin's P(W ≤ t) = (1−ρ) Σ_{j ≤ t/D} (−x_j)^j e^{x_j}/j!, x_j = Λ(t − jD),
    alternates and cancels; this is the same without a subtraction. Takes about 200 t/D
    operations.

    Notes
    -----
    Let k = ⌊t/D⌋ + 1 and T = kD − t in (0, D], and look at a request that arrives at 0. It waits
    beyond t if and only if those waiting (not served) at −T and those that arrive in (−T, 0] are
    k or more: the server ends at most one service per D. So

        P(W > t) = Σ_j e^{−ΛT}(ΛT)^j/j! · P(L > k − j if j < k; otherwise certain)

    with L the stationary number in the system, waiting or served. Balance between {L ≤ i − 1} and
    {L ≥ i}, of the chain embedded at departures, gives its law and its tail by sums of positive
    terms.

    Parameters
    ----------
    rate, service : float
        Λ > 0, D > 0, ΛD < 1.
    time : float
        t ≥ 0.

    References
    ----------
    Crommelin, Delay probability formulae when the holding times are constant (1932), Post Office
    Electrical Engineers' Journal 25. Franx, A simple solution for the M/D/c waiting time
    distribution (2001), Operations Research Letters 29. Ramaswami, A stable recursion for the
    steady state vector in Markov chains of M/G/1 type (1988), Stochastic Models 4.
    """
    load = rate * service
    elapsed = time / service
    ended = floor(elapsed) + 1
    arrivals = _poisson(load * (ended - elapsed))
    beyond = _beyond(load, ended)
    return fsum(
        chance * (beyond[ended - j] if j < ended else 1.0)
        for j, chance in enumerate(arrivals.tolist())
    )


def _poisson(mean: float) -> Array:
    """Return the Poisson law of a mean ≤ 1, up to where it underflows."""
    steps = np.full(170, mean) / np.arange(1, 171)
    return np.asarray(np.exp(-mean) * np.cumprod(np.concatenate(([1.0], steps))))


def _beyond(load: float, largest: int) -> Array:
    """Return P(L > i), i = 0 … ``largest``, of M/D/1."""
    arrivals = _poisson(load)
    more = np.cumsum(arrivals[::-1])[::-1]  # P(A ≥ j)
    excess = np.cumsum(more[::-1])[::-1]  # E (A − j + 1)₊
    width = len(arrivals)
    law, tail = np.zeros(largest + 1), np.zeros(largest + 1)
    law[0], tail[0] = 1 - load, load
    for i in range(1, largest + 1):
        near = slice(max(1, i + 3 - width), i)  # further down, jumps across i are nothing
        jumps = i + 1 - np.arange(near.start, i)
        first = law[0] * more[i] if i < width else 0.0
        law[i] = (first + law[near] @ more[jumps]) / arrivals[0]
        start = law[0] * excess[i + 1] if i + 1 < width else 0.0
        tail[i] = (start + law[near] @ excess[jumps + 1] + law[i] * excess[2]) / (1 - load)
    return tail
