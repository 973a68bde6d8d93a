"""Answers over Poisson samples: what they cost where the replaced record is in with probability q.

The denominator q n_i is public, and who was drawn is hidden. The others' sample being given, an
answer's law is (1 − q) P₀ + q P₁ before, and (1 − q) P₀ + q P₂ after a record is replaced: P₀ is
without it, half as far from P₁ and P₂ as they may be apart. Proofs stand in
``docs/privacy/subsampling.md``.
"""

from dataclasses import dataclass
from math import asinh, expm1, inf, log, log1p, sinh
from typing import Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.privacy.accountants.own import Accountant, Pure

Array = npt.NDArray[np.float64]
_STEEP = 600.0
"""Half of an ε from which sinh is exponential but for rounding."""
_DOWN = 1 - 1e-12
"""ε is stated so much smaller than the root of a closed form, for rounding."""


def amplified(epsilon: float, probability: float) -> float:
    """Return ε of a sampled answer whose ε is known where the record is in.

    ln ((1 − q + q a)/(1 − q + q/a)), a = e^(ε/2), at most ln (1 + q(e^ε − 1)).

    Parameters
    ----------
    epsilon : float
        ε ≥ 0 at the full sensitivity, and ε/2 at the half of it.
    probability : float
        q in (0, 1).
    """
    if epsilon == inf:
        return inf
    half = epsilon / 2
    if half > _STEEP:
        return half + log(probability) - log1p(probability * expm1(-half))
    return log1p(probability * expm1(half)) - log1p(probability * expm1(-half))


def bare(epsilon: float, probability: float) -> float:
    """Return the ε of noise on a sampled sum by which the answer costs ε: amplified, turned round.

    ε + 2 asinh(((1 − q)/q) sinh(ε/2)).

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
class SampledPure(Pure):
    """Pure answers over samples: their ε, amplified, adds up.

    Attributes
    ----------
    probability : float
        q in (0, 1).
    """

    probability: float

    @classmethod
    def of(cls, own: Accountant, probability: float) -> Self:
        """Return the same answers over samples, of an accountant by which ε adds up."""
        return cls(own.answers, own.epsilon, own.spent(own.answers), probability)

    @override
    def times(self, factor: Array | float) -> Array:
        """Return how many times ε an answer costs whose sensitivity is ``factor`` as large."""
        each = self.total / self.answers
        factors = np.broadcast_to(factor, each.shape).tolist()
        louder = [
            amplified(bare(one, self.probability) * by, self.probability)
            for one, by in zip(each.tolist(), factors, strict=True)
        ]
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(each), 1.0, np.array(louder) / each)

    @override
    def quieter(self, factor: Array) -> Array:
        """Return ε of K_i answers whose noise is 1/``factor`` as large."""
        return self.total * self.times(factor)


__all__ = ["SampledPure", "amplified", "bare"]
