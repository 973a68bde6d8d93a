"""Owners' answers: gradients, noise, and what becomes of them on both sides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Gradients, Indices, LocalSteps, Turn
from asyncdp_sim.streams import Scope

Exact = Callable[[Turn, Array], Array]
"""From who answers, and queries (r, p), to the exact gradients (r, p)."""
Change = Callable[[Indices, Array], Array]
"""From who answers, and answers (r, p), which may be used up, to what they become (r, p)."""
Draw = Callable[[np.random.Generator, int], Array]
"""From a stream and a count to its next rows (count, width)."""

_BLOCK = 512
"""Rows drawn at a time at most; does not change their values."""
_NUMBERS = 2**21
"""Numbers drawn at a time at most, unless one row of each replicate has more."""


class Drawn(Protocol):
    """Rows of numbers by which answers are drawn, from the streams of several replicates."""

    def following(self, rows: Indices | None) -> Array:
        """Return a row for the next answer of each of these replicates (absent: all), (r, w)."""


class Batches(Protocol):
    """Mean gradients over some of an owner's records."""

    def sampled(self, owners: Indices, points: Array, uniforms: Array) -> Array:
        """Return the gradients over records ⌊u n_i⌋, u in ``uniforms`` (r, b), shape (r, p)."""

    def included(
        self, owners: Indices, points: Array, uniforms: Array, probability: float
    ) -> Array:
        """Return Σ ∇ℓ/(q n_i) over records j with uniforms[:, j] < q, shape (r, p)."""


class Sampling(Protocol):
    """Answers over some of an owner's records, drawn for each answer."""

    @property
    def stream(self) -> str:
        """The stream that they are drawn from."""

    @property
    def size(self) -> int:
        """How many numbers are drawn for an answer."""

    def gradient(self, owners: Indices, points: Array, draws: Array) -> Array:
        """Return gradients over the records that rows of ``draws`` (r, size) say, (r, p)."""


class Noise(Protocol):
    """The mechanism: what is drawn for an answer, and what an owner makes of its gradient by it."""

    @property
    def scale(self) -> Array:
        """How large each owner's noise is, shape (N,)."""

    @property
    def variance(self) -> Array:
        """Variance of each coordinate of each owner's noise, shape (N,)."""

    @property
    def added(self) -> str | None:
        """The law of w where an answer is g + ``scale`` w, w the row; None where it is not.

        Of two mechanisms with the same law, the same streams give the same rows.
        """

    def width(self, size: int) -> int:
        """Return how many numbers are drawn for an answer of ``size`` numbers."""

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return what is drawn for the next ``count`` answers, shape (count, width)."""

    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        """Return noisy answers, shape (r, size); ``gradients`` may be used up."""

    def drawn(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return the noise in answers given the gradients, of scale 1, shape (r, size)."""

    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        """Return the log-likelihood of noisy answers given the gradients, shape (r,)."""


class Places(Protocol):
    """Where answers stand in the noise, where that is of single answers and not of owners."""

    def places(self, owners: Indices, numbers: Indices) -> Indices:
        """Return the places of owners' answers, by how many each had released before, (r,)."""


class AcceptanceRule(Protocol):
    """What the learner makes of an answer that it does not trust."""

    def accept(self, owners: Indices, answers: Array) -> Array:
        """Return what is used instead of these owners' answers, shape (r, p)."""


@dataclass(frozen=True, eq=False)
class Sample:
    """So many records for each answer, drawn with replacement.

    Attributes
    ----------
    records : Batches
    size : int
        Records of each answer, ≥ 1.
    """

    records: Batches
    size: int
    stream: ClassVar[str] = "batch"

    def gradient(self, owners: Indices, points: Array, draws: Array) -> Array:
        """Return the mean gradient over records ⌊u n_i⌋, u in ``draws``."""
        return self.records.sampled(owners, points, draws)


