"""Mechanisms: the noise that hides records in answers.

An answer is a mean record gradient plus noise. A noise class draws random rows, with the same law
for all owners, and combines a row with an owner's gradient. Simulated noise is not a release
mechanism: see README.

Gaussian noise is (ε, δ), calibrated and composed exactly; in shares, and correlated over rounds.
With shares on a grid, the learner opens Σ n_i Q_i over the owners that answered, modulo 2⁶⁴ grid
steps. Owner i rounds its sum of gradients n_i ∇f_i to the grid and adds its share, rounded too. The
noise of the sum is Gaussian up to a difference that ``docs/privacy/aggregation.md`` bounds.

With C a lower triangular Toeplitz matrix of first column c = (1, c_1, …, c_{b−1}), the rounds'
noise is C⁻¹ w, w Gaussian and independent: n_t = w_t − Σ_{l=1}^{b−1} c_l n_{t−l}. Who sees all sums
s + C⁻¹ w sees C s + w, and no more. An owner that moves sums in rounds that are b or more apart
moves C s by columns of C that have no row in common: by ‖c‖ times what it moves each sum, in
squares. So w has ‖c‖ times the standard deviation of independent noise, and an answer costs what
it costs there. Later noise takes back what earlier noise did to the model.

Sources: Choquette-Choo et al. (2023), "(Amplified) Banded Matrix Factorization", arXiv 2306.08153;
Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters", for the coefficients.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor, fsum, log2, sqrt
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Several, Spec, Variant, trait
from asyncdp_sim.learning.answers import AnswerNoise, Shape
from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy.accountants import (
    Accountant,
    Gaussian,
    Pure,
    gaussian_answers,
    gaussian_epsilon,
    gaussian_multiplier,
)
from asyncdp_sim.privacy.budgets import BudgetSchedule, pure_answers, pure_part, pure_total
from asyncdp_sim.privacy.pairs import GenericPair, LaplacePair, PurePair
from asyncdp_sim.privacy.sensitivity import NormChoice

_SAME = 1e-9
"""Relative to the largest number: residuals this close differ by rounding only."""


def alike(left: Array, right: Array | float, size_of: Array) -> Bools:
    """Return which rows are equal up to rounding, shape (r,)."""
    tolerance = _SAME * np.maximum(np.abs(size_of).max(axis=1, keepdims=True), 1e-300)
    return np.asarray((np.abs(left - right) <= tolerance).all(axis=1))


def laplace_scale(bound: float, answers: Array, records: Array, epsilon: Array) -> Array:
    """Return the Laplace scale b_i = 2ΞK_i/(n_i ε_i) per owner (Async, Theorem 1).

    Replacing one of n_i records moves a mean gradient by at most 2Ξ/n_i in L1, and each of K_i
    answers gets ε_i/K_i.

    Parameters
    ----------
    bound : float
        Ξ ≥ 0, the largest L1 norm of a record gradient.
    answers : array (N,)
        K_i, the number of answers that share the budget.
    records : array (N,)
        n_i.
    epsilon : array (N,)
        ε_i > 0, possibly infinite.
    """
    return 2 * bound * answers / (records * epsilon)


@dataclass(frozen=True, eq=False)
class RecordSensitivity:
    """The distance by which one record can move the answers of each owner, 2Ξ/n_i, to be hidden.

    Attributes
    ----------
    xi : float
        Ξ ≥ 0, the bound on a record's gradient in the norm of the mechanism.
    records : array (N,)
        n_i.
    size : int
        p, numbers in an answer.
    shape : str
        Whether each coordinate has noise of its own; see :class:`LaplaceNoise`.
    grid : float, optional
        The step of the answers' grid, if one is chosen.
    """

    xi: float
    records: Array
    size: int
    shape: Shape = "vector"
    grid: float | None = None


@dataclass(frozen=True, eq=False)
class OwnerBudgets:
    """The budgets of owners, and the numbers of answers that share them.

    Attributes
    ----------
    answers : array of int (N,)
        K_i ≥ 1.
    epsilon : array (N,)
        ε_i > 0, possibly infinite: answers are then exact.
    price : array (N,), optional
        ε₀ of one answer, if given; absent, K_i answers spend the budget.
    delta : float
        δ; 0 where none is named.
    mu : array (N,), optional
        1/z of Gaussian noise, if it is not calibrated from ε directly: for answers over samples, or
        for sums. Infinite if answers are exact.
    """

    answers: Ints
    epsilon: Array
    price: Array | None
    delta: float
    mu: Array | None = None


class MechanismKind(Variant):
    """A mechanism."""

    exact: ClassVar[bool]
    """Answers are exact gradients: no privacy is claimed."""
    norm: ClassVar[Norm]
    """The norm in which a record's gradient must be bounded."""
    norms: ClassVar[tuple[NormChoice, ...]]
    """Norms that a bound may be stated in."""
    needs_delta: ClassVar[bool]
    """Its ε is stated at a δ > 0."""
    composition: ClassVar[Literal["pure", "gaussian", "own"]]
    """The rule for K answers: ε adds up, 1/z² adds up, or only the mechanism's accountant has
    it."""
    pair: ClassVar[type[PurePair] | None] = None
    """Pair that provably dominates an answer of ε; None if answers cannot be composed."""
    over_samples: ClassVar[Literal["pure", "gaussian"] | None] = None
    """How answers over Poisson samples are provably accounted; None without a proof."""
    laplace_variance: ClassVar[bool]
    """The variance of an answer is 2(2ΞK/(nε))², whatever ε, K and p are."""
    shapes: ClassVar[tuple[Shape, ...]]
    """Allowed values of ``privacy.noise``."""
    gridded: ClassVar[bool]
    """Answers lie on ``privacy.grid``."""
    calibrated: ClassVar[tuple[float, float]]
    """Range of finite ε for which noise is computed to full precision."""
    together: ClassVar[bool] = False
    """Noise is drawn for an answer as a whole: its coordinates are not independent."""
    noise_name: ClassVar[str]
    """The noise in the words of labels and captions."""

    @abstractmethod
    def part(self, epsilon: float, parts: int, delta: float) -> float:
        """Return the ε of which ``parts`` jointly cost ``epsilon``."""

    @abstractmethod
    def fits(self, price: float, epsilon: float, delta: float) -> int:
        """Return how many answers of ε₀ = ``price`` each are within a finite budget."""

    @abstractmethod
    def accountant(self, allowance: OwnerBudgets) -> Accountant:
        """Return the accountant of answers."""

    def apart(self, allowance: OwnerBudgets, allotment: BudgetSchedule) -> OwnerBudgets:  # noqa: ARG002
        """Return the budget of each answer, as if each were the only answer of an owner.

        Raises
        ------
        TypeError
            If the cost of its answers does not add up, so it cannot be divided unequally.
        """
        raise TypeError(f"no unequal parts are known of mechanism {self.model_dump()['kind']}")

    @abstractmethod
    def noise(self, influence: RecordSensitivity, allowance: OwnerBudgets) -> AnswerNoise:
        """Return the noise of answers with these budgets.

        Raises
        ------
        SpecError
            If a field does not suit these numbers.
        """


