"""Owners' answers to queries: a gradient, clipped, with noise.

In round t each answer is clipped to Ξ_t, and its owner sends a vote: ½ where its answer was at most
Ξ_t long, −½ where it was longer, 0 where it is nothing. Of m votes with sum S,
b̄ = (S + N(0, σ²))/m + ½ is the noisy share of answers within the bound, and
Ξ_{t+1} = Ξ_t exp(−rate (b̄ − quantile)) (Andrew, Thakkar, McMahan, Ramaswamy 2021).

:class:`AnswerModel` says how owners answer, :class:`Answers` draws their answers in a run. The
noise of an answer is drawn when the answer is used.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import (
    Algorithm,
    AnswerBatch,
    Array,
    CellRows,
    Gradients,
    LocalSteps,
)
from asyncdp_sim.learning.objectives import Norm, Records

if TYPE_CHECKING:
    from asyncdp_sim.learning.replay import CellParts  # the samples of several cells

_FARTHEST = 300.0
"""Largest |ln Ξ_t/Ξ_1|: answers clipped to such a bound have finite squares."""


def clipped(answers: Array, bounds: Array | float, norm: Norm) -> Array:
    """Return a min(1, B/‖a‖) for each row, shape (r, p); what is not finite counts as zero."""
    finite, lengths = _lengths(answers, norm)
    with np.errstate(over="ignore"):
        share = bounds / np.maximum(lengths, bounds)
    return np.asarray(finite * share[:, None])


def _lengths(answers: Array, norm: Norm) -> tuple[Array, Array]:
    """Return answers with zeros for what is not finite, and ‖a‖ of each row."""
    finite = np.where(np.isfinite(answers).all(axis=1, keepdims=True), answers, 0.0)
    with np.errstate(over="ignore"):
        sizes = np.abs(finite) if norm == "l1" else np.square(finite)
        lengths = sizes.sum(axis=1) if norm == "l1" else np.sqrt(sizes.sum(axis=1))
    return finite, lengths


@dataclass(frozen=True, eq=False)
class AdaptiveBound:
    """The numbers by which a clip bound moves; by row, where those of several cells do.

    Attributes
    ----------
    start, quantile, rate : float
        Ξ_1, the share of answers that are to be within the bound, and how fast it moves.
    noise : float
        σ, the standard deviation of the noise on the sum of votes.
    norm : str
    """

    start: float | Array
    quantile: float | Array
    rate: float | Array
    noise: float | Array
    norm: Norm

    by_row: ClassVar[tuple[str, ...]] = ("start", "quantile", "rate", "noise")

    def clip(self, answers: Array, bounds: Array) -> tuple[Array, Array]:
        """Return answers (r, p), each clipped to its bound, and their votes (r,)."""
        _, lengths = _lengths(answers, self.norm)
        votes = np.where(lengths <= bounds, 0.5, -0.5)
        return clipped(answers, bounds, self.norm), np.where(lengths == 0, 0.0, votes)


class ClipBounds:
    """The bounds of a run's replicates, from round to round.

    Parameters
    ----------
    law : AdaptiveBound
    rows : int
        Replicates, of all cells.
    """

    def __init__(self, law: AdaptiveBound, rows: int) -> None:
        self._law = law
        self._start, self._quantile, self._rate, self._noise = (
            np.broadcast_to(np.ravel(getattr(law, name)), rows) for name in law.by_row
        )
        self._walked = np.zeros(rows)
        self._times = np.ones(rows)
        self._votes = np.zeros(rows)
        self._owners = np.zeros(rows)
        self._path = [self._start.copy()]

    @property
    def path(self) -> Array:
        """Ξ_1, Ξ_2, … of every replicate, shape (rounds + 1, rows)."""
        return np.stack(self._path)

    def clip(self, rows: Ints, answers: Array, *, counted: bool = True) -> tuple[Array, Array]:
        """Return the answers (r, p) of these rows, clipped to Ξ_t, and Ξ_t/Ξ_1, shape (r, 1).

        An answer that is not ``counted`` does not move the bound of the next round.
        """
        answers, votes = self._law.clip(answers, self._path[-1][rows])
        if counted:
            self._votes[rows] += votes
            self._owners[rows] += 1
        return answers, self._times[rows, None]

    def end_round(self, rows: Ints | None, noise: Array) -> None:
        """Move the bounds of these rows (None: all), by their counts and N(0, 1) ``noise`` (r,)."""
        at = np.arange(len(self._votes)) if rows is None else rows
        votes = self._votes[at] + self._noise[at] * noise
        share = votes / self._owners[at] + 0.5
        self._walked[at] -= self._rate[at] * (share - self._quantile[at])
        self._walked[at] = np.clip(self._walked[at], -_FARTHEST, _FARTHEST)
        self._times[at] = [exp(walked) for walked in self._walked[at].tolist()]
        self._votes[at], self._owners[at] = 0.0, 0.0
        self._path.append(self._start * self._times)


Shape = Literal["vector", "scalar-as-published"]


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
    added: ClassVar[str | None] = None
    """Name of the law of w, if an answer is g + ``scale`` w with w a row; None for other noise.

    Two noises with the same law draw the same rows from the same streams.
    """
    scale: Array
    shape: Shape = "vector"

    @property
    @abstractmethod
    def variance(self) -> Array:
        """Variance of each coordinate of each owner's noise, shape (N,)."""

    @property
    def figures(self) -> dict[str, Array]:
        """The scale of the noise by its name in words: one number per owner, (N,)."""
        return {} if self.figure is None else {self.figure: self.scale}

    def width(self, size: int) -> int:
        """Return how many random numbers an answer of ``size`` numbers takes."""
        return size

    @abstractmethod
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        """Return the random numbers of the next ``count`` answers, shape (count, width)."""

    def drawing(self, size: int) -> Callable[[np.random.Generator, int], Array]:
        """Return a function of a stream and a count, to the stream's next rows (count, width)."""
        return lambda generator, count: self.rows(generator, count, size)

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return noisy answers, shape (r, size); ``gradients`` may be overwritten.

        By default each answer is its gradient plus ``scale`` times its row.
        """
        gradients += rows * self.scale.take(owners)[:, None]
        return gradients

    def drawn(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        """Return the noise in answers to these gradients, divided by the scale, shape (r, size)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((answers - gradients) / self.scale[owners, None])

    @abstractmethod
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        """Return ln p(answer | gradient), shape (r,); −∞ if the answer is impossible."""


