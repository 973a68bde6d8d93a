"""Owners' answers, one after another: rows of random numbers, and what is sent with them.

The noise of an answer is drawn when it is used.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import Algorithm, AnswerBatch, Array, CellRows, LocalSteps
from asyncdp_sim.learning.clipping import ClipBounds, DrawnRows
from asyncdp_sim.learning.reply import AnswerModel, Sampling

Exact = Callable[[AnswerBatch, Array], Array]
"""From who answers, and queries (r, p), to the exact gradients (r, p)."""
Draw = Callable[[np.random.Generator, int], Array]
"""From a stream and a count to its next rows (count, width)."""

_BLOCK = 512
"""Rows drawn at a time at most; does not change their values."""
_NUMBERS = 2**21
"""Numbers drawn at a time at most, unless one row of each replicate has more."""


class Answers:
    """The answers of a run's replicates, one after another.

    The noise of a replicate's j-th gradient is row j of its stream ``noise``, its batch row j of
    ``batch``, its Poisson sample row j of ``sample``. An answer is one gradient, or as many as its
    owner makes steps.

    Parameters
    ----------
    reply : AnswerModel
    replicates : sequence of Scope
        The replicates' random streams.
    size : int
        Numbers in an answer.
    local : LocalSteps, optional
        Where an answer is made of several gradients. Each has a row of its own, of each stream.
    rows_of : CellRows, optional
        The rows, where those of several cells answer; the same rows of streams are for each cell.
        What ``reply`` has by owner is then by place, cN + i for owner i of cell c.
    """

    bounds: ClipBounds | None = None
    """The clip bounds, where they move from round to round."""

    def __init__(
        self,
        reply: AnswerModel,
        replicates: Sequence[Scope],
        size: int,
        local: LocalSteps | None = None,
        rows_of: CellRows | None = None,
    ) -> None:
        self._reply = reply
        self._rows_of = rows_of
        self._places = owners_of if rows_of is None else rows_of.places
        self._local = local
        self._sent: Exact = self.noisy if local is None else _in_steps(self, local)
        self._noise = self.rows(
            reply.noise_of(replicates),
            reply.noise.drawing(size),
            reply.noise.width(size),
        )
        self._in_noise = self._places if reply.allotment is None else self._numbered
        self._exact: Exact = self._exact_over_all
        if reply.sample is not None:
            self._exact = self._exact_over(reply.sample, replicates)

    def rows(self, sources: Sequence[np.random.Generator], draw: Draw, width: int) -> DrawnRows:
        """Return what gives the rows that answers are drawn by, here one after another."""
        return _Rows(sources, draw, width, 1 if self._rows_of is None else self._rows_of.cells)

    def _numbered(self, turn: AnswerBatch) -> Ints:
        """Return where the answers of a turn stand in noise that differs from answer to answer."""
        return self._reply.places(self._places(turn), turn.numbers)

    def _stream_rows(self, turn: AnswerBatch) -> Ints | None:
        """Return the streams that a turn draws from, by their numbers; None is all of them."""
        return turn.rows

    def give(self, turn: AnswerBatch, points: Array) -> Array:
        """Return the answers that owners send, and the learner takes, shape (r, size)."""
        return self._sent(turn, points)

    def noisy(self, turn: AnswerBatch, points: Array) -> Array:
        """Return owners' noisy gradients, shape (r, size)."""
        exact, rows = self._exact(turn, points), self._noise.following(self._stream_rows(turn))
        return self._reply.noise.add_noise(self._in_noise(turn), exact, rows)

    def end_round(self, rows: Ints | None) -> None:
        """Note that an update of these replicates (absent: all) is complete."""

    def unused(self, turn: AnswerBatch, points: Array, source: np.random.Generator) -> Array:
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
        return self._reply.noise.add_noise(self._in_noise(turn), exact, rows)

    def _exact_over_all(self, turn: AnswerBatch, points: Array) -> Array:
        return self._reply.gradients.gradient(self._places(turn), points)

    def _exact_over(self, sample: Sampling, replicates: Sequence[Scope]) -> Exact:
        """Return gradients over samples, whose numbers are drawn answer by answer."""
        sources = [scope.generator(sample.stream) for scope in replicates]
        draws = self.rows(sources, lambda g, count: g.random((count, sample.size)), sample.size)

        def exact(turn: AnswerBatch, points: Array) -> Array:
            drawn = draws.following(self._stream_rows(turn))
            return sample.gradient(self._places(turn), points, drawn)

        return exact


def owners_of(turn: AnswerBatch) -> Ints:
    """Return where the owners of one cell stand in its reply."""
    return turn.owners


def _in_steps(answers: Answers, local: LocalSteps) -> Exact:
    def sent(turn: AnswerBatch, points: Array) -> Array:
        return local.sent(turn, points, lambda at: answers.noisy(turn, at))

    return sent


