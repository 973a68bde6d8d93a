"""Dominating pairs: two laws that are at least as easy to tell apart as an answer's are.

A pair (P, Q) dominates a mechanism where, for every ε and all neighbouring records, the mechanism's
two laws have no larger hockey-stick divergence sup_E P(E) − e^ε Q(E). Pairs of adaptively chosen
answers compose to one that dominates them all (Zhu, Dong and Wang 2022, theorem 10). All pairs here
are symmetric: (Q, P) is as hard as (P, Q). Proofs stand in ``docs/privacy/accountants.md``.

A pair is put on a lattice of losses: a law of ln P/Q under P whose every loss is a multiple of one
interval, and which is no easier for the attacker than the pair, but hardly harder.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, expm1, hypot, inf
from typing import Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

Array = npt.NDArray[np.float64]
_HAIR = 1e-12
"""Relative: an ε that is so many intervals but for rounding takes no further one."""
_TAIL = 9.0
"""Standard deviations of a Gaussian loss that are laid out; 1e-19 lies beyond."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """A law of losses on multiples of an interval.

    Attributes
    ----------
    interval : float
        h > 0.
    lowest : int
        The first loss over h.
    masses : array (m,)
        P(loss = (lowest + j) h), each exact to a few roundings of its own size.
    lost : float
        P(loss = ∞).
    """

    interval: float
    lowest: int
    masses: Array
    lost: float = 0.0


class Pair(ABC):
    """A dominating pair of one answer, compared and hashed by its numbers."""

    @property
    @abstractmethod
    def pure(self) -> float:
        """The largest loss: ε at δ = 0, ∞ where there is none."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """About how far losses lie apart: no interval should be larger."""

    @abstractmethod
    def lattice(self, interval: float) -> Lattice:
        """Return a law on multiples of ``interval`` that dominates the pair."""

    @classmethod
    def merged(cls, parts: "Sequence[tuple[Self, int]]") -> "list[tuple[Self, int]]":
        """Return the same answers as fewer pairs, of this class, where that is exact."""
        counts: dict[Self, int] = {}
        for pair, count in parts:
            counts[pair] = counts.get(pair, 0) + count
        return list(counts.items())


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

    @property
    @override
    def spread(self) -> float:
        return self.epsilon

    def _steps(self, interval: float) -> int:
        """Return how many intervals hold ε, which a larger ε in its place dominates."""
        return max(1, ceil(self.epsilon / interval * (1 - _HAIR)))


class GenericPair(PurePair):
    """The pair that dominates any ε-differentially private answer: randomised response.

    A loss of ε with probability e^ε/(1 + e^ε), else of −ε (Kairouz, Oh and Viswanath 2015).
    """

    @override
    def lattice(self, interval: float) -> Lattice:
        steps = self._steps(interval)
        masses = np.zeros(2 * steps + 1)
        masses[-1] = 1 / (1 + exp(-steps * interval))
        masses[0] = exp(-steps * interval) * masses[-1]
        return Lattice(interval, -steps, masses)


class LaplacePair(PurePair):
    """Laplace noise whose scale b is the shift over ε: Lap(0, b) against Lap(Δ, b), ε = Δ/b.

    On the lattice it is discrete Laplace noise: with a = e^(−h/2) and r = ε/h, losses (r − k)h have
    the probabilities a^k (1 − a)/(1 + a), 0 < k < 2r, and 1/(1 + a) and a^(2r)/(1 + a) at the ends.
    Its δ at multiples of h is Laplace's, 1 − e^((ε' − ε)/2), and it is linear in e^ε' between.
    """

    @override
    def lattice(self, interval: float) -> Lattice:
        steps = self._steps(interval)
        places = np.arange(2 * steps, -1, -1, dtype=float)  # k of the least loss comes first
        share = 1 / (1 + exp(-interval / 2))
        masses = np.exp(-interval / 2 * places) * share
        masses[1:-1] *= -expm1(-interval / 2)
        return Lattice(interval, -steps, masses)


@dataclass(frozen=True)
class GaussianPair(Pair):
    """N(0, 1) against N(μ, 1), μ = 1/z: the loss is N(μ²/2, μ²).

    Attributes
    ----------
    mu : float
        μ > 0.
    """

    mu: float

    @property
    @override
    def pure(self) -> float:
        return inf

    @property
    @override
    def spread(self) -> float:
        return self.mu / 8

    @override
    def lattice(self, interval: float) -> Lattice:
        """Return the law of losses rounded up."""
        from scipy.special import ndtr

        middle = self.mu**2 / 2
        lowest = ceil((middle - _TAIL * self.mu) / interval)
        highest = ceil((middle + _TAIL * self.mu) / interval)
        ends = (interval * np.arange(lowest, highest + 1) - middle) / self.mu
        below, above = ndtr(ends), ndtr(-ends)
        masses = np.where(ends[1:] < 0, np.diff(below), -np.diff(above))
        masses = np.concatenate([below[:1], masses])
        return Lattice(interval, lowest, masses, float(above[-1]))

    @classmethod
    @override
    def merged(cls, parts: "Sequence[tuple[Self, int]]") -> "list[tuple[Self, int]]":
        """Return one answer: μ² adds up (Dong, Roth and Su 2022)."""
        return [(cls(hypot(*(pair.mu * count**0.5 for pair, count in parts))), 1)]
