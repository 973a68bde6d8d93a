"""A reply to a query: over which records, and with what noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import AnswerBatch, Array, Gradients, LocalSteps
from asyncdp_sim.learning.clipping import AdaptiveBound, clipped
from asyncdp_sim.learning.objectives import Norm, Records

Shape = Literal["vector", "scalar-as-published"]


class Sampling(Protocol):
    """Answers over some of an owner's records, drawn for each answer."""

    @property
    def stream(self) -> str:
        """The stream that they are drawn from."""

    @property
    def size(self) -> int:
        """How many numbers are drawn for an answer."""

    def gradient(self, owners: Ints, points: Array, draws: Array) -> Array:
        """Return gradients over the records that rows of ``draws`` (r, size) say, (r, p)."""


class AnswerNoise(ABC):
    """The noise on the answers of all owners of a run.

    Attributes
    ----------
    scale : array (N,)
        The scale of each owner's noise, ≥ 0; 0 if answers are exact.
    shape : str
        "vector": coordinates are uncorrelated; "scalar-as-published": all have the same draw.
    """

    figure: ClassVar[str | None] = None
    """Name of ``scale`` in words; None if it is not printed."""
    scale: Array
    shape: Shape = "vector"

    @property
    @abstractmethod
    def variance(self) -> Array:
        """Variance of each coordinate of each owner's noise, shape (N,)."""

    @property
    def added(self) -> str | None:
        """The law of w if an answer is g + ``scale`` w, w the row; None for other noise.

        Two noises with the same law draw the same rows from the same streams.
        """
        return None

    @property
    def figures(self) -> dict[str, Array]:
        """The scale of the noise: its name, and a number per owner (N,)."""
        return {} if self.figure is None else {self.figure: self.scale}

    def width(self, size: int) -> int:
        """Return the number of random numbers for an answer of ``size`` numbers."""
        return size

    @abstractmethod
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the random numbers of the next ``count`` answers, shape (count, width)."""

    def drawing(self, size: int) -> Callable[[np.random.Generator, int], Array]:
        """Return what draws the next rows of a stream, (count, width), for ``size`` numbers."""
        return lambda generator, count: self.rows(generator, count, size)

    @abstractmethod
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return noisy answers, shape (r, size); ``gradients`` may be overwritten."""

    def drawn(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        """Return the noise in answers to these gradients, divided by the scale, shape (r, size)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((answers - gradients) / self.scale[owners, None])

    @abstractmethod
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        """Return ln p(answer | gradient), shape (r,); −∞ if the answer is impossible."""


class Places(Protocol):
    """Places of answers in the noise, where that is of single answers and not of owners."""

    def places(self, owners: Ints, numbers: Ints) -> Ints:
        """Return the places of owners' answers, by how many each had released before, (r,)."""


@dataclass(frozen=True, eq=False)
class Sample:
    """So many records for each answer, drawn with replacement.

    Attributes
    ----------
    records : Records
    size : int
        Records of each answer, ≥ 1.
    """

    records: Records
    size: int
    stream: ClassVar[str] = "batch"

    def gradient(self, owners: Ints, points: Array, draws: Array) -> Array:
        """Return the mean gradient over records ⌊u n_i⌋, u in ``draws``."""
        return self.records.sampled(owners, points, draws)


@dataclass(frozen=True, eq=False)
class PoissonSample:
    """Every record is in an answer with the same probability, independently of the others.

    Attributes
    ----------
    records : Records
    size : int
        The most records that an owner has: a number is drawn for each.
    probability : float
        q in (0, 1). The sum of gradients is divided by q n_i, however many are drawn.
    """

    records: Records
    size: int
    probability: float
    stream: ClassVar[str] = "sample"

    def gradient(self, owners: Ints, points: Array, draws: Array) -> Array:
        """Return the sum of gradients of records j with ``draws``[:, j] < q, over q n_i."""
        return self.records.included(owners, points, draws, self.probability)


@dataclass(frozen=True, eq=False)
class WholeAnswers:
    """Owners' answers, each scaled down as a whole to a norm: its gradient, or what it went.

    Attributes
    ----------
    gradients : Gradients
    bound : float or None
        Ξ; None where it is not the same in all rounds, and answers are scaled down later.
    norm : str
    local : LocalSteps, optional
        How far an owner goes by exact gradients of its own before it answers.
    """

    gradients: Gradients
    bound: float | None
    norm: Norm
    local: LocalSteps | None = None

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return the answers, shape (r, p); a row of its own, whatever rows there are besides."""
        if self.local is None:
            answers = self.gradients.gradient(owners, points)
        else:
            turn = AnswerBatch(owners)
            answers = self.local.sent(turn, points, lambda at: self.gradients.gradient(owners, at))
        return answers if self.bound is None else clipped(answers, self.bound, self.norm)


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """The owners' way to answer a query.

    Owner i's answer at θ is ∇f_i(θ) + noise, with one row drawn for each answer.

    Attributes
    ----------
    gradients, noise
        ∇f_i; and the noise.
    sample : Sample, optional
        Where ∇f_i is over some of the owner's records, other ones for each answer.
    allotment : Places, optional
        Where the noise of an owner's answers differs: which stands where in ``noise``.
    copy : int
        Which of several copies of the algorithm over the same records this is, from 1; 0 where
        there is but one. Copies have noise of their own: one row in two of them would tell
        differences of gradients exactly.
    whole : bool
        Whether ``gradients`` are whole answers, after an owner's local steps: noise is added once.
    bound : AdaptiveBound, optional
        What answers are clipped to, where that differs from round to round. ``noise`` is that of
        the first round: it grows and shrinks with the bound.
    """

    gradients: Gradients
    noise: AnswerNoise
    sample: Sampling | None = None
    allotment: Places | None = None
    copy: int = 0
    whole: bool = False
    bound: AdaptiveBound | None = None

    def exact(self, owners: Ints, points: Array, bounds: Array | None = None) -> Array:
        """Return answers over all records before noise, clipped to ``bounds`` (r,) that move."""
        exact = self.gradients.gradient(owners, points)
        if self.bound is None or bounds is None:
            return exact
        return self.bound.clip(exact, bounds)[0]

    def hidden_steps(self, local: LocalSteps | None) -> LocalSteps | None:
        """Return the local steps of which each gradient is hidden by itself."""
        return None if self.whole else local

    def places(self, owners: Ints, numbers: Ints | None) -> Ints:
        """Return where answers stand in what the noise has a number of: owners, or answers.

        Parameters
        ----------
        owners, numbers : array of int (r,)
            Whose, and how many that owner had released before, both from 0.

        Raises
        ------
        ValueError
            If noise depends on an answer's number, and nobody has counted.
        """
        if self.allotment is None:
            return owners
        if numbers is None:
            raise ValueError("noise depends on how many answers an owner has released before")
        return self.allotment.places(owners, numbers)

    def noise_of(self, replicates: Sequence[Scope]) -> list[np.random.Generator]:
        """Return each replicate's stream of noise, ``noise`` or (``copy``, j, ``noise``)."""
        name = ("noise",) if self.copy == 0 else ("copy", self.copy, "noise")
        return [scope.generator(*name) for scope in replicates]
