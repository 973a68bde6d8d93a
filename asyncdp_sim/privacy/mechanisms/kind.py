"""The family of mechanisms: its interface, no noise, and Laplace noise, discrete or not.

An answer is a mean record gradient plus noise. A noise class draws random rows, with the same law
for all owners, and combines a row with an owner's gradient. Simulated noise is not a release
mechanism: see README.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import Variant
from asyncdp_sim.learning.answers import AnswerNoise, Shape
from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy.accountants.own import Accountant, Pure
from asyncdp_sim.privacy.accountants.pairs import GenericPair, LaplacePair, PurePair
from asyncdp_sim.privacy.budgets import BudgetSchedule, pure_answers, pure_part, pure_total
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
    """The distance by which one record can move the answers of each owner: 2Ξ/n_i.

    Attributes
    ----------
    xi : float
        Ξ ≥ 0, the bound on a record's gradient in the norm of the mechanism.
    records : array (N,)
        n_i.
    size : int
        p, numbers in an answer.
    """

    xi: float
    records: Array
    size: int


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
    def noise(
        self,
        influence: RecordSensitivity,
        allowance: OwnerBudgets,
        shape: Shape,
        grid: float | None,
    ) -> AnswerNoise:
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

    scale: Array

    @property
    @override
    def variance(self) -> Array:
        return np.zeros_like(self.scale)

    @property
    @override
    def added(self) -> str:
        return "none"

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
    def noise(
        self,
        influence: RecordSensitivity,
        allowance: OwnerBudgets,
        shape: Shape,
        grid: float | None,
    ) -> NoNoise:
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
    scale: Array
    shape: Shape = "vector"

    @property
    @override
    def variance(self) -> Array:
        return 2 * np.square(self.scale)

    @property
    @override
    def added(self) -> str:
        return f"laplace, {self.shape}"

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        if self.shape == "vector":
            return generator.laplace(size=(count, size))
        return np.repeat(generator.laplace(size=(count, 1)), size, axis=1)

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        gradients += rows * self.scale.take(owners)[:, None]
        return gradients

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
    def noise(
        self,
        influence: RecordSensitivity,
        allowance: OwnerBudgets,
        shape: Shape,
        grid: float | None,
    ) -> LaplaceNoise:
        return LaplaceNoise(scale_of(influence, allowance), shape)


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
    def noise(
        self,
        influence: RecordSensitivity,
        allowance: OwnerBudgets,
        shape: Shape,
        grid: float | None,
    ) -> DiscreteLaplaceNoise:
        """Return noise on ``grid``, or the one of :func:`grid_steps`.

        Raises
        ------
        SpecError
            If ``grid`` is too fine for draws of so large a scale to reach each of its steps.
        """
        scale, held = scale_of(influence, allowance), influence.records
        finest = grid_steps(influence.xi, held, influence.size, scale)
        steps = finest if grid is None else np.full(len(held), grid)
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
