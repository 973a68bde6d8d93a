"""Dominating pairs: two laws at least as easy to distinguish as the laws of an answer.

A pair (P, Q) dominates a mechanism if, for every ε and all neighbouring datasets, the mechanism's
two laws have no larger hockey-stick divergence than sup_E P(E) − e^ε Q(E). Pairs of adaptively
chosen answers compose to one that dominates them all (Zhu, Dong and Wang 2022, theorem 10). All
pairs here are symmetric: (Q, P) is as hard as (P, Q). Proofs: ``docs/privacy/accountants.md``.

The loss of an outcome is ln P/Q. A pair states the law of its losses as :class:`LossCells`.

An attacker that receives all answers of an owner decides which of two records the owner holds. A
test for "replaced" with false-alarm rate f has a true-positive rate of at most T(f), the trade-off
curve of the answers, for every test and every side knowledge. Gaussian answers of multiplier z are
as hard to distinguish as N(0, 1) from N(μ, 1), μ = 1/z; K of them have μ√K. The accountant computes
their (ε, δ) as a root. Attacks on its claims use the closed forms below instead.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import exp, expm1, inf, log, log1p, sqrt

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array

UNIT = 2.0**-53
"""The relative error of one rounding."""


@dataclass(frozen=True, eq=False)
class LossCells:
    """The positive losses of a pair, in n cells that are one step wide.

    Attributes
    ----------
    logs : array (n,)
        Upper bound on ln P(j step < loss ≤ (j + 1) step).
    upper : array (n,)
        Share of each cell's mass at its upper end; the rest is at the lower end. Both ends jointly
        then have the probability of the cell under P and under Q.
    beyond : float
        P(loss > n step) + P(loss < −n step).
    """

    logs: Array
    upper: Array
    beyond: float = 0.0


class Pair(ABC):
    """A dominating pair of one answer, compared and hashed by its numbers."""

    @property
    @abstractmethod
    def pure(self) -> float:
        """The largest loss: ε at δ = 0; ∞ if losses are unbounded."""

    @abstractmethod
    def top(self, beyond: float) -> float:
        """Return a bound that |loss| exceeds with at most this probability."""

    @abstractmethod
    def cells(self, step: float, count: int) -> LossCells:
        """Return ``count`` cells of width ``step``."""


@dataclass(frozen=True)
class PurePair(Pair):
    """A pair whose loss is at most ε.

    Attributes
    ----------
    epsilon : float
        ε > 0, finite.
    """

    epsilon: float

    @property
    @override
    def pure(self) -> float:
        return self.epsilon

    @override
    def top(self, beyond: float) -> float:
        return self.epsilon


class GenericPair(PurePair):
    """The pair that dominates any ε-differentially private answer: randomised response.

    A loss of ε with probability e^ε/(1 + e^ε), else of −ε (Kairouz, Oh and Viswanath 2015).
    """

    @override
    def cells(self, step: float, count: int) -> LossCells:
        logs, upper = np.full(count, -inf), np.zeros(count)
        logs[-1] = -log1p(exp(-self.epsilon))
        upper[-1] = expm1((count - 1) * step - self.epsilon) / expm1(-step)
        return _rounded_up(logs, upper)


class LaplacePair(PurePair):
    """Laplace noise whose scale b is the shift over ε: Lap(0, b) against Lap(Δ, b), ε = Δ/b.

    A loss of ε with probability ½, of −ε with e^−ε/2, and between them the density e^((ℓ − ε)/2)/4.
    """

    @override
    def cells(self, step: float, count: int) -> LossCells:
        lower = step * np.arange(count)
        logs = (lower + step - self.epsilon) / 2 + log(-expm1(-step / 2) / 2)
        upper = np.full(count, 1 / (1 + exp(-step / 2)))
        within = -expm1((lower[-1] - self.epsilon) / 2)  # δ at the lower end of the last cell
        logs[-1] = log((1 + within) / 2)
        upper[-1] = -within / expm1(-step) / ((1 + within) / 2)
        return _rounded_up(logs, upper)


@dataclass(frozen=True)
class SampledGaussianPair(Pair):
    """(1 − q) N(0, 1) + q N(m, 1) against (1 − q) N(0, 1) + q N(−m, 1), m = μ/2.

    Its loss at x is ln ((1 − q + q e^(mx − m²/2))/(1 − q + q e^(−mx − m²/2))), which grows with x,
    and ℓ is the loss at x = (ℓ/2 + asinh(e^(m²/2) sinh(ℓ/2) (1 − q)/q))/m.

    Attributes
    ----------
    mu : float
        μ = 1/z > 0: the largest change of an answer by a replaced record, over the noise.
    probability : float
        q in (0, 1).
    """

    mu: float
    probability: float
    pure = inf

    @override
    def top(self, beyond: float) -> float:
        from scipy.special import ndtri

        m, q = self.mu / 2, self.probability
        x = max(-ndtri(min(beyond / 4, 0.5)), m - ndtri(min(beyond / (4 * q), 0.5)))
        near, far = log1p(-q), log(q) - m * m / 2
        return float(np.logaddexp(near, far + m * x) - np.logaddexp(near, far - m * x))

    def at(self, losses: Array) -> Array:
        """Return the answers that have these losses, at least 0, shape (n,)."""
        m, q = self.mu / 2, self.probability
        half = losses / 2
        with np.errstate(divide="ignore"):
            scale = m * m / 2 + log1p(-q) - log(q) + half + np.log(-np.expm1(-losses) / 2)
        # asinh of a number that may be beyond floats: by its logarithm where it is large
        small = np.arcsinh(np.exp(np.minimum(scale, 20.0)))
        root = np.where(scale > 20.0, scale + log(2.0), small)
        return np.asarray((half + root) / m)

    @override
    def cells(self, step: float, count: int) -> LossCells:
        from scipy.special import ndtr

        m, q = self.mu / 2, self.probability
        losses: Array = step * np.arange(count + 1.0)
        x = self.at(losses)
        without, moved, other = _log_masses(x), _log_masses(x - m), _log_masses(x + m)
        first, off = _mixed(without, moved, q)
        second, off_second = _mixed(without, other, q)
        off = np.maximum(off, off_second) + 8 * UNIT * m * x[1:]  # the second for ends of cells
        upper = np.expm1(second - first + losses[:-1]) / expm1(-step) + 2 * off / -expm1(-step)
        end = x[-1]
        beyond = 2 * (1 - q) * ndtr(-end) + q * (ndtr(m - end) + ndtr(-m - end))
        return LossCells(first + 8 * off, np.clip(upper, 0.0, 1.0), float(beyond))


def _rounded_up(logs: Array, upper: Array) -> LossCells:
    """Return cells with their numbers rounded up by a few rounding errors."""
    rounding = UNIT * (16 + 4 * np.abs(np.where(logs > -inf, logs, 0.0)))
    return LossCells(logs + rounding, np.minimum(upper * (1 + 16 * UNIT), 1.0))


@lru_cache(maxsize=64)
def sampled_gaussian(probability: float) -> Callable[[float], SampledGaussianPair]:
    """Return a function from μ to the pair of an answer over samples; it is cached for each q."""
    return partial(SampledGaussianPair, probability=probability)


def _log_masses(ends: Array) -> tuple[Array, Array]:
    """Return an upper bound on ln P(a standard normal draw is in each cell), and its error.

    Each cell is a difference of the smaller of the two tails, whose logarithm SciPy computes to 4
    roundings.
    """
    from scipy.special import log_ndtr

    above = ends[:-1] >= 0
    outer = log_ndtr(np.where(above, -ends[:-1], ends[1:]))
    inner = log_ndtr(np.where(above, -ends[1:], ends[:-1]))
    share = -np.expm1(inner - outer)
    off = 8 * UNIT * ((2 - outer) * share - (outer + inner) * (1 - share))
    return outer + np.log(share + off), off / (share + off)


def _mixed(
    one: tuple[Array, Array], other: tuple[Array, Array], probability: float
) -> tuple[Array, Array]:
    """Return the same for a mixture: the second law has this probability."""
    logs, more = log1p(-probability) + one[0], log(probability) + other[0]
    both = np.logaddexp(logs, more)
    return both, np.exp(logs - both) * one[1] + np.exp(more - both) * other[1] + 8 * UNIT


FALSE_POSITIVES = 0.01
"""False-alarm rate f at which the true-positive rate is reported."""


@dataclass(frozen=True, eq=False)
class Attacker:
    """The most that the best attacker of each owner's answers can do.

    Attributes
    ----------
    power : array (..., N)
        The true-positive rate at :data:`FALSE_POSITIVES`; equal to it where the
        answers reveal nothing.
    advantage : array (..., N)
        The largest difference of the true- and false-positive rates, 0 to 1.
    """

    power: Array
    advantage: Array


def of_pure(
    epsilon: Array, delta: float = 0.0, false_positives: float = FALSE_POSITIVES
) -> Attacker:
    """Return what (ε, δ) allows: T(f) = min(e^ε f + δ, 1 − e^−ε (1 − f − δ)), advantage at δ = 0.

    Parameters
    ----------
    epsilon : array
        ε ≥ 0, possibly infinite.
    delta : float
        δ in [0, 1).
    false_positives : float
        f in (0, 1).

    References
    ----------
    Kairouz, Oh and Viswanath (2015), The composition theorem for differential privacy: the
    advantage is (e^ε − 1 + 2δ)/(e^ε + 1).
    """
    f = false_positives
    with np.errstate(over="ignore"):
        steep, flat = np.exp(epsilon) * f + delta, 1 - np.exp(-epsilon) * max(1 - f - delta, 0.0)
    half = np.exp(-epsilon)
    advantage = (1 - half + 2 * delta * half) / (1 + half)
    return Attacker(np.minimum(np.minimum(steep, flat), 1.0), np.minimum(advantage, 1.0))


def of_gaussian(mu: Array, false_positives: float = FALSE_POSITIVES) -> Attacker:
    """Return what μ-GDP allows: T(f) = Φ(Φ⁻¹(f) + μ), and the advantage 2Φ(μ/2) − 1.

    Parameters
    ----------
    mu : array
        μ ≥ 0, possibly infinite.
    false_positives : float
        f in (0, 1).

    References
    ----------
    Dong, Roth and Su (2022), Gaussian differential privacy.
    """
    from scipy.special import ndtr, ndtri

    return Attacker(np.asarray(ndtr(ndtri(false_positives) + mu)), np.asarray(2 * ndtr(mu / 2) - 1))


def words(power: float, advantage: float, owners: int, unit: str = "record") -> str:
    """Return both rates in a sentence, for a record of ``owners`` owners or a whole owner."""
    holders = "one owner holds" if owners == 1 else f"{owners} owners hold"
    certain, target = f"which of two records {holders}", f"a given record that {holders}"
    if unit == "owner":
        certain, target = "which of two owners takes part", "a given owner"
    if advantage > 0.9995:  # its bounds in three digits would be 100 % and 1
        return f"can be {'' if advantage >= 1 else 'almost '}certain {certain}"
    return (
        f"with {_percent(FALSE_POSITIVES)} false alarms, detects {target} at "
        f"most {_percent(power)} of the time; advantage at most {advantage:.3g}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


_HALVINGS = 200
"""Bisections of an interval: more than a float has bits."""


def delta_of(epsilon: float, mu: float) -> float:
    """Return the least δ at ε: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ); 0 for μ = 0.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    mu : float
        μ ≥ 0.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian mechanism, theorem 8.
    """
    if mu == 0:
        return 0.0
    from scipy.special import log_ndtr

    above = exp(float(log_ndtr(mu / 2 - epsilon / mu)))
    return above - exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)))


@lru_cache(maxsize=4096)
def epsilon_of(mu: float, delta: float) -> float:
    """Return the least ε at δ; 0 where δ alone suffices, ∞ for an infinite μ.

    Parameters
    ----------
    mu : float
        μ ≥ 0, possibly infinite.
    delta : float
        δ in (0, 1).
    """
    if mu == inf:
        return inf
    low, high = 0.0, 1.0
    if delta_of(low, mu) <= delta:
        return 0.0
    while delta_of(high, mu) > delta:
        high *= 2
    return _halved(low, high, lambda epsilon: delta_of(epsilon, mu) > delta)[1]


@lru_cache(maxsize=4096)
def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest μ that is (ε, δ)-differentially private; ∞ for an infinite ε.

    Parameters
    ----------
    epsilon : float
        ε > 0, possibly infinite.
    delta : float
        δ in (0, 1).
    """
    if epsilon == inf:
        return inf
    low, high = 0.0, sqrt(2 * epsilon) + 1
    while delta_of(epsilon, high) <= delta:
        high *= 2
    return _halved(low, high, lambda mu: delta_of(epsilon, mu) <= delta)[0]


def _halved(low: float, high: float, below: Callable[[float], bool]) -> tuple[float, float]:
    """Return two neighbouring numbers between which ``below`` ceases to hold."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high