class BoundedAnswers(Answers):
    """Answers of whole owners to a clip bound that moves: each is clipped, counted, and noised so.

    Row k of a replicate's ``count`` is the noise on the count of its k-th round.
    """

    bounds: ClipBounds

    def __init__(
        self,
        reply: AnswerModel,
        replicates: Sequence[Scope],
        size: int,
        local: LocalSteps | None = None,
        rows_of: CellRows | None = None,
    ) -> None:
        super().__init__(reply, replicates, size, local, rows_of)
        if reply.bound is None:
            raise TypeError("the clip bound stays as it is")
        counts = [scope.generator("count") for scope in replicates]
        drawn = self.rows(counts, lambda g, count: g.standard_normal((count, 1)), 1)
        rows = len(replicates) * (1 if rows_of is None else rows_of.cells)
        self.bounds = ClipBounds(reply.bound, drawn, rows)

    @override
    def noisy(self, turn: AnswerBatch, points: Array) -> Array:
        exact, times = self.bounds.clip(turn.replicates, self._exact(turn, points))
        rows = self._noise.following(self._stream_rows(turn)) * times
        return self._reply.noise.add_noise(self._in_noise(turn), exact, rows)

    @override
    def end_round(self, rows: Ints | None) -> None:
        self.bounds.end_round(rows)

    @override
    def unused(self, turn: AnswerBatch, points: Array, source: np.random.Generator) -> Array:
        exact = self._reply.gradients.gradient(turn.owners, points)
        exact, times = self.bounds.clip(turn.replicates, exact, counted=False)
        rows = self._reply.noise.rows(source, len(turn.owners), exact.shape[1]) * times
        return self._reply.noise.add_noise(self._in_noise(turn), exact, rows)


class OnceAnswers(Answers):
    """The answers of owners that draw one each, and send the same whenever they are asked again.

    Row j of a replicate's ``noise`` is that of its j-th owner to answer.
    """

    def __init__(
        self,
        reply: AnswerModel,
        replicates: Sequence[Scope],
        size: int,
        local: LocalSteps | None = None,
        rows_of: CellRows | None = None,
    ) -> None:
        super().__init__(reply, replicates, size, local, rows_of)
        shape = (len(replicates), len(reply.noise.scale))
        if rows_of is not None:
            shape = (rows_of.cells * rows_of.replicates, rows_of.owners)
        self._given = np.zeros(shape, dtype=np.bool_)
        self._kept = np.empty((*shape, size))

    def give(self, turn: AnswerBatch, points: Array) -> Array:
        """Return the answers, shape (r, size): new ones, or what was given."""
        rows, owners = turn.replicates, turn.owners
        new = ~self._given[rows, owners]
        if new.any():
            first = AnswerBatch(owners[new], rows=rows[new])
            self._kept[rows[new], owners[new]] = super().give(first, points[new])
            self._given[rows[new], owners[new]] = True
        return np.asarray(self._kept[rows, owners])


class _Rows:
    """Rows from every replicate's stream, drawn in blocks, each replicate at its own pace.

    Several cells have the same rows: each request is made for all of them, one after another.
    """

    def __init__(
        self, sources: Sequence[np.random.Generator], draw: Draw, width: int, cells: int
    ) -> None:
        self._cells = cells
        self._sources = sources
        self._draw = draw
        self._block = max(1, min(_BLOCK, _NUMBERS // (len(sources) * width)))
        self._kept = np.empty((self._block, len(sources), width))
        self._next = np.full(len(sources), self._block)
        self._at = self._block
        """The next row where all replicates go together."""

    def following(self, rows: Ints | None) -> Array:
        """Return the next row of each of these replicates; all of them where absent, always."""
        if self._cells == 1:
            return self._following(rows)
        first = None if rows is None else rows[: len(rows) // self._cells]
        return np.tile(self._following(first), (self._cells, 1))

    def _following(self, rows: Ints | None) -> Array:
        if rows is None:
            if self._at == self._block:
                self._refill(range(len(self._sources)))
                self._at = 0
            self._at += 1
            drawn: Array = self._kept[self._at - 1]
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


class OwnAnswers(Answers):
    """The answers of owners that have a stream each: the order of answers does not matter.

    Row j of owner h's ``("client", h, "batch")`` and ``"noise"`` is that of its own j-th answer:
    with several servers, the order in which all owners answer is nobody's to say.
    """

    def __init__(
        self,
        reply: AnswerModel,
        replicates: Sequence[Scope],
        size: int,
        rows_of: CellRows | None = None,
    ) -> None:
        self._n_owners = len(reply.noise.scale) if rows_of is None else rows_of.owners
        owners = range(1, self._n_owners + 1)
        streams = [s.within("client", h) for s in replicates for h in owners]
        super().__init__(reply, streams, size, rows_of=rows_of)

    @override
    def _stream_rows(self, turn: AnswerBatch) -> Ints:
        return turn.replicates * self._n_owners + turn.owners


def answers_of(
    steps: Algorithm,
    reply: AnswerModel,
    replicates: Sequence[Scope],
    rows_of: CellRows | None = None,
) -> Answers:
    """Return what gives the owners' answers to an algorithm, in one cell or several."""
    if steps.several_servers:
        return OwnAnswers(reply, replicates, steps.answer_size, rows_of)
    kind: type[Answers] = OnceAnswers if steps.answers_once else Answers
    if reply.bound is not None:
        kind = BoundedAnswers
    local = reply.hidden_steps(steps.local)
    return kind(reply, replicates, steps.answer_size, local, rows_of)


def add_reserved_answers(steps: Algorithm, state: Any, turn: AnswerBatch, answers: Answers) -> None:
    """Let an algorithm take what else this turn needs: answers that did not arrive in it."""
    also = steps.besides(state, turn)
    if also is not None:
        steps.put_in(state, also, answers.give(also, steps.query(state, also)))
