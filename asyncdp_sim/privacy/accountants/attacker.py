"""ε in words: how well an attacker that receives all answers of an owner detects a record.

The attacker decides which of two records the owner holds.

A test for "replaced" with false-alarm rate f has a true-positive rate of at most T(f), the
trade-off curve of the answers, for every test and every side knowledge.

Gaussian answers of multiplier z are as hard to distinguish as N(0, 1) from N(μ, 1), μ = 1/z; K of
them have μ√K. The accountant computes their (ε, δ) as a root. Attacks on its claims use the closed
forms of this module instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array

if TYPE_CHECKING:
    from asyncdp_sim.privacy.accountants.composition import Composition

FALSE_POSITIVES = 0.01
"""False-alarm rate f at which the true-positive rate is reported."""
_LINES = 401
"""Number of lines δ(ε) + e^ε f that are evaluated; each is an upper bound on T(f)."""
_LEAST = 40.0
"""The smallest slope used is e^−40."""


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


def of_losses(losses: "Composition") -> tuple[float, float]:
    """Return T(f) = min over ε of δ(ε) + e^ε f, and the advantage δ(0), of composed answers.

    f is :data:`FALSE_POSITIVES`.
    """
    reach = min(losses.pure, _LEAST)
    slopes = np.linspace(-reach, min(reach, -log(FALSE_POSITIVES)), _LINES).tolist()

    def line(place: int) -> float:
        return losses.delta(slopes[place]) + exp(slopes[place]) * FALSE_POSITIVES

    low, high = 0, _LINES - 1  # lines fall, and then grow
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if line(middle + 1) <= line(middle) else (low, middle)
    pure = of_pure(np.array(losses.pure))
    power = min(1.0, line(low), float(pure.power))
    return power, min(losses.delta(0.0), float(pure.advantage))


def words(power: float, advantage: float, owners: int, unit: str = "record") -> str:
    """Return both rates in a sentence, for a record of ``owners`` owners or a whole owner."""
    holders = "one owner holds" if owners == 1 else f"{owners} owners hold"
    certain, target = f"which of two records {holders}", f"a given record that {holders}"
    if unit == "owner":
        certain, target = "which of two owners takes part", "a given owner"
    if advantage >= 1:
        return f"can be certain {certain}"
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
