"""Live learning with an observer that receives every query and every answer on the air.

The observer is as strong as the claim assumes. It knows both datasets, all queries, all released
answers (lost and collided ones too), and their senders and times. What the learner and the other
owners compute from them adds nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import AnswerBatch, Array, LocalSteps
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.trace import RELEASED, ExchangeOutcome, Trace


@dataclass(frozen=True, eq=False)
class View:
    """The vectors that the observer received in one run.

    Where an answer is made of several gradients, it heard each of these, and where it was taken.

    Attributes
    ----------
    owners : array of int (m,)
        Who released each answer, from 0.
    places : array of int (m,)
        Where each stands in the noise: its owner's, or its own where an owner's answers differ.
    points : array (m, p)
        The queries.
    answers : array (m, size)
    used : int
        How many were used, in that order; the others follow.
    trace : Trace
        When.
    final : array (p,)
        The model at the end.
    local : LocalSteps, optional
        What makes an answer of several gradients.
    sent : sequence of tuple
        What it made of those that were used: whose, the query, and what was sent.
    path : array (K + 1,), optional
        Clip bounds of the rounds, where they move: the one after round k tells its noisy count.
    """

    owners: Ints
    places: Ints
    points: Array
    answers: Array
    used: int
    trace: Trace
    final: Array
    local: LocalSteps | None = None
    sent: Sequence[tuple[int, Array, Array]] = ()
    path: Array | None = None

    @property
    def bounds(self) -> Array | None:
        """The bound that each answer was clipped to, (m,), where that moves."""
        if self.path is None:
            return None
        rounds = np.full(len(self.owners), len(self.path) - 1)
        rounds[: len(self.trace.updates)] = self.trace.updates["k"] - 1
        return np.asarray(self.path[rounds])

    @property
    def times(self) -> Array:
        """How many times as large as in the first round the noise of each answer is, (m,)."""
        if self.bounds is None or self.path is None:
            return np.ones(len(self.owners))
        return np.asarray(self.bounds / self.path[0])

    @property
    def gradients(self) -> int:
        """How many gradients an answer is made of."""
        return 1 if self.local is None else self.local.count

    def otherwise(self) -> int | None:
        """Return which answer, from 1, is made of more than its own noisy gradients; None is none.

        Each is worked out anew, of its query and of the next gradients that were heard.
        """
        left = iter(self.answers[: self.used, None])
        for number, (owner, query, sent) in enumerate(self.sent, start=1):
            if self.local is None or not np.array_equal(
                _answer_from_gradients(self.local, owner, query, left), sent
            ):
                return number
        rest = self.used - len(self.sent) * self.gradients
        return len(self.sent) if rest > 0 and len(self.sent) > 0 else None


def _answer_from_gradients(
    local: LocalSteps, owner: int, query: Array, left: Iterator[Array]
) -> Array:
    """Return what an owner sends, of the gradients that are left; NaN where they are too few."""
    nothing = np.full_like(query[None], np.nan)
    batch = AnswerBatch(np.array([owner]))
    return np.asarray(local.sent(batch, query[None], lambda _: next(left, nothing).copy())[0])


class _NotedAnswers(Answers):
    """Answers that are noted when they are first sent; a repetition reveals nothing new."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.heard: list[tuple[int, int, Array, Array]] = []
        """Noisy gradients: owner, place in the noise, point and gradient."""
        self.made: list[tuple[int, Array, Array]] = []
        """Answers that are made of several gradients: owner, query and answer."""

    @override
    def new(self, batch: AnswerBatch, points: Array) -> Array:
        answers = super().new(batch, points)
        if self._local is not None:
            self.made.append((int(batch.owners[0]), points[0].copy(), answers[0].copy()))
        return answers

    @override
    def noisy_gradients(self, batch: AnswerBatch, points: Array) -> Array:
        gradients = super().noisy_gradients(batch, points)
        self._note(batch, points, gradients)
        return gradients

    def note_unused(self, batch: AnswerBatch, points: Array, source: np.random.Generator) -> None:
        """Note noisy gradients of answers that no update was made of."""

        def noted(at: Array) -> Array:
            gradients = self.unused(batch, at, source)
            self._note(batch, at, gradients)
            return gradients

        if self._local is None:
            noted(points)
        else:
            self._local.sent(batch, points, noted)

    def _note(self, batch: AnswerBatch, points: Array, gradients: Array) -> None:
        owners, places = batch.owners.tolist(), self._reply.places(batch.owners, batch.numbers)
        self.heard += zip(owners, places.tolist(), points.copy(), gradients.copy(), strict=True)


class Overhearing(LiveLearning):
    """Live learning whose answers are noted, and whose queries are kept by message."""

    def __init__(self, task: Task, replicate: Scope) -> None:
        self.points: dict[int, Array] = {}
        self.wire = _NotedAnswers(task.steps, task.reply, [replicate])
        options = (task.steps, task.reply, replicate, task.record_every, task.asks)
        super().__init__(*options, target=task.target, answers=self.wire)

    @override
    def keep(self, message: int, points: Array, read_k: int) -> None:
        super().keep(message, points, read_k)
        self.points[message] = points


def overhear(network: Network, task: Task, scope: Scope) -> View:
    """Run a scenario once, and return what an observer received.

    Answers that are not used, which nobody but the observer sees, are worked out after the run;
    see :meth:`~asyncdp_sim.learning.answers.Answers.unused`.
    """
    live = Overhearing(task, scope)
    trace = simulate(network, scope, learning=live)
    heard = live.wire.heard
    used = len(heard)
    rows = np.flatnonzero(trace.came_to(*_UNUSED))
    if trace.answers_once:  # an owner's later answers repeat its first
        before = [owner for owner, *_ in heard]
        rows = rows[~np.isin(trace.exchanges["owner"][rows] - 1, before)]
        rows = rows[np.unique(trace.exchanges["owner"][rows], return_index=True)[1]]
    if len(rows) > 0:
        unused = trace.exchanges[rows]
        owners, numbers = unused["owner"].astype(np.int64) - 1, trace.released_before[rows]
        points = np.concatenate([live.points[message] for message in unused["message"].tolist()])
        batch = AnswerBatch(owners, numbers=numbers)
        live.wire.note_unused(batch, points, scope.generator("unused"))
    path = live.trajectory()
    return View(
        np.array([owner for owner, *_ in heard], dtype=np.int64),
        np.array([place for _, place, *_ in heard], dtype=np.int64),
        np.array([entry[2] for entry in heard]).reshape(len(heard), task.steps.n_features),
        np.array([entry[3] for entry in heard]).reshape(len(heard), task.steps.answer_size),
        used,
        trace,
        path.final[0],
        task.reply.hidden_steps(task.steps.local),
        live.wire.made,
        None if path.bounds is None else path.bounds[:, 0],
    )


_USED = (ExchangeOutcome.applied, ExchangeOutcome.buffered)
_UNUSED = [outcome for outcome in RELEASED if outcome not in _USED]
"""What may become of an answer that was released and that learning never asked for."""
