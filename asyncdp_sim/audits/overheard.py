"""Live learning with somebody who hears every query and every answer on the air.

The observer is as strong as the claim has it: it knows both datasets, all queries, all answers that
were released, lost and collided ones too, who sent them and when, and whatever learner and other
owners do with them, which adds nothing. Lies and the learner's acceptance come after.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms import Array, Turn
from asyncdp_sim.learning.answers import Answers, OnceAnswers, Reply
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import RELEASED, ExchangeOutcome, Trace


@dataclass(frozen=True, eq=False)
class View:
    """What the observer heard in one run.

    Attributes
    ----------
    owners : array of int (m,)
        Who released each answer, from 0.
    points : array (m, p)
        The queries.
    answers : array (m, size)
    used : int
        How many were used, in that order; the others follow.
    trace : Trace
        When.
    final : array (p,)
        The model at the end.
    """

    owners: npt.NDArray[np.int64]
    points: Array
    answers: Array
    used: int
    trace: Trace
    final: Array


class _Noting(Answers):
    """Answers, noted when they are first sent."""

    def __init__(self, reply: Reply, replicates: Sequence[Scope], size: int) -> None:
        super().__init__(reply, replicates, size)
        self.heard: list[tuple[int, Array, Array]] = []

    def noisy(self, turn: Turn, points: Array) -> Array:
        """Return what owners send, and note it."""
        found = super().noisy(turn, points)
        self.heard.append((int(turn.owners[0]), points[0].copy(), found[0].copy()))
        return found


class _NotingOnce(OnceAnswers, _Noting):
    """Answers that are given once, noted then; what is the same again adds nothing."""


class Overhearing(LiveLearning):
    """Live learning, whose queries are kept by message."""

    def __init__(self, task: Task, replicate: Scope) -> None:
        self.points: dict[int, Array] = {}
        how = (task.steps, task.reply, replicate, task.record_every, task.asks)
        super().__init__(*how, trigger=task.trigger, target=task.target)

    def answers(self, reply: Reply, replicate: Scope) -> Answers:
        """Return what gives answers and notes them."""
        kind = _NotingOnce if self._steps.answers_once else _Noting
        self.wire = kind(reply, [replicate], self._steps.answer_size)
        return self.wire

    def read(self, owner: int, message: int, peer: int = 0) -> None:
        """Form a query, and keep it."""
        super().read(owner, message, peer)
        self.points[message] = self._asked[message][0]

    def take(self, owner: int, message: int, sent: object) -> None:
        """Form a query from what was broadcast, and keep it."""
        super().take(owner, message, sent)
        self.points[message] = self._asked[message][0]

    def again(self, message: int, former: int) -> None:
        """Ask once more, and keep that."""
        super().again(message, former)
        self.points[message] = self._asked[message][0]


def overhear(network: Network, task: Task, scope: Scope) -> View:
    """Run a scenario once, and return what an observer heard.

    Answers that are not used, which nobody but the observer sees, are worked out after the run;
    see :meth:`~asyncdp_sim.learning.answers.Answers.unused`.
    """
    live = Overhearing(task, scope)
    trace = simulate(network, scope, learning=live)
    heard = live.wire.heard
    unused = trace.exchanges[trace.came_to(*_UNUSED)]
    if trace.answers_once:  # whoever was heard before has sent the same again
        before = np.isin(unused["owner"] - 1, [owner for owner, _, _ in heard])
        unused = unused[~before]
    if len(unused) > 0:
        owners = unused["owner"].astype(np.int64) - 1
        points = np.concatenate([live.points[message] for message in unused["message"].tolist()])
        found = live.wire.unused(owners, points, scope.generator("unused"))
        heard = [*heard, *zip(owners.tolist(), points, found, strict=True)]
    return View(
        np.array([owner for owner, _, _ in heard], dtype=np.int64),
        np.array([point for _, point, _ in heard]).reshape(len(heard), task.steps.n_features),
        np.array([answer for _, _, answer in heard]).reshape(len(heard), task.steps.answer_size),
        len(live.wire.heard),
        trace,
        live.trajectory().final[0],
    )


_UNUSED = [
    outcome
    for outcome in RELEASED
    if outcome not in (ExchangeOutcome.applied, ExchangeOutcome.buffered)
]
"""What may become of an answer that was released and that learning never asked for."""
