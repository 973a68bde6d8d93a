"""Accounting of answers: composition of charges, and noise calibrated to a budget.

An owner's charge per answer is either pure (ε per answer; basic composition adds) or Gaussian
(a noise multiplier z, the noise's standard deviation over the sensitivity 2Ξ/n_i; K answers are
as good as one with z/√K, exactly, also where later queries depend on earlier answers). Exact
(ε, δ) of one Gaussian are those of Balle and Wang (2018), worked out by dp-accounting, which takes
a second to import and is imported only where a scenario's mechanism is Gaussian.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accountants.attacker import Attacker, of_gaussian, of_pure

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
TOLERANCE = 1e-16
"""Of roots, absolute: small beside every ε and multiplier that anybody asks for."""
SAFE = 1 + 1e-9
"""Noise is this much larger than a root finder says, so that no budget is exceeded by rounding."""
UPWARDS = 1 + 1e-6
"""A Gaussian ε is stated this much larger than the exact one, never below what is true of it."""


class Accountant(Protocol):
    """The cost of answers, for all owners of a run."""

    @property
    def answers(self) -> Counts:
        """K_i, how many answers owner i may release, shape (N,)."""

    @property
    def epsilon(self) -> Array:
        """ε_i, the budget of owner i, shape (N,)."""

    @property
    def delta(self) -> float:
        """δ at which every ε is stated; 0 is pure."""

    @property
    def multiplier(self) -> Array | None:
        """z_i, of Gaussian answers alone, shape (N,)."""

    def zcdp(self, released: Counts) -> Array | None:
        """Return ρ of so many answers, of Gaussian ones alone, shape (..., N)."""

    def spent(self, released: Counts) -> Array:
        """Return ε spent by owners that released so many answers, shape (..., N)."""

    def together(self, released: Counts, owners: int, factor: Array | float = 1.0) -> float:
        """Return ε of a record that the κ largest spenders of ``released`` (N,) share.

        ``owners`` is κ, 1 for a record of one owner; ``factor`` (N,) says how many times as large
        the sensitivity is as the noise was scaled for.
        """

    def quieter(self, factor: Array) -> Array:
        """Return ε of K_i answers were the noise 1/``factor`` (N,) as large, shape (N,)."""

    def whole(self, charges: Array) -> Array:
        """Return ε of K_i answers, each of which costs ε₀ = ``charges`` (N,) alone, shape (N,)."""

    def attacker(self, released: Counts) -> Attacker:
        """Return what an attacker may do with so many answers of each owner, shape (..., N)."""


@dataclass(frozen=True, eq=False)
class Pure:
    """Answers that are ε-differentially private each: ε adds up (Async, Theorem 1).

    Attributes
    ----------
    answers : array of int (N,)
        K_i ≥ 1.
    epsilon : array (N,)
        ε_i > 0, possibly infinite.
    total : array (N,)
        ε of K_i answers, ≤ ε_i.
    """

    answers: Counts
    epsilon: Array
    total: Array

    @property
    def delta(self) -> float:
        """Pure: 0."""
        return 0.0

    @property
    def multiplier(self) -> None:
        """Pure: none."""
        return None

    def zcdp(self, released: Counts) -> None:  # noqa: ARG002
        """Return nothing: costs are ε."""
        return

    def times(self, factor: Array | float) -> Array | float:
        """Return how many times ε an answer costs whose sensitivity is ``factor`` as large."""
        return factor

    def spent(self, released: Counts) -> Array:
        """Return (releases/K_i) times the total: exactly it when the last answer is out."""
        return spent(self.total, self.answers, released)

    def together(self, released: Counts, owners: int, factor: Array | float = 1.0) -> float:
        """Return the sum of the κ largest spent, each as much larger as ``factor`` makes it."""
        return float(np.sort(self.spent(released) * self.times(factor))[-owners:].sum())

    def quieter(self, factor: Array) -> Array:
        """Return the total times ``factor``."""
        return self.total * factor

    def whole(self, charges: Array) -> Array:
        """Return K_i times the charge."""
        return self.answers * charges

    def attacker(self, released: Counts) -> Attacker:
        """Return what ε of so many answers allows, whatever the mechanism is."""
        return of_pure(self.spent(released))


@dataclass(frozen=True, eq=False)
class Gaussian:
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

    answers: Counts
    epsilon: Array
    multiplier: Array
    delta: float

    def spent(self, released: Counts) -> Array:
        """Return ε(δ) of ``released`` answers each."""
        return self._epsilon(self.zcdp(released))

    def zcdp(self, released: Counts) -> Array:
        """Return ρ = m/(2z_i²); it adds up, and infinite where exact answers were released."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(released == 0, 0.0, released / (2 * np.square(self.multiplier)))

    def together(self, released: Counts, owners: int, factor: Array | float = 1.0) -> float:
        """Return ε(δ) of the sum of the κ largest ρ, times ``factor``² each."""
        rho = np.sort(self.zcdp(released) * np.square(factor))[-owners:].sum()
        return float(self._epsilon(rho[None])[0])

    def quieter(self, factor: Array) -> Array:
        """Return ε(δ) of all answers, their ρ times ``factor``²."""
        return self._epsilon(self.zcdp(self.answers) * np.square(factor))

    def whole(self, charges: Array) -> Array:
        """Return ε(δ) of K_i answers whose multiplier is that of (ε₀, δ)."""
        each = np.array([gaussian_multiplier(e, self.delta) for e in charges.tolist()])
        with np.errstate(divide="ignore"):
            return self._epsilon(self.answers / (2 * np.square(each)))

    def attacker(self, released: Counts) -> Attacker:
        """Return what N(0, 1) against N(√m/z, 1) allows."""
        return of_gaussian(np.sqrt(2 * self.zcdp(released)))

    def _epsilon(self, rho: Array) -> Array:
        values, places = np.unique(rho, return_inverse=True)
        found = np.array([gaussian_epsilon(_multiplier(each), self.delta) for each in values])
        return found[places].reshape(rho.shape)


def spent(total: Array, answers: Counts, released: Counts) -> Array:
    """Return ε spent: (releases/K_i) of the total, exactly it when the last answer is out.

    Basic composition of pure ε-DP answers (Async, Theorem 1), each charged total/K_i.

    Parameters
    ----------
    total : array (N,)
        ε of K_i answers; an infinite one is spent by the first release.
    answers : array of int (N,)
        K_i.
    released : array of int (..., N)
        Distinct noisy answers whose first transmission began; at most K_i.
    """
    with np.errstate(invalid="ignore"):
        return np.where(released == 0, 0.0, total * (released / answers))


def _multiplier(rho: float) -> float:
    return inf if rho == 0 else 1 / sqrt(2 * rho)


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
    from dp_accounting import get_epsilon_gaussian

    with np.errstate(divide="ignore"):  # the search looks at ε where δ is too small for a number
        return float(get_epsilon_gaussian(multiplier, delta, TOLERANCE)) * UPWARDS


@lru_cache(maxsize=4096)
def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """Return a noise multiplier z that states at most ε, and hardly less; 0 for infinite ε.

    Parameters
    ----------
    epsilon : float
        ε > 0, possibly infinite.
    delta : float
        δ in (0, 1).
    """
    if epsilon == inf:
        return 0.0
    from dp_accounting import get_sigma_gaussian

    with np.errstate(divide="ignore"):
        return float(get_sigma_gaussian(epsilon / UPWARDS, delta, TOLERANCE)) * SAFE


__all__ = ["Accountant", "Gaussian", "Pure", "gaussian_epsilon", "gaussian_multiplier", "spent"]