class PureMechanism(MechanismKind):
    """A mechanism whose answers are each ε-differentially private, at L1 sensitivity."""

    exact = False
    norm: ClassVar[Norm] = "l1"
    norms: ClassVar[tuple[NormChoice, ...]] = ("l1", "l2-as-published")
    needs_delta = False
    composition: ClassVar[Literal["pure", "gaussian", "own"]] = "pure"
    pair: ClassVar[type[PurePair] | None] = GenericPair
    calibrated = (1e-100, np.inf)  # of less ε, scales are more than numbers hold

    @override
    def part(self, epsilon: float, parts: int, delta: float) -> float:
        return pure_part(epsilon, parts)

    @override
    def fits(self, price: float, epsilon: float, delta: float) -> int:
        return pure_answers(price, epsilon)

    @override
    def accountant(self, allowance: OwnerBudgets) -> Pure:
        return Pure(allowance.answers, allowance.epsilon, total(allowance))

    @override
    def apart(self, allowance: OwnerBudgets, allotment: BudgetSchedule) -> OwnerBudgets:
        """Return s_ik times the ε of all answers for each."""
        epsilons = allotment.of_owners(total(allowance)) * np.concatenate(allotment.parts)
        return OwnerBudgets(np.ones(len(epsilons), dtype=np.int64), epsilons, None, allowance.delta)


