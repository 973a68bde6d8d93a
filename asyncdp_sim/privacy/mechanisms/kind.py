"""The family of mechanisms: what hides answers, and what the rest of the house asks of it.

An answer is a mean record gradient plus noise. Noise says what is drawn for each answer, the same
for all owners, and what an owner makes of its gradient with that. Simulated noise is no release
mechanism: see README.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy.accountants.own import Accountant, Pure
from asyncdp_sim.privacy.accountants.pairs import GenericPair, PurePair
from asyncdp_sim.privacy.budgets import BudgetSchedule, pure_answers, pure_part, pure_total
from asyncdp_sim.privacy.sensitivity import NormChoice
from asyncdp_sim.spec.base import Variant

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Shape = Literal["vector", "scalar-as-published"]
_SAME = 1e-9
"""Relative to the largest number at hand: residuals that close differ by rounding only."""


class AnswerNoise(ABC):
    """The noise on the answers of all owners of a run.

    Attributes
    ----------
    scale : array (N,)
        How large each owner's noise is, ≥ 0; 0 where answers are exact.
    shape : str
        "vector": coordinates are uncorrelated; "scalar-as-published": all have the same draw.
    """

    figure: ClassVar[str | None] = None
    """Name of ``scale`` in words; None where it is not printed."""
    scale: Array
    shape: Shape = "vector"

    @property
    @abstractmethod
    def variance(self) -> Array:
        """Variance of each coordinate of each owner's noise, shape (N,)."""

    @property
    def added(self) -> str | None:
        """The law of w where an answer is g + ``scale`` w, w the row; None where it is not.

        Of two with the same law, the same streams give the same rows.
        """
        return None

    @property
    def figures(self) -> dict[str, Array]:
        """The size of its noise: its name, and a number for each owner (N,)."""
        return {} if self.figure is None else {self.figure: self.scale}

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer of ``size`` numbers."""
        return size

    @abstractmethod
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return what is drawn for the next ``count`` answers, shape (count, width)."""

    def drawing(self, size: int) -> Callable[[np.random.Generator, int], Array]:
        """Return what draws the next rows of a stream, (count, width), for ``size`` numbers."""
        return lambda generator, count: self.rows(generator, count, size)

    @abstractmethod
    def add_noise(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        """Return noisy answers, shape (r, size); ``gradients`` may be used up."""

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return what was added over the scale, if to these gradients, shape (r, size)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((answers - gradients) / self.scale[owners, None])

    @abstractmethod
    def norm_quantile(self, size: int, quantile: float) -> Array:
        """Return what ‖noise‖₁ exceeds with probability at most 1 − q, shape (N,)."""

    @abstractmethod
    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return ln p(answer | gradient), shape (r,); −∞ where it cannot have come about."""


def alike(left: Array, right: Array | float, size_of: Array) -> npt.NDArray[np.bool_]:
    """Return where rows are equal but for rounding, shape (r,)."""
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
        K_i, answers that share the budget.
    records : array (N,)
        n_i.
    epsilon : array (N,)
        ε_i > 0, possibly infinite.
    """
    return 2 * bound * answers / (records * epsilon)


Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RecordSensitivity:
    """The distance by which one record moves the answers of each owner: 2Ξ/n_i.

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
    """The budgets of owners, and the answers that they are for.

    Attributes
    ----------
    answers : array of int (N,)
        K_i ≥ 1.
    epsilon : array (N,)
        ε_i > 0, possibly infinite: answers are then exact.
    price : array (N,), optional
        ε₀ of one answer, where that is named; absent, K_i answers spend the budget.
    delta : float
        δ; 0 where none is named.
    mu : array (N,), optional
        1/z of Gaussian noise, where that was found otherwise: from what answers cost over
        samples, or what their sum does. Infinite where answers are exact.
    """

    answers: Counts
    epsilon: Array
    price: Array | None
    delta: float
    mu: Array | None = None


class MechanismKind(Variant):
    """A mechanism."""

    exact: ClassVar[bool]
    """Answers are the gradients themselves: nothing is claimed and nothing is hidden."""
    norm: ClassVar[Norm]
    """In which a record's gradient has to be bounded."""
    norms: ClassVar[tuple[NormChoice, ...]]
    """Norms that a bound may be stated in."""
    needs_delta: ClassVar[bool]
    """Its ε is stated at a δ > 0."""
    composition: ClassVar[Literal["pure", "gaussian", "own"]]
    """The textbook's rule for K answers: ε adds up, or 1/z² does; or the accountant alone knows."""
    pair: ClassVar[type[PurePair] | None] = None
    """What dominates an answer that costs ε, by a proof, where ε of answers can be composed."""
    over_samples: ClassVar[Literal["pure", "gaussian"] | None] = None
    """How answers over Poisson samples are accounted, by a proof; None where there is none."""
    laplace_variance: ClassVar[bool]
    """The variance of an answer is 2(2ΞK/(nε))², whatever ε, K and p are."""
    shapes: ClassVar[tuple[Shape, ...]]
    """What ``privacy.noise`` may be."""
    gridded: ClassVar[bool]
    """Answers lie on ``privacy.grid``."""
    calibrated: ClassVar[tuple[float, float]]
    """Finite ε for which noise is worked out to the last digits, from and to."""
    together: ClassVar[bool] = False
    """Noise is drawn for an answer as a whole: its coordinates are not independent."""
    noise_name: ClassVar[str]
    """The noise in the words of labels and captions."""

    @abstractmethod
    def part(self, epsilon: float, parts: int, delta: float) -> float:
        """Return ε of which so many make ``epsilon`` together."""

    @abstractmethod
    def fits(self, price: float, epsilon: float, delta: float) -> int:
        """Return how many answers of ε₀ = ``price`` each a finite budget holds."""

    @abstractmethod
    def accountant(self, allowance: OwnerBudgets) -> Accountant:
        """Return what answers cost."""

    def apart(self, allowance: OwnerBudgets, allotment: BudgetSchedule) -> OwnerBudgets:  # noqa: ARG002
        """Return what each answer may cost, as if each were an owner's only one.

        Raises
        ------
        TypeError
            If nothing of its answers adds up that could be divided unequally.
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
        """Return the noise that hides answers at this cost.

        Raises
        ------
        SpecError
            If a field does not suit these numbers.
        """


class PureMechanism(MechanismKind):
    """A mechanism whose answers are ε-differentially private each, at L1 sensitivity."""

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
        """Return s_ik of the ε of all answers for each."""
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
        """Return −0, which added changes no bit, shape (count, size); nothing is drawn."""
        return np.full((count, size), -0.0)

    @override
    def add_noise(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        return gradients

    @override
    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return what was added, shape (r, size): zeros where answers are of these gradients."""
        return answers - gradients

    @override
    def norm_quantile(self, size: int, quantile: float) -> Array:
        return np.zeros_like(self.scale)

    @override
    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
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