@dataclass(frozen=True, eq=False)
class PoissonSample:
    """Every record is in an answer with the same probability, whoever else is.

    Attributes
    ----------
    records : Batches
    size : int
        The most records that an owner has: a number is drawn for each.
    probability : float
        q in (0, 1). The sum of gradients is divided by q n_i, however many are drawn.
    """

    records: Batches
    size: int
    probability: float
    stream: ClassVar[str] = "sample"

    def gradient(self, owners: Indices, points: Array, draws: Array) -> Array:
        """Return the sum of gradients of records j with ``draws``[:, j] < q, over q n_i."""
        return self.records.included(owners, points, draws, self.probability)


@dataclass(frozen=True, eq=False)
class Reply:
    """How owners answer a query, and what the learner takes of it.

    Owner i's answer at θ is a_i (∇f_i(θ) + noise), with one row drawn for each answer.

    Attributes
    ----------
    gradients, noise
        ∇f_i; and the noise.
    sample : Sample, optional
        Where ∇f_i is over some of the owner's records, other ones for each answer.
    factors : array (N,), optional
        a_i; 1 is honest.
    acceptance : AcceptanceRule, optional
        What the learner does to answers that it does not trust.
    allotment : Places, optional
        Where the noise of an owner's answers differs: which stands where in ``noise``.
    copy : int
        Which of several copies of the algorithm over the same records this is, from 1; 0 where
        there is but one. Copies have noise of their own: one row in two of them would tell
        differences of gradients exactly.
    """

    gradients: Gradients
    noise: Noise
    sample: Sampling | None = None
    factors: Array | None = None
    acceptance: AcceptanceRule | None = None
    allotment: Places | None = None
    copy: int = 0

    @property
    def changes(self) -> tuple[Change, ...]:
        """What becomes of a noisy answer in turn: a liar's factor, what the learner makes of it."""
        found: list[Change] = []
        factors = self.factors
        if factors is not None:
            found.append(
                lambda owners, answers: np.multiply(answers, factors[owners, None], answers)
            )
        if self.acceptance is not None:
            found.append(self.acceptance.accept)
        return tuple(found)

    def hidden(self, turn: Turn, exact: Array, rows: Array) -> Array:
        """Return noisy answers, shape (r, size); ``exact`` may be used up."""
        return self.noise.hide(self.places(turn.owners, turn.numbers), exact, rows)

    def places(self, owners: Indices, numbers: Indices | None) -> Indices:
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


class Answers:
    """The answers of a run's replicates, one after another.

    The noise of a replicate's j-th gradient is row j of its stream ``noise``, its batch row j of
    ``batch``, its Poisson sample row j of ``sample``. An answer is one gradient, or as many as its
    owner makes steps.

    Parameters
    ----------
    reply : Reply
    replicates : sequence of Scope
        The replicates' random streams.
    size : int
        Numbers in an answer.
    local : LocalSteps, optional
        Where an answer is made of several gradients. Each has a row of its own, of each stream.
    """

    def __init__(
        self,
        reply: Reply,
        replicates: Sequence[Scope],
        size: int,
        local: LocalSteps | None = None,
    ) -> None:
        self._reply = reply
        self._local = local
        self._sent: Exact = self.noisy if local is None else _in_steps(self, local)
        self._changes = reply.changes
        self._noise = self.rows(
            reply.noise_of(replicates),
            lambda source, count: reply.noise.rows(source, count, size),
            reply.noise.width(size),
        )
        self._hidden = reply.hidden
        if reply.allotment is None:  # what the noise has is by owner
            self._hidden = lambda turn, exact, rows: reply.noise.hide(turn.owners, exact, rows)
        self._exact = _exact_over_all(reply)
        if reply.sample is not None:
            self._exact = self._exact_over(reply.sample, replicates)

    def rows(self, sources: Sequence[np.random.Generator], draw: Draw, width: int) -> Drawn:
        """Return what gives the rows that answers are drawn by, here one after another."""
        return _Rows(sources, draw, width)

    def give(self, turn: Turn, points: Array) -> Array:
        """Return the answers that the learner takes, shape (r, size)."""
        answers = self.sent(turn, points)
        for change in self._changes:
            answers = change(turn.owners, answers)
        return answers

    def sent(self, turn: Turn, points: Array) -> Array:
        """Return what owners that do not lie send, shape (r, size)."""
        return self._sent(turn, points)

    def noisy(self, turn: Turn, points: Array) -> Array:
        """Return owners' noisy gradients, shape (r, size)."""
        exact, rows = self._exact(turn, points), self._noise.following(turn.rows)
        return self._hidden(turn, exact, rows)

    def unused(self, turn: Turn, points: Array, source: np.random.Generator) -> Array:
        """Return noisy gradients of answers that went on air, and no update was made of, (r, size).

        Learning never asks for them. Each has noise of its own, from a stream of their own, so
        that what was lost moves no other answer's noise.
        """
        sample, owners = self._reply.sample, turn.owners
        if sample is None:
            exact = self._reply.gradients.gradient(owners, points)
        else:
            exact = sample.gradient(owners, points, source.random((len(owners), sample.size)))
        rows = self._reply.noise.rows(source, len(owners), exact.shape[1])
        return self._reply.hidden(turn, exact, rows)

    def _exact_over(self, sample: Sampling, replicates: Sequence[Scope]) -> Exact:
        """Return gradients over samples, whose numbers are drawn answer by answer."""
        sources = [scope.generator(sample.stream) for scope in replicates]
        draws = self.rows(sources, lambda g, count: g.random((count, sample.size)), sample.size)
        return lambda turn, points: sample.gradient(turn.owners, points, draws.following(turn.rows))


