"""Gaussian answers over Poisson samples: what they cost together, and noise for a budget."""

from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf, sqrt
from typing import Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.privacy.accountants.by_losses import ByLosses
from asyncdp_sim.privacy.accountants.charges import down
from asyncdp_sim.privacy.accountants.gaussian_law import mu_of
from asyncdp_sim.privacy.accountants.losses import together
from asyncdp_sim.privacy.accountants.own import Pure
from asyncdp_sim.privacy.accountants.sampled import SampledGaussianPair

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_NEAR = 1.3
"""How far apart first guesses are."""
_CLOSE = 1e-4
"""Relative: noise is at most so much larger than it has to be."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledGaussian(ByLosses):
    """Gaussian answers over samples, which are charged by μ = 1/z and not by an ε of their own.

    Attributes
    ----------
    probability : float
        q in (0, 1).
    """

    probability: float

    @classmethod
    def of(cls, answers: Counts, epsilon: Array, mu: Array, q: float, delta: float) -> Self:
        """Return what K_i answers cost.

        Parameters
        ----------
        answers : array of int (N,)
            K_i ≥ 1.
        epsilon : array (N,)
            ε_i > 0, possibly infinite.
        mu : array (N,)
            μ_i, z_i being the noise's standard deviation over 2Ξ/(q n_i); ∞ where ε_i is.
        q : float
            In (0, 1).
        delta : float
            δ in (0, 1).
        """
        own, kind = (
            Pure(answers, epsilon, mu * answers),
            partial(SampledGaussianPair, probability=q),
        )
        return cls(own, kind, delta, probability=q)

    @override
    def quieter(self, factor: Array) -> Array:
        """Return ε(δ) of K_i answers whose noise is 1/``factor`` (N,) as large, shape (N,)."""
        return super().whole(self.charges * factor)

    @override
    def whole(self, charges: Array) -> Array:
        """Return ε(δ) of K_i answers, each of which is (ε₀, δ)-private, shape (N,)."""
        some = [mu_for(self.probability, each, self.delta, 1) for each in charges.tolist()]
        return super().whole(np.array(some))


@lru_cache(maxsize=4096)
def mu_for(probability: float, epsilon: float, delta: float, answers: int) -> float:
    """Return μ, hardly less than the largest at which K sampled answers are (ε, δ)-private.

    Parameters
    ----------
    probability : float
        q in (0, 1).
    epsilon : float
        ε > 0; for an infinite one μ is.
    delta : float
        δ in (0, 1).
    answers : int
        K ≥ 1.
    """
    if epsilon == inf:
        return inf
    low = down(mu_of(epsilon, delta) / sqrt(answers))  # of answers over all records
    while not _fits(probability, low, epsilon, delta, answers):
        low = down(low / (1 + _CLOSE))  # stated ε is a little above the true one
    high = low * _NEAR
    while _fits(probability, high, epsilon, delta, answers):
        low, high = high, high * _NEAR
    while high > low * (1 + _CLOSE):
        middle = sqrt(low * high)
        inside = _fits(probability, middle, epsilon, delta, answers)
        low, high = (middle, high) if inside else (low, middle)
    return down(low)


@lru_cache(maxsize=4096)
def answers_for(probability: float, mu: float, epsilon: float, delta: float, most: int) -> int:
    """Return how many sampled answers of μ are (ε, δ)-private together, at most ``most``.

    Parameters
    ----------
    probability : float
        q in (0, 1).
    mu : float
        μ > 0, at which one answer is.
    epsilon : float
        ε > 0, finite.
    delta : float
        δ in (0, 1).
    most : int
        ≥ 1.
    """
    low, high = 1, 2
    while high <= most and _fits(probability, mu, epsilon, delta, high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        inside = _fits(probability, mu, epsilon, delta, middle)
        low, high = (middle, high) if inside else (low, middle)
    return low


def _fits(probability: float, mu: float, epsilon: float, delta: float, answers: int) -> bool:
    pair = SampledGaussianPair(mu, probability)
    return together(((pair, answers),), delta).epsilon(delta) <= epsilon


__all__ = ["SampledGaussian", "answers_for", "mu_for"]