def total(allowance: OwnerBudgets) -> Array:
    """Return ε of K_i pure answers, ≤ ε_i, shape (N,)."""
    if allowance.price is None:
        return allowance.epsilon
    priced = zip(allowance.price.tolist(), allowance.answers.tolist(), strict=True)
    spent = np.array([pure_total(price, count) for price, count in priced])
    return np.where(np.isinf(allowance.epsilon), np.inf, spent)


@dataclass(frozen=True, eq=False)
class NoNoise(AnswerNoise):
    """Exact answers: no privacy at all."""

    added: ClassVar[str | None] = "none"
    scale: Array

    @property
    @override
    def variance(self) -> Array:
        return np.zeros_like(self.scale)

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return −0, whose addition changes no bit, shape (count, size); nothing is drawn."""
        return np.full((count, size), -0.0)

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        return gradients

    @override
    def drawn(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        """Return answers minus gradients, shape (r, size)."""
        return answers - gradients

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        return np.where(alike(answers - gradients, 0.0, answers), 0.0, -np.inf)


class NoMechanism(PureMechanism):
    """Exact answers without noise."""

    exact = True
    norms: ClassVar[tuple[NormChoice, ...]] = ("l1", "l2", "l2-as-published")
    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector", "scalar-as-published")
    gridded = False
    noise_name = "no"

    kind: Literal["none"] = "none"

    @override
    def noise(self, influence: RecordSensitivity, allowance: OwnerBudgets) -> NoNoise:
        return NoNoise(np.zeros(len(influence.records)))


@dataclass(frozen=True, eq=False)
class LaplaceNoise(AnswerNoise):
    """Laplace noise w with scale b_i = 2ΞK_i/(n_i ε_i): E w = 0, Var w = 2b_i² per coordinate.

    Attributes
    ----------
    scale : array (N,)
        b_i ≥ 0; 0 where ε_i is infinite.
    shape : str
        "vector" draws coordinates independently; "scalar-as-published" adds one draw to all
        coordinates, which is not differentially private for any ε (differences between coordinates
        leak exactly).
    """

    figure: ClassVar[str | None] = "Laplace with scale"
    added: ClassVar[str | None] = trait(lambda self: f"laplace, {self.shape}")
    scale: Array
    shape: Shape = "vector"

    @property
    @override
    def variance(self) -> Array:
        return 2 * np.square(self.scale)

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        if self.shape == "vector":
            return generator.laplace(size=(count, size))
        return np.repeat(generator.laplace(size=(count, 1)), size, axis=1)

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        residual, scale = answers - gradients, self.scale[owners]
        if self.shape == "scalar-as-published":
            possible = alike(residual, residual[:, :1], answers)
            residual = residual[:, :1]
        else:
            possible = np.ones(len(owners), dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = -np.abs(residual).sum(axis=1) / scale - residual.shape[1] * np.log(2 * scale)
        density = np.where(possible, density, -np.inf)
        if (scale > 0).all():  # else the answers that are exact are looked for
            return density
        exact = alike(answers - gradients, 0.0, answers)
        return np.where(scale > 0, density, np.where(exact, 0.0, -np.inf))


class LaplaceMechanism(PureMechanism):
    """Laplace noise on every coordinate: ε-DP at L1 sensitivity (Async, Theorem 1)."""

    pair = LaplacePair
    over_samples: ClassVar[Literal["pure", "gaussian"] | None] = "pure"
    laplace_variance = True
    shapes: ClassVar[tuple[Shape, ...]] = ("vector", "scalar-as-published")
    gridded = False
    noise_name = "Laplace"

    kind: Literal["laplace"] = "laplace"

    @override
    def noise(self, influence: RecordSensitivity, allowance: OwnerBudgets) -> LaplaceNoise:
        return LaplaceNoise(scale_of(influence, allowance), influence.shape)


def scale_of(influence: RecordSensitivity, allowance: OwnerBudgets) -> Array:
    """Return b_i of pure answers."""
    answers = allowance.answers.astype(float)
    return laplace_scale(influence.xi, answers, influence.records, total(allowance))


FINEST = 2.0**44
"""Steps in a scale, at most: draws have 53 bits, so that each step near 0 is reached 2⁶ times."""


@dataclass(frozen=True, eq=False)
class DiscreteLaplaceNoise(AnswerNoise):
    """Answers on a grid: γ_i (round(g/γ_i) + W) per coordinate.

    P(W = k) = (1 − a)/(1 + a) a^|k| with a = e^(−γ_i/b_i), of variance 2a/(1 − a)².
    γ_i is a power of two, so that every operation on the grid is exact and no answer has low bits
    that depend on the gradient's (Mironov 2012 is about the floating-point Laplace mechanism).
    Rounding adds at most γ_i per coordinate to the sensitivity: b_i = (2Ξ/n_i + pγ_i) K_i/ε_i.
    W = ⌊E b_i/γ_i⌋ − ⌊E' b_i/γ_i⌋ for exponential E, E', whose integer parts are geometric; their
    probabilities are exact to floating-point rounding, not beyond it.

    Attributes
    ----------
    scale : array (N,)
        b_i ≥ 0; 0 where ε_i is infinite.
    grid : array (N,)
        γ_i > 0, powers of two.
    """

    figure: ClassVar[str | None] = "discrete Laplace with scale"
    scale: Array
    grid: Array

    @property
    @override
    def variance(self) -> Array:
        """2γ_i² a/(1 − a)², of each coordinate's noise, shape (N,); rounding adds none."""
        with np.errstate(divide="ignore", over="ignore"):
            rate = self.grid / self.scale
            return np.asarray(np.square(self.grid) / (2 * np.square(np.sinh(rate / 2))))

    @override
    def width(self, size: int) -> int:
        return 2 * size

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the next ``count`` rows of unit exponentials, shape (count, 2 size)."""
        return generator.standard_exponential(size=(count, 2 * size))

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return answers on the grid, shape (r, size)."""
        size, grid = gradients.shape[1], self.grid[owners, None]
        whole_steps = np.floor(rows * (self.scale[owners, None] / grid))
        steps = np.rint(gradients / grid) + (whole_steps[:, :size] - whole_steps[:, size:])
        return np.asarray(steps * grid)

    @override
    def drawn(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        """Return W γ_i/b_i of answers to these gradients, shape (r, size)."""
        grid = self.grid[owners, None]
        steps = np.rint(answers / grid) - np.rint(gradients / grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(steps * (grid / self.scale[owners, None]))

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        grid, scale = self.grid[owners, None], self.scale[owners]
        places = answers / grid
        steps = places - np.rint(gradients / grid)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = grid[:, 0] / scale
            density = -np.abs(steps).sum(axis=1) * rate + steps.shape[1] * np.log(np.tanh(rate / 2))
        density = np.where((places == np.rint(places)).all(axis=1), density, -np.inf)
        exact = (steps == 0).all(axis=1)
        return np.where(scale > 0, density, np.where(exact, 0.0, -np.inf))


class DiscreteLaplaceMechanism(PureMechanism):
    """Discrete Laplace noise on a grid: ε-DP at L1 sensitivity, including rounding."""

    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector",)
    gridded = True
    noise_name = "discrete Laplace"

    kind: Literal["discrete-laplace"] = "discrete-laplace"

    @override
    def noise(self, influence: RecordSensitivity, allowance: OwnerBudgets) -> DiscreteLaplaceNoise:
        """Return noise on ``grid``, or the one of :func:`grid_steps`.

        Raises
        ------
        SpecError
            If ``grid`` is too fine for draws of so large a scale to reach each of its steps.
        """
        scale, held = scale_of(influence, allowance), influence.records
        finest = grid_steps(influence.xi, held, influence.size, scale)
        steps = finest if influence.grid is None else np.full(len(held), influence.grid)
        answers, cost = allowance.answers.astype(float), total(allowance)
        noise = DiscreteLaplaceNoise(scale + influence.size * steps * answers / cost, steps)
        steepest = float((noise.scale / steps).max())
        if steepest > FINEST:
            value = f"{steepest:.3g} steps in the noise's scale"
            hint = "allowed are at most 2^44: take a coarser grid, fewer answers or a larger ε"
            raise SpecError([Fault("privacy.grid", value, hint)])
        return noise


def grid_steps(bound: float, records: Array, size: int, scale: Array) -> Array:
    """Return γ_i, the largest power of two ≤ 2Ξ/(1024 p n_i), shape (N,).

    Rounding p coordinates then adds at most a thousandth to the sensitivity 2Ξ/n_i. If this is
    finer than b_i/2⁴⁰, γ_i is the smallest power of two that is not. γ_i is public, because Ξ, p,
    n_i and b_i are.

    Parameters
    ----------
    bound : float
        Ξ > 0.
    records : array (N,)
        n_i.
    size : int
        p, numbers in an answer.
    scale : array (N,)
        b_i ≥ 0, of Laplace noise without a grid.
    """
    finest = 2 * bound / (1024 * size * records)
    with np.errstate(divide="ignore"):
        coarse = 2.0 ** np.ceil(np.log2(scale) - 40)
    return np.asarray(np.maximum(2.0 ** np.floor(np.log2(finest)), coarse))


_INDEPENDENT = "Gaussian with standard deviation"
_CORRELATED = "Gaussian, correlated over rounds, in the first of which it has standard deviation"


@dataclass(frozen=True, eq=False)
class GaussianNoise(AnswerNoise):
    """Gaussian noise w with standard deviation s_i = z_i · 2Ξ/n_i on each coordinate.

    Attributes
    ----------
    scale : array (N,)
        s_i ≥ 0; 0 where ε_i is infinite.
    """

    figure: ClassVar[str | None] = _INDEPENDENT
    added: ClassVar[str | None] = "gaussian"
    scale: Array

    @property
    @override
    def variance(self) -> Array:
        return np.square(self.scale)

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return generator.standard_normal(size=(count, self.width(size)))

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
    def noise(self, influence: RecordSensitivity, allowance: OwnerBudgets) -> GaussianNoise:
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
    added: ClassVar[str | None] = None  # answers are on a grid
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

    added: ClassVar[str | None] = None  # sums are on a grid
    each: GaussianShares
    shares: int

    @override
    def width(self, size: int) -> int:
        return self.shares * size

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        single, size = self.each, gradients.shape[1]
        answers = single.add_noise(owners, gradients, rows[:, :size])
        for place in range(1, self.shares):
            sharers = (owners + place) % len(single.scale)
            row = rows[:, place * size :][:, :size]
            share = single.add_noise(sharers, np.zeros_like(answers), row)
            answers += share * (single.records[sharers] / single.records[owners])[:, None]
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


class Correlation(Spec):
    """A banded matrix by which the noise of rounds is correlated.

    Its coefficients are those of the square root of the matrix of prefix sums,
    c_l = binom(2l, l)/4^l for l < bands; or they are listed. Listed ones do not increase, so that
    noise stays bounded (Eneström and Kakeya).
    """

    bands: Annotated[int, Field(ge=2, le=10_000)] | None = None
    coefficients: Several[Annotated[float, Field(gt=0, lt=1)]] | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        listed = self.coefficients or ()
        if (self.bands is None) == (self.coefficients is None):
            value = "nothing" if self.bands is None else f"{self.bands} beside coefficients"
            yield Fault("bands", value, "allowed is either bands or coefficients")
        elif any(later > former for former, later in pairwise(listed)):
            hint = "allowed are c_1 ≥ c_2 ≥ …, with which noise stays bounded"
            yield Fault("coefficients", str(list(listed)), hint)

    @property
    def column(self) -> tuple[float, ...]:
        """(1, c_1, …, c_{b−1}), the first column of C."""
        if self.coefficients is not None:
            return (1.0, *self.coefficients)
        column = [1.0]
        for lag in range(1, self.bands or 1):
            column.append(column[-1] * (2 * lag - 1) / (2 * lag))
        return tuple(column)

    def applied(self, noise: "LearnerNoise") -> "LearnerNoise":
        """Return the same noise correlated, with which an answer costs as much."""
        correlated = replace(noise, column=self.column)
        return replace(correlated, scale=noise.scale * correlated.length)


@dataclass(frozen=True, eq=False)
class LearnerNoise(GaussianNoise):
    """Noise on the sum of a round, in equal parts: one with each of its answers.

    Attributes
    ----------
    scale : array (N,)
        s_i: n_i s_i √parts is the standard deviation of w, the same for all owners.
    parts : int
        Answers of a round, the same number in every one.
    column : tuple of float
        c, the first column of C; (1,) where rounds are independent.
    """

    figure: ClassVar[str | None] = trait(
        lambda self: _INDEPENDENT if len(self.column) == 1 else _CORRELATED
    )
    parts: int
    column: tuple[float, ...] = (1.0,)

    @property
    def length(self) -> float:
        """‖c‖."""
        return sqrt(fsum(c * c for c in self.column))

    @property
    def alone(self) -> GaussianNoise:
        """The noise on one owner's answer where all else is known, and all sums are used."""
        return GaussianNoise(self.scale * sqrt(self.parts) / self.length)

    @override
    def drawing(self, size: int) -> Callable[[np.random.Generator, int], Array]:
        if len(self.column) == 1:
            return super().drawing(size)
        return Filtered(np.array(self.column[1:]), self.parts, size)

    def whitened(self, rounds: Array) -> Array:
        """Return C s of what rounds' sums are, shape (T, p)."""
        white = rounds.copy()
        for lag, coefficient in enumerate(self.column[1 : len(rounds)], start=1):
            white[lag:] += coefficient * rounds[:-lag]
        return white


class Filtered:
    """Rows of C⁻¹ w: the j-th answers of all rounds are one sequence, of each stream.

    Parameters
    ----------
    coefficients : array (b − 1,)
        c_1, …
    parts : int
        Answers of a round.
    size : int
        Numbers in an answer.
    """

    def __init__(self, coefficients: Array, parts: int, size: int) -> None:
        self._coefficients = coefficients
        self._parts = parts
        self._size = size
        self._kept: dict[np.random.Generator, deque[Array]] = {}
        """Of each stream: the noise of its last rounds, the newest first."""
        self._ready: dict[np.random.Generator, Array] = {}
        """Rows of the round that is under way, not given yet."""

    def __call__(self, generator: np.random.Generator, count: int) -> Array:
        """Return the next ``count`` rows of a stream, shape (count, size)."""
        rows: list[Array] = []
        ready = self._ready.get(generator, np.empty((0, self._size)))
        while len(ready) < count:
            rows.append(ready)
            count -= len(ready)
            ready = self._round(generator)
        self._ready[generator] = ready[count:]
        return np.concatenate([*rows, ready[:count]])

    def _round(self, generator: np.random.Generator) -> Array:
        past = self._kept.setdefault(generator, deque(maxlen=len(self._coefficients)))
        noise = generator.standard_normal((self._parts, self._size))
        for coefficient, former in zip(self._coefficients.tolist(), past, strict=False):
            noise -= coefficient * former
        past.appendleft(noise)
        return noise


Mechanism = Annotated[
    LaplaceMechanism | GaussianMechanism | DiscreteLaplaceMechanism | NoMechanism,
    FAMILY_BY_NAME,
]
"""Every mechanism, named by its kind alone or by a table; a new one is added here."""
