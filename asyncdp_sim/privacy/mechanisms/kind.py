"""The family of mechanisms: noise that hides records in answers, and its interface.

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
from asyncdp_sim.core.specification import Variant
from asyncdp_sim.learning.answers import AnswerNoise, Shape
from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy.accountants.own import Accountant, Pure
from asyncdp_sim.privacy.accountants.pairs import GenericPair, PurePair
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
