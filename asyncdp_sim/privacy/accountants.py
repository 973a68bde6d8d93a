"""Accounting of answers: composition of charges, and noise calibrated to a budget.

An owner's charge per answer is either pure (ε per answer; basic composition adds) or Gaussian (a
noise multiplier z, the noise's standard deviation over the sensitivity 2Ξ/n_i; K answers are
exactly as private as one with z/√K, even if later queries depend on earlier answers). The exact (ε,
δ) of one Gaussian answer are those of Balle and Wang (2018). SciPy computes the roots and is
imported only for a Gaussian mechanism.

Over Poisson samples the replaced record is in an answer with probability q. The denominator q n_i
is public, and the sample is secret. Given the sample of the other records, an answer's law is (1 −
q) P₀ + q P₁ before a record is replaced and (1 − q) P₀ + q P₂ after. P₀ is the law without the
record; its distance to P₁ and P₂ is at most half their largest distance. Proofs:
``docs/privacy/subsampling.md``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import asinh, inf, log, sinh, sqrt
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.privacy.budgets import BudgetSchedule
from asyncdp_sim.privacy.pairs import Attacker, of_gaussian, of_pure

TOLERANCE = 1e-16
"""Absolute tolerance of roots: small compared with every realistic ε and multiplier."""
SAFE = 1 + 1e-9
"""Factor by which noise exceeds the computed root, so that rounding exceeds no budget."""
UPWARDS = 1 + 1e-6
"""Factor by which a stated Gaussian ε exceeds the computed one, so it is never too small."""
_STEEP = 600.0
"""Half of an ε from which sinh equals half an exponential, up to rounding."""
_DOWN = 1 - 1e-12
"""Factor that makes ε of a closed form smaller, so that its rounding (10⁻¹⁵) exceeds no budget."""


class Accountant(ABC):
    """The cost of answers, for all owners of a run.

    Attributes
    ----------
    answers : array of int (N,)
        K_i, how many answers owner i may release.
    epsilon : array (N,)
        ε_i, the budget of owner i, possibly infinite.
    delta : float
        δ at which every ε is stated; 0 is pure.
    multiplier : array (N,) or None
        z_i, of Gaussian answers alone.
    """

    answers: Ints
    epsilon: Array
    delta: float
    multiplier: Array | None

    def zcdp(self, released: Ints) -> Array | None:  # noqa: ARG002
        """Return ρ of so many answers, of Gaussian ones alone, shape (..., N)."""
        return None

    @abstractmethod
    def spent(self, released: Ints) -> Array:
        """Return ε spent by owners that released so many answers, shape (..., N)."""

    @abstractmethod
    def together(self, released: Ints, owners: int, factor: Array | float = 1.0) -> float:
        """Return ε of a record that the κ largest spenders of ``released`` (N,) share.

        Parameters
        ----------
        released : array of int (N,)
            Answers that each owner released.
        owners : int
            κ; 1 for a record of one owner.
        factor : array (N,) or float
            The true sensitivity over the one that the noise was scaled for.
        """

    @abstractmethod
    def attacker(self, released: Ints) -> Attacker:
        """Return what an attacker may do with so many answers of each owner, shape (..., N)."""


@dataclass(frozen=True, eq=False)
class Pure(Accountant):
    """Answers that are each ε-differentially private: ε adds up (Async, Theorem 1).

    Attributes
    ----------
    answers : array of int (N,)
        K_i ≥ 1.
    epsilon : array (N,)
        ε_i > 0, possibly infinite.
    total : array (N,)
        ε of K_i answers, ≤ ε_i.
    """

    answers: Ints
    epsilon: Array
    total: Array

    delta = 0.0
    multiplier = None

    def spent(self, released: Ints) -> Array:
        """Return (releases/K_i) times the total: exactly the total after the last answer.

        The first release spends an infinite ε.
        """
        with np.errstate(invalid="ignore"):
            return np.where(released == 0, 0.0, self.total * (released / self.answers))

    def together(self, released: Ints, owners: int, factor: Array | float = 1.0) -> float:
        """Return the sum of the κ largest spent ε, each scaled by ``factor``."""
        return float(np.sort(self.spent(released) * factor)[-owners:].sum())

    def attacker(self, released: Ints) -> Attacker:
        """Return the attacker's limits from the ε of ``released`` pure answers."""
        return of_pure(self.spent(released))