def _in_steps(answers: Answers, local: LocalSteps) -> Exact:
    def sent(turn: Turn, points: Array) -> Array:
        return local.sent(turn.owners, points, lambda at: answers.noisy(turn, at))

    return sent


def _exact_over_all(reply: Reply) -> Exact:
    return lambda turn, points: reply.gradients.gradient(turn.owners, points)


class OnceAnswers(Answers):
    """The answers of owners that draw one each, and send the same whenever they are asked again.

    Row j of a replicate's ``noise`` is that of its j-th owner to answer.
    """

    def __init__(
        self,
        reply: Reply,
        replicates: Sequence[Scope],
        size: int,
        local: LocalSteps | None = None,
    ) -> None:
        super().__init__(reply, replicates, size, local)
        shape = (len(replicates), len(reply.noise.scale))
        self._given = np.zeros(shape, dtype=np.bool_)
        self._kept = np.empty((*shape, size))

    def give(self, turn: Turn, points: Array) -> Array:
        """Return the answers that are taken, shape (r, size): new ones, or what was given."""
        rows, owners = turn.replicates, turn.owners
        new = ~self._given[rows, owners]
        if new.any():
            first = Turn(owners[new], rows=rows[new])
            self._kept[rows[new], owners[new]] = super().give(first, points[new])
            self._given[rows[new], owners[new]] = True
        return np.asarray(self._kept[rows, owners])


class _Rows:
    """Rows from every replicate's stream, drawn in blocks, each replicate at its own pace."""

    def __init__(
        self,
        sources: Sequence[np.random.Generator],
        draw: Draw,
        width: int,
    ) -> None:
        self._sources = sources
        self._draw = draw
        self._block = max(1, min(_BLOCK, _NUMBERS // (len(sources) * width)))
        self._kept = np.empty((self._block, len(sources), width))
        self._next = np.full(len(sources), self._block)
        self._at = self._block
        """The next row where all replicates go together."""

    def following(self, rows: Indices | None) -> Array:
        """Return the next row of each of these replicates; all of them where absent, always."""
        if rows is None:
            if self._at == self._block:
                self._refill(range(len(self._sources)))
                self._at = 0
            self._at += 1
            found: Array = self._kept[self._at - 1]
            return found
        spent = rows[self._next[rows] == self._block]
        if len(spent) > 0:
            self._refill(spent.tolist())
            self._next[spent] = 0
        found = self._kept[self._next[rows], rows]
        self._next[rows] += 1
        return found

    def _refill(self, replicates: Sequence[int]) -> None:
        for replicate in replicates:
            self._kept[:, replicate] = self._draw(self._sources[replicate], self._block)


__all__ = [
    "AcceptanceRule",
    "Answers",
    "Batches",
    "Draw",
    "Drawn",
    "Gradients",
    "Noise",
    "OnceAnswers",
    "Places",
    "PoissonSample",
    "Reply",
    "Sample",
    "Sampling",
]
