"""Gaussian noise: (ε, δ), calibrated and composed exactly; also in shares that jointly hide a sum.

With shares on a grid, the learner opens Σ n_i Q_i over the owners that answered, modulo 2⁶⁴ grid
steps. Owner i rounds its sum of gradients n_i ∇f_i to the grid and adds its share, rounded too. The
noise of the sum is Gaussian up to a difference that ``docs/privacy/aggregation.md`` bounds.
"""

from dataclasses import dataclass
from math import floor, log2, sqrt
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.learning.reply import AnswerNoise, Shape
from asyncdp_sim.privacy.accountants.own import Gaussian, gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.privacy.budgets import BudgetSchedule, gaussian_answers
from asyncdp_sim.privacy.mechanisms.kind import (
    MechanismKind,
    OwnerBudgets,
    RecordSensitivity,
    alike,
)
from asyncdp_sim.privacy.sensitivity import NormChoice


@dataclass(frozen=True, eq=False)
class GaussianNoise(AnswerNoise):
    """Gaussian noise w with standard deviation s_i = z_i · 2Ξ/n_i on each coordinate.

    Attributes
    ----------
    scale : array (N,)
        s_i ≥ 0; 0 where ε_i is infinite.
    """

    figure: ClassVar[str | None] = "Gaussian with standard deviation"
    scale: Array

    @property
    @override
    def variance(self) -> Array:
        return np.square(self.scale)

    @property
    @override
    def added(self) -> str | None:
        return "gaussian"

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return generator.standard_normal(size=(count, size))

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        gradients += rows * self.scale[owners, None]
        return gradients

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        residual, scale = answers - gradients, self.scale[owners]
        exact = alike(residual, 0.0, answers)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = -np.square(residual / scale[:, None]).sum(axis=1) / 2
            density -= residual.shape[1] * np.log(scale * np.sqrt(2 * np.pi))
        return np.where(scale > 0, density, np.where(exact, 0.0, -np.inf))


class GaussianMechanism(MechanismKind):
    """Gaussian noise on every coordinate: (ε, δ)-DP at L2 sensitivity (Balle and Wang 2018)."""

    exact = False
    norm: ClassVar[Norm] = "l2"
    norms: ClassVar[tuple[NormChoice, ...]] = ("l2",)
    needs_delta = True
    composition: ClassVar[Literal["pure", "gaussian", "own"]] = "gaussian"
    over_samples: ClassVar[Literal["pure", "gaussian"] | None] = "gaussian"
    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector",)
    gridded = False
    calibrated = (1e-5, 1e6)
    noise_name = "Gaussian"

    kind: Literal["gaussian"] = "gaussian"

    @override
    def part(self, epsilon: float, parts: int, delta: float) -> float:
        return gaussian_epsilon(gaussian_multiplier(epsilon, delta) * parts**0.5, delta)

    @override
    def fits(self, price: float, epsilon: float, delta: float) -> int:
        return gaussian_answers(gaussian_multiplier(price, delta), epsilon, delta)

    @override
    def accountant(self, allowance: OwnerBudgets) -> Gaussian:
        epsilon, price = allowance.epsilon, allowance.price
        if allowance.mu is not None:
            return Gaussian(allowance.answers, epsilon, 1 / allowance.mu, allowance.delta)
        epsilons = epsilon if price is None else np.where(np.isinf(epsilon), np.inf, price)
        multipliers = np.array([gaussian_multiplier(e, allowance.delta) for e in epsilons.tolist()])
        if price is None:
            multipliers *= np.sqrt(allowance.answers)
        return Gaussian(allowance.answers, epsilon, multipliers, allowance.delta)

    @override
    def apart(self, allowance: OwnerBudgets, allotment: BudgetSchedule) -> OwnerBudgets:
        """Return μ_ik² = K_i s_ik/z_i² of each answer, z_i the multiplier of K_i equal ones."""
        with np.errstate(divide="ignore"):
            even = 1 / self.accountant(allowance).multiplier
        mu = allotment.of_owners(even) * np.sqrt(allotment.relative)
        epsilon = allotment.of_owners(allowance.epsilon)
        ones = np.ones(len(mu), dtype=np.int64)
        return OwnerBudgets(ones, epsilon, None, allowance.delta, mu)

    @override
    def noise(
        self,
        influence: RecordSensitivity,
        allowance: OwnerBudgets,
        shape: Shape,
        grid: float | None,
    ) -> GaussianNoise:
        multiplier = self.accountant(allowance).multiplier
        return GaussianNoise(2 * influence.xi * multiplier / influence.records)