@dataclass(frozen=True, eq=False)
class Gaussian(Accountant):
    """Gaussian answers: ε(δ) of m answers is that of one with multiplier z_i/√m.

    Their zero-concentrated differential privacy is ρ = m/(2z_i²).

    Attributes
    ----------
    answers : array of int (N,)
        K_i ≥ 1.
    epsilon : array (N,)
        ε_i > 0, possibly infinite.
    multiplier : array (N,)
        z_i ≥ 0.
    delta : float
        δ in (0, 1).
    """

    answers: Ints
    epsilon: Array
    multiplier: Array
    delta: float

    def spent(self, released: Ints) -> Array:
        """Return ε(δ) of ``released`` answers each."""
        return self._epsilon(self.zcdp(released))

    def zcdp(self, released: Ints) -> Array:
        """Return ρ = m/(2z_i²), which adds up; infinite if exact answers were released."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(released == 0, 0.0, released / (2 * np.square(self.multiplier)))

    def together(self, released: Ints, owners: int, factor: Array | float = 1.0) -> float:
        """Return ε(δ) of the sum of the κ largest ρ, times ``factor``² each."""
        rho = np.sort(self.zcdp(released) * np.square(factor))[-owners:].sum()
        return float(self._epsilon(rho[None])[0])

    def attacker(self, released: Ints) -> Attacker:
        """Return what N(0, 1) against N(√m/z, 1) allows."""
        return of_gaussian(np.sqrt(2 * self.zcdp(released)))

    def _epsilon(self, rho: Array) -> Array:
        def epsilon(value: float) -> float:
            return gaussian_epsilon(inf if value == 0 else 1 / sqrt(2 * value), self.delta)

        return each_once(rho, epsilon)


def each_once(numbers: Array, cost: Callable[[float], float]) -> Array:
    """Return the cost of every number, computed once for equal ones, in the shape of them all."""
    values, places = np.unique(numbers, return_inverse=True)
    return np.array([cost(value) for value in values.tolist()])[places].reshape(numbers.shape)


@lru_cache(maxsize=65536)
def gaussian_epsilon(multiplier: float, delta: float) -> float:
    """Return ε(δ) of a Gaussian answer with noise multiplier z: infinite for z = 0.

    Times :data:`UPWARDS`, the least ε with Φ(1/(2z) − εz) − e^ε Φ(−1/(2z) − εz) ≤ δ (Balle and
    Wang 2018, equation 6).

    Parameters
    ----------
    multiplier : float
        z ≥ 0, possibly infinite.
    delta : float
        δ in (0, 1).
    """
    if multiplier == 0:
        return inf
    if multiplier == inf:
        return 0.0
    from scipy.optimize import brentq

    excess = _excess(delta)
    if excess(multiplier, 0.0) < 0:
        return 0.0
    low, high = 0.0, 1.0
    while excess(multiplier, high) > 0:
        low, high = high, high * 10
    exact = brentq(lambda stated: excess(multiplier, stated), low, high, xtol=TOLERANCE)
    return float(exact) * UPWARDS


@lru_cache(maxsize=4096)
def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """Return the noise multiplier z for ε, rounded up; 0 for infinite ε.

    Parameters
    ----------
    epsilon : float
        ε > 0, possibly infinite.
    delta : float
        δ in (0, 1).
    """
    if epsilon == inf:
        return 0.0
    from scipy.optimize import brentq

    excess, stated = _excess(delta), epsilon / UPWARDS
    low, high = 0.1, 1.0
    while excess(low, stated) < 0:
        low, high = low / 10, low
    while excess(high, stated) > 0:
        low, high = high, high * 10
    safe = max(SAFE, 1 - 1e-15 * log(delta) / epsilon)  # ln δ is rounded, and moves with ε
    return float(brentq(lambda z: excess(z, stated), low, high, xtol=TOLERANCE)) * safe


def gaussian_answers(multiplier: float, epsilon: float, delta: float) -> int:
    """Return how many answers of noise multiplier z are within (ε, δ).

    m answers cost as much as one of z/√m, which must be at least the multiplier of (ε, δ).
    """
    least = gaussian_multiplier(epsilon, delta)
    fits = int((multiplier / least) ** 2)
    return fits + 1 if multiplier / np.sqrt(fits + 1) >= least else fits


def _excess(delta: float) -> Callable[[float, float], float]:
    """Return ln δ(z, ε) − ln δ (Balle and Wang 2018, equation 6), as a function of z and ε."""
    from scipy.special import log_ndtr

    target = np.log(delta)

    def excess(multiplier: float, epsilon: float) -> float:
        threshold = epsilon * multiplier + 1 / (2 * multiplier)
        larger = log_ndtr(1 / multiplier - threshold)
        smaller = epsilon + log_ndtr(-threshold)
        if smaller >= larger:  # δ is too small for a number
            return -inf
        return float(larger + np.log1p(-np.exp(smaller - larger)) - target)

    return excess


def bare(epsilon: float, probability: float) -> float:
    """Return the ε of noise on a sampled sum of which an answer costs ``epsilon``.

    ε + 2 asinh(((1 − q)/q) sinh(ε/2)): an answer whose noise is for ε' if the record is in the
    sample costs ln ((1 − q + q a)/(1 − q + q/a)), a = e^(ε'/2), at most ln (1 + q(e^ε' − 1)).

    Parameters
    ----------
    epsilon : float
        ε ≥ 0, possibly infinite.
    probability : float
        q in (0, 1).
    """
    if epsilon == inf:
        return inf
    odds, half = (1 - probability) / probability, epsilon / 2
    if half > _STEEP:
        return (2 * epsilon + 2 * log(odds)) * _DOWN
    return (epsilon + 2 * asinh(odds * sinh(half))) * _DOWN


@dataclass(frozen=True, eq=False)
class Converted(Accountant):
    """The cost of answers in units of reference answers: m cost as much as :meth:`equal` of those.

    An answer that is made of several noisy gradients is charged for each: it is a function of them,
    and each is taken at a point that depends on earlier ones, so that all answers of an owner cost
    at most the adaptive composition of all its gradients (``docs/privacy/local-steps.md``). Answers
    with unequal parts of a budget, of which m cost as much as K Σ_{k ≤ m} s_k equal ones, have an
    ``allotment``; this is exact, because ε of pure answers and 1/z² of Gaussian answers add up.

    Attributes
    ----------
    single : Accountant
        The accountant of the reference answers.
    gradients : int
        Reference answers for each answer, ≥ 1.
    allotment : BudgetSchedule, optional
    """

    single: Accountant
    gradients: int = 1
    allotment: BudgetSchedule | None = None

    epsilon = property(attrgetter("single.epsilon"))
    delta = property(attrgetter("single.delta"))
    multiplier = property(attrgetter("single.multiplier"))
    answers = property(lambda self: self.single.answers // self.gradients)

    def equal(self, released: Ints) -> npt.NDArray[Any]:
        """Return how many reference answers, perhaps no integer, cost as much, (..., N)."""
        if self.allotment is None:
            return released * self.gradients
        return self.allotment.equal(np.asarray(released))

    def zcdp(self, released: Ints) -> Array | None:
        """Return ρ of so many answers, of Gaussian ones alone, shape (..., N)."""
        return self.single.zcdp(self.equal(released))

    def spent(self, released: Ints) -> Array:
        """Return ε spent by owners that released so many answers, shape (..., N)."""
        return self.single.spent(self.equal(released))

    def together(self, released: Ints, owners: int, factor: Array | float = 1.0) -> float:
        """Return ε of a record that the κ largest spenders of ``released`` (N,) share."""
        return self.single.together(self.equal(released), owners, factor)

    def attacker(self, released: Ints) -> Attacker:
        """Return what an attacker may do with so many answers of each owner, shape (..., N)."""
        return self.single.attacker(self.equal(released))


def gradients_of(accountant: Accountant) -> tuple[Accountant, int]:
    """Return the accountant of single gradients, and how many of them make an answer."""
    if isinstance(accountant, Converted) and accountant.allotment is None:
        return accountant.single, accountant.gradients
    return accountant, 1