class Places(Protocol):
    """Places of answers in the noise, where scales differ between the answers of one owner."""

    def places(self, owners: Ints, numbers: Ints) -> Ints:
        """Return places (r,), from the owners and how many answers each had released before."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Gradients over some of an owner's records, which are drawn anew for each gradient.

    Attributes
    ----------
    records : Records
    size : int
        Random numbers in [0, 1) for each gradient: one for each of so many records, drawn with
        replacement; or one for each record of the largest owner.
    probability : float, optional
        q in (0, 1): each record is included with it, independently. The sum of gradients is divided
        by q n_i, however many records are drawn. Absent, records are drawn with replacement.
    """

    records: Records
    size: int
    probability: float | None = None

    @property
    def stream(self) -> str:
        """Name of the random stream."""
        return "batch" if self.probability is None else "sample"

    def gradient(self, owners: Ints, points: Array, draws: Array) -> Array:
        """Return gradients (r, p) over the records that ``draws`` (r, size) choose."""
        if self.probability is None:
            return self.records.sampled(owners, points, draws)
        return self.records.included(owners, points, draws, self.probability)


@dataclass(frozen=True, eq=False)
class WholeAnswers:
    """Answers that are clipped as a whole: a gradient, or the sum of an owner's local steps.

    Attributes
    ----------
    gradients : Gradients
    bound : float or None
        Ξ; None where the bound moves from round to round, and :class:`Answers` clips.
    norm : str
    local : LocalSteps, optional
        An owner's steps along its own exact gradients, before it answers.
    """

    gradients: Gradients
    bound: float | None
    norm: Norm
    local: LocalSteps | None = None

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return the answers, shape (r, p); the bits of a row do not depend on the other rows."""
        if self.local is None:
            answers = self.gradients.gradient(owners, points)
        else:
            batch = AnswerBatch(owners)
            answers = self.local.sent(batch, points, lambda at: self.gradients.gradient(owners, at))
        return answers if self.bound is None else clipped(answers, self.bound, self.norm)


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """The owners' answers to a query: at θ owner i sends ∇f_i(θ) + noise.

    Attributes
    ----------
    gradients : Gradients
        ∇f_i over all of the owner's records, each record's gradient clipped where that is asked.
    noise : AnswerNoise
        One row of random numbers is drawn for each answer.
    sample : Sample, optional
        Present where ∇f_i is over some of the owner's records, drawn anew for each answer.
    allotment : Places, optional
        Present where the noise of an owner's answers differs: the place of each in ``noise``.
    copy : int
        The number of this copy of the algorithm, from 1, where several run over the same records;
        else 0. Copies have noise of their own: if two answers had the same noise, their difference
        would reveal a difference of gradients exactly.
    whole : bool
        Whether ``gradients`` are whole answers, after an owner's local steps: noise is added once.
    bound : AdaptiveBound, optional
        Present where the clip bound moves from round to round. ``noise`` is that of the first
        round: it grows and shrinks with the bound.
    """

    gradients: Gradients
    noise: AnswerNoise
    sample: "Sample | CellParts | None" = None
    allotment: Places | None = None
    copy: int = 0
    whole: bool = False
    bound: AdaptiveBound | None = None

    def exact(self, owners: Ints, points: Array, bounds: Array | None = None) -> Array:
        """Return answers (r, p) over all records, before noise.

        Where the clip bound moves, ``bounds`` (r,) are the bounds of these answers' rounds.
        """
        exact = self.gradients.gradient(owners, points)
        if self.bound is None or bounds is None:
            return exact
        return self.bound.clip(exact, bounds)[0]

    def hidden_steps(self, local: LocalSteps | None) -> LocalSteps | None:
        """Return the local steps, if each of their gradients has noise; else None."""
        return None if self.whole else local

    def places(self, owners: Ints, numbers: Ints | None) -> Ints:
        """Return the places of answers in ``noise``, shape (r,): their owners, unless allotted.

        Parameters
        ----------
        owners, numbers : array of int (r,)
            Each answer's owner, and how many that owner had released before, both from 0.

        Raises
        ------
        ValueError
            If noise depends on an answer's number, and ``numbers`` is None.
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