STEPS = 2.0**20
"""Grid steps, at least, in the largest change of a sum by one record, over √p."""
NUMBER_BYTES = 8
"""Bytes of a masked number: sums are modulo 2⁶⁴."""
COARSEST = 104.0
"""Smallest number of grid steps in the standard deviation of a share that the proof covers."""
MOST = 10_000
"""Largest number of owners for which it is proven that rounding shares reveals nothing."""
LONGEST = 16.0
"""Standard deviations that no draw exceeds: a Gaussian does with P = 10⁻⁵⁶, NumPy's never."""


@dataclass(frozen=True, eq=False)
class GaussianShares(GaussianNoise):
    """Noise s_i w on owner i's answer; n_i s_i = σ is the same for all owners.

    Attributes
    ----------
    scale : array (N,)
        s_i > 0.
    records : array (N,)
        n_i.
    grid : float
        γ, a power of two.
    """

    figure: ClassVar[str | None] = "Gaussian share with standard deviation"
    records: Array
    grid: float

    def summed(self, shares: int) -> "SummedShares":
        """Return the noise of ``shares`` shares, as noise on one owner's answer."""
        return SummedShares(self.scale * sqrt(shares), each=self, shares=shares)

    @property
    @override
    def variance(self) -> Array:
        """s_i² plus the variance of rounding, γ²/(12 n_i²)."""
        return np.asarray(np.square(self.scale) + np.square(self.grid / self.records) / 12)

    @property
    @override
    def added(self) -> None:
        """None: answers are on a grid."""
        return

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        steps = (self.records[owners] / self.grid)[:, None]
        gradients *= steps
        np.rint(gradients, out=gradients)
        gradients += np.rint(rows * self.scale[owners, None] * steps)
        gradients /= steps
        return gradients


@dataclass(frozen=True, eq=False)
class SummedShares(GaussianNoise):
    """Noise on one owner's answer in a sum, if all other gradients are known.

    Attributes
    ----------
    scale : array (N,)
        √m s_i.
    each : GaussianShares
        The share of one owner.
    shares : int
        m, the number of shares: the owner's, and those of the next owners.
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
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        owner_share, size = self.each, gradients.shape[1]
        answers = owner_share.add_noise(owners, gradients, rows[:, :size])
        for place in range(1, self.shares):
            other_owners = (owners + place) % len(owner_share.scale)
            share = owner_share.add_noise(
                other_owners, np.zeros_like(answers), rows[:, place * size :][:, :size]
            )
            answers += (
                share * (owner_share.records[other_owners] / owner_share.records[owners])[:, None]
            )
        return answers


def shared(noise: AnswerNoise, influence: RecordSensitivity, shares: int) -> GaussianShares:
    """Return noise of which ``shares`` shares hide a sum as ``noise`` hides one answer.

    The scale includes rounding: a record moves a sum by at most 2Ξ + γ√p, γ the largest power of
    two ≤ 2Ξ/(2²⁰ √p).

    Parameters
    ----------
    noise : AnswerNoise
        Gaussian, with equal n_i s_i for all owners.
    influence : RecordSensitivity
    shares : int
        n − d − t ≥ 1.

    Raises
    ------
    SpecError
        If a sum could wrap, or if the proof on rounding does not apply.
    """
    moved, root = 2 * influence.xi, sqrt(influence.size)
    grid = 2.0 ** floor(log2(moved / (STEPS * root)))
    scale = noise.scale * (1 + grid * root / moved) / sqrt(shares)
    steps, owners = (scale * influence.records).min() / grid, len(influence.records)
    if steps < COARSEST or owners > MOST:
        value = f"'aggregate' of {owners} owners, whose shares have {steps:.3g} grid steps"
        hint = f"a proof is known of {COARSEST:g} steps or more, and of {MOST} owners at most"
        raise SpecError([Fault("privacy.observer.kind", value, hint)])
    reach = influence.xi * influence.records.sum() + LONGEST * (scale * influence.records).sum()
    if 2 * reach >= 2.0 ** (8 * NUMBER_BYTES) * grid:
        hint = "sums are modulo 2⁶⁴, and this noise or these records could wrap: allowed is less"
        raise SpecError([Fault("privacy.observer.kind", "'aggregate'", hint)])
    return GaussianShares(scale, records=influence.records, grid=grid)
