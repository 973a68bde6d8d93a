"""Shares of Gaussian noise on a grid: each owner adds some, and enough of them hide a sum.

What is opened is Σ n_i Q_i over owners that answered, modulo 2⁶⁴ grid steps. Owner i rounds its sum
of gradients n_i ∇f_i to the grid and adds its share, rounded too; the sum's noise is Gaussian but
for what ``docs/privacy/aggregation.md`` bounds.
"""

from dataclasses import dataclass
from math import floor, log2, sqrt

import numpy as np
from typing_extensions import override

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.privacy.mechanisms.gaussian import GaussianNoise
from asyncdp_sim.privacy.mechanisms.kind import Influence
from asyncdp_sim.privacy.mechanisms.noise import AnswerNoise, Array, Indices

STEPS = 2.0**20
"""Grid steps, at least, in the most that one record moves a sum, over √p."""
NUMBER_BYTES = 8
"""Of a masked number: sums are modulo 2⁶⁴."""
COARSEST = 104.0
"""Grid steps, at least, in the standard deviation of a share: of fewer nothing is proven."""
MOST = 10_000
"""Owners of whose shares it is proven that rounding tells nothing."""
LONGEST = 16.0
"""Standard deviations that no draw reaches: of a Gaussian one in 10⁵⁶ does, of NumPy's none."""


@dataclass(frozen=True, eq=False)
class GaussianShares(GaussianNoise):
    """Noise s_i w on owner i's answer, of which n_i s_i = σ is the same for all owners.

    Attributes
    ----------
    scale : array (N,)
        s_i > 0.
    records : array (N,)
        n_i.
    grid : float
        γ, a power of two.
    """

    records: Array
    grid: float

    def summed(self, shares: int) -> "SummedShares":
        """Return the noise that so many shares are for one owner's answer."""
        return SummedShares(self.scale * sqrt(shares), each=self, shares=shares)

    @property
    @override
    def variance(self) -> Array:
        """s_i², and what rounding it adds: γ²/(12 n_i²)."""
        return np.asarray(np.square(self.scale) + np.square(self.grid / self.records) / 12)

    @property
    @override
    def added(self) -> None:
        """None: answers are on a grid."""
        return

    @property
    @override
    def figures(self) -> dict[str, Array]:
        return {"Gaussian share with standard deviation": self.scale}

    @override
    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        steps = (self.records[owners] / self.grid)[:, None]
        gradients *= steps
        np.rint(gradients, out=gradients)
        gradients += np.rint(rows * self.scale[owners, None] * steps)
        gradients /= steps
        return gradients


@dataclass(frozen=True, eq=False)
class SummedShares(GaussianNoise):
    """Noise on one owner's answer as a sum shows it, all gradients but that owner's being known.

    Attributes
    ----------
    scale : array (N,)
        √m s_i.
    each : GaussianShares
        Of one owner.
    shares : int
        m, in the sum: the owner's, and those of the owners that come next.
    """

    each: GaussianShares
    shares: int

    @property
    @override
    def added(self) -> None:
        """None: sums are on a grid."""
        return

    @override
    def width(self, size: int) -> int:
        return self.shares * size

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return generator.standard_normal(size=(count, self.shares * size))

    @override
    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        each, size = self.each, gradients.shape[1]
        found = each.hide(owners, gradients, rows[:, :size])
        for place in range(1, self.shares):
            others = (owners + place) % len(each.scale)
            share = each.hide(others, np.zeros_like(found), rows[:, place * size :][:, :size])
            found += share * (each.records[others] / each.records[owners])[:, None]
        return found


def shared(noise: AnswerNoise, influence: Influence, shares: int) -> GaussianShares:
    """Return noise of which so many shares hide a sum as ``noise`` hides each answer.

    Rounding is paid for: a record moves a sum by 2Ξ + γ√p at most, γ the largest power of two
    ≤ 2Ξ/(2²⁰ √p).

    Parameters
    ----------
    noise : AnswerNoise
        Gaussian, with one n_i s_i for all owners.
    influence : Influence
    shares : int
        n − d − t ≥ 1.

    Raises
    ------
    SpecError
        If a sum could wrap, or if what rounding tells is not proven to be nothing.
    """
    moved, root = 2 * influence.xi, sqrt(influence.size)
    grid = 2.0 ** floor(log2(moved / (STEPS * root)))
    scale = noise.scale * (1 + grid * root / moved) / sqrt(shares)
    steps, owners = (scale * influence.records).min() / grid, len(influence.records)
    if steps < COARSEST or owners > MOST:
        given = f"'aggregate' of {owners} owners, whose shares have {steps:.3g} grid steps"
        allowed = f"a proof is known of {COARSEST:g} steps or more, and of {MOST} owners at most"
        raise SpecError([Fault("privacy.observer.kind", given, allowed)])
    reach = influence.xi * influence.records.sum() + LONGEST * (scale * influence.records).sum()
    if 2 * reach >= 2.0 ** (8 * NUMBER_BYTES) * grid:
        allowed = "sums are modulo 2⁶⁴, and this noise or these records could wrap: allowed is less"
        raise SpecError([Fault("privacy.observer.kind", "'aggregate'", allowed)])
    return GaussianShares(scale, records=influence.records, grid=grid)


__all__ = ["NUMBER_BYTES", "GaussianShares", "SummedShares", "shared"]