Draw = Callable[[np.random.Generator, int], Array]
"""From a stream and a count to its next rows (count, width)."""

_BLOCK = 512
"""Rows drawn at a time at most; does not change their values."""
_MOST_NUMBERS = 2**21
"""Numbers drawn at a time at most (16 MiB), unless one row of each replicate has more."""


class DrawnRows:
    """Rows of random numbers from every replicate's stream, each replicate at its own pace.

    Rows are drawn in blocks, whose size does not change their values. Several cells use the same
    rows: what is drawn for the replicates is repeated for each cell.

    Parameters
    ----------
    sources : sequence of Generator
        One stream of each replicate.
    draw : callable
        From a stream and a count to its next rows, (count, width).
    width : int
        Numbers in a row.
    cells : int
        C.
    """

    def __init__(
        self, sources: Sequence[np.random.Generator], draw: Draw, width: int, cells: int
    ) -> None:
        self._cells = cells
        self._sources = sources
        self._draw = draw
        self._block = max(1, min(_BLOCK, _MOST_NUMBERS // (len(sources) * width)))
        self._kept = np.empty((self._block, len(sources), width))
        self._next = np.full(len(sources), self._block)
        self._next_of_all = self._block

    def following(self, rows: Ints | None) -> Array:
        """Return the next row of each of these replicates (of all cells), shape (r, width).

        A run asks either for all replicates every time, which is ``rows`` = None, or never.
        """
        if self._cells == 1:
            return self._of_one_cell(rows)
        first = None if rows is None else rows[: len(rows) // self._cells]
        return np.tile(self._of_one_cell(first), (self._cells, 1))

    def _of_one_cell(self, rows: Ints | None) -> Array:
        if rows is None:
            if self._next_of_all == self._block:
                self._refill(range(len(self._sources)))
                self._next_of_all = 0
            self._next_of_all += 1
            drawn: Array = self._kept[self._next_of_all - 1]
            return drawn
        spent = rows[self._next[rows] == self._block]
        if len(spent) > 0:
            self._refill(spent.tolist())
            self._next[spent] = 0
        drawn = self._kept[self._next[rows], rows]
        self._next[rows] += 1
        return drawn

    def _refill(self, replicates: Sequence[int]) -> None:
        for replicate in replicates:
            self._kept[:, replicate] = self._draw(self._sources[replicate], self._block)


class Answers:
    """The answers of a run's replicates, one batch after another: gradient, clip, noise.

    Row j of a replicate's stream ``noise`` is the noise of its j-th gradient, row j of ``batch`` or
    ``sample`` says which records that gradient is over, and row k of ``count`` is the noise on the
    count of its k-th round. With several servers the order in which all owners answer is not
    defined: each owner h then has streams of its own, within ``("client", h)``, and row j is that
    of its own j-th gradient.

    Parameters
    ----------
    steps : Algorithm
        It says how many numbers an answer has, and which local steps an owner takes; whether an
        owner draws one answer and repeats it whenever it is asked again, and whether every owner
        has random streams of its own.
    reply : AnswerModel
        The gradients, the clip bound where it moves, and the noise. With several cells, what it
        has by owner is by place: cN + i for owner i of cell c.
    replicates : sequence of Scope
        The replicates' random streams, which all cells share.
    cells : CellRows, optional
        The rows that answer, where several cells do.

    Attributes
    ----------
    bounds : ClipBounds or None
        The bounds that answers are clipped to, where they move from round to round.
    """

    def __init__(
        self,
        steps: Algorithm,
        reply: AnswerModel,
        replicates: Sequence[Scope],
        cells: CellRows | None = None,
    ) -> None:
        self._reply = reply
        self._size = size = steps.answer_size
        self._local = reply.hidden_steps(steps.local)
        self._once, self._several_servers = steps.answers_once, steps.several_servers
        self._cells = cells or CellRows(1, len(replicates), len(reply.noise.scale))
        count, rows = self._cells.cells, self._cells.cells * self._cells.replicates
        streams = replicates
        if self._several_servers:
            owners = range(1, self._cells.owners + 1)
            streams = [scope.within("client", h) for scope in replicates for h in owners]
        self._noise = DrawnRows(
            reply.noise_of(streams), reply.noise.drawing(size), reply.noise.width(size), count
        )
        if reply.sample is not None:
            drawn = reply.sample.size
            sources = [scope.generator(reply.sample.stream) for scope in streams]
            self._samples = DrawnRows(sources, lambda g, n: g.random((n, drawn)), drawn, count)
        self.bounds: ClipBounds | None = None
        if reply.bound is not None:
            self.bounds = ClipBounds(reply.bound, rows)
            sources = [scope.generator("count") for scope in streams]
            self._counts = DrawnRows(sources, lambda g, n: g.standard_normal((n, 1)), 1, count)
        if self._once:
            self._has_answered = np.zeros((rows, self._cells.owners), dtype=np.bool_)
            self._first_answers = np.empty((rows, self._cells.owners, size))

    def give(self, batch: AnswerBatch, points: Array) -> Array:
        """Return the answers that owners send to queries ``points`` (r, p), shape (r, size).

        An owner that answers only once sends its first answer again whenever it is asked again.
        """
        if not self._once:
            return self.new(batch, points)
        rows, owners = batch.replicates, batch.owners
        first = ~self._has_answered[rows, owners]
        if first.any():
            asked = AnswerBatch(owners[first], rows=rows[first])
            self._first_answers[rows[first], owners[first]] = self.new(asked, points[first])
            self._has_answered[rows[first], owners[first]] = True
        return np.asarray(self._first_answers[rows, owners])

    def new(self, batch: AnswerBatch, points: Array) -> Array:
        """Return new answers, shape (r, size): noisy gradients, or local steps along them."""
        if self._local is None:
            return self.noisy_gradients(batch, points)
        return self._local.sent(batch, points, lambda at: self.noisy_gradients(batch, at))

    def noisy_gradients(self, batch: AnswerBatch, points: Array) -> Array:
        """Return one gradient of each owner at its point, with the next noise, shape (r, size)."""
        streams = batch.rows
        if self._several_servers:
            streams = batch.replicates * self._cells.owners + batch.owners
        sample = None
        if self._reply.sample is not None:
            sample = self._samples.following(streams)
        noise = self._noise.following(streams)
        return self._gradient_clip_noise(batch, points, sample, noise)

    def unused(self, batch: AnswerBatch, points: Array, source: np.random.Generator) -> Array:
        """Return noisy gradients of answers that were sent but never used, shape (r, size).

        Learning never asks for them; an observer does. Their noise comes from a stream of its own,
        so that the noise of all other answers stays the same.
        """
        count, sample = len(batch.owners), None
        if self._reply.sample is not None:
            sample = source.random((count, self._reply.sample.size))
        noise = self._reply.noise.rows(source, count, self._size)
        return self._gradient_clip_noise(batch, points, sample, noise, counted=False)

    def _gradient_clip_noise(
        self,
        batch: AnswerBatch,
        points: Array,
        sample: Array | None,
        noise: Array,
        *,
        counted: bool = True,
    ) -> Array:
        """Return noisy gradients over these samples of records (all where None), (r, size)."""
        owners, reply = self._cells.places(batch), self._reply
        # A bound that stays the same is part of the gradient: the norm of each record's gradient
        # is at most C (Records.gradient), or that of an owner's whole answer (WholeAnswers).
        if reply.sample is None or sample is None:
            gradients = reply.gradients.gradient(owners, points)
        else:
            gradients = reply.sample.gradient(owners, points, sample)
        if self.bounds is not None:  # noise grows and shrinks with a bound that moves
            gradients, growth = self.bounds.clip(batch.replicates, gradients, counted=counted)
            noise = noise * growth
        return reply.noise.add_noise(reply.places(owners, batch.numbers), gradients, noise)

    def end_round(self, rows: Ints | None) -> None:
        """Move the clip bounds, if they move, after an update of these replicates (None: all)."""
        if self.bounds is not None:
            self.bounds.end_round(rows, self._counts.following(rows)[:, 0])


def apply_answers(
    steps: Algorithm,
    state: Any,
    batch: AnswerBatch,
    points: Array,
    answers: Answers,
    current: Array | None = None,
) -> None:
    """Let owners answer the queries ``points`` (r, p), and the algorithm use the answers.

    Parameters
    ----------
    steps, state
        The algorithm, and its state.
    batch : AnswerBatch
        The owners that answer.
    points : array (r, p)
        The queries as they were read.
    answers : Answers
    current : array (r, p), optional
        The queries as the state has them now, if they are known.
    """
    taken = answers.give(batch, points)
    if steps.apply_at == "current":
        points = steps.query(state, batch) if current is None else current
    if steps.answers_once:  # a partner may have to make its only answer now
        also = steps.partners(state, batch)
        if also is not None:
            steps.put_in(state, also, answers.give(also, steps.query(state, also)))
    steps.apply(state, batch, points, taken)
