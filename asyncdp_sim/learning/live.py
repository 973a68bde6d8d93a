"""Learning inside the simulation, which replay must equal."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import Algorithm, AnswerBatch, Array, Asks
from asyncdp_sim.learning.answers import AnswerModel, Answers, apply_answers
from asyncdp_sim.learning.objectives import Objective
from asyncdp_sim.learning.objectives.records import GradientMonitor
from asyncdp_sim.learning.recording import Reads, Trajectory
from asyncdp_sim.network.learner import Learning
from asyncdp_sim.trace import Trace

_BATCHES = 1024
"""Most batches that are kept for use again."""


@dataclass(frozen=True, eq=False)
class Target:
    """A model's quality at which its run ends.

    Attributes
    ----------
    objective : Objective
    psi : float
        Relative fitness, > 0.
    """

    objective: Objective
    psi: float

    def met(self, central: Array) -> bool:
        """Return whether ψ(θ_L) ≤ psi; ``central`` has shape (1, p)."""
        return bool(self.objective.excess(central)[0] / self.objective.least <= self.psi)


class LiveLearning(Learning):
    """Trains one replicate while its network runs.

    Where there are several servers, a query is formed from the model that its server then has, and
    every server steps at the tick at which it does in the network.

    Parameters
    ----------
    steps, reply
        The algorithm, and how owners answer.
    replicate : Scope
        The replicate's random streams.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    asks : str
        Where gradients are taken.
    target : Target, optional
        The quality at which the run ends.
    watch : GradientMonitor, optional
        Receives the queries that were answered, once the run is over: see :meth:`show`.
    answers : Answers, optional
        The owners' answers; absent, those that the algorithm needs.
    """

    def __init__(
        self,
        steps: Algorithm,
        reply: AnswerModel,
        replicate: Scope,
        record_every: int,
        asks: Asks = "average",
        *,
        target: Target | None = None,
        watch: GradientMonitor | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._steps = steps
        self._asks = asks
        self._answers = answers or Answers(steps, reply, [replicate])
        self._rows: Ints | None = np.zeros(1, dtype=np.int64)
        if steps.answers_per_update is not None:
            self._rows = None
        self._target = target
        self._record_every = record_every
        self._state = steps.init([replicate])
        self._queries: dict[int, tuple[Array, int]] = {}
        """By message: the query that is not answered yet, and the updates made when it was read"""
        self._watch = watch
        self._watched: dict[int, Array] = {}
        """By message: every query, where there is a monitor"""
        self._numbered = reply.allotment is not None
        self._released: dict[int, int] = {}
        """By owner: how many answers it has released, where noise depends on that"""
        self._numbers: dict[int, int] = {}
        """By message: how many answers its owner had released before"""
        self._updates = 0
        self._models = [self._state.central.copy()]
        self._batches: dict[tuple[int, int, int, int], AnswerBatch] = {}

    def read(self, owner: int, message: int, peer: int = 0) -> None:
        """Form the query for an owner (from 1) from the model as it is now."""
        points = self._steps.asked(self._state, self._batch(owner, peer), self._asks)
        self.keep(message, points, self._updates)

    def broadcast(self) -> object:
        """Return the state as it is now, and k."""
        return copy.deepcopy(self._state), self._updates

    def take(self, owner: int, message: int, sent: Any) -> None:
        """Form the query of this message from the state that was broadcast."""
        state, read_k = sent
        self.keep(message, self._steps.asked(state, self._batch(owner), self._asks), read_k)

    def again(self, message: int, former: int) -> None:
        """Form the query of this message as a copy of the former one's."""
        self.keep(message, *self._queries[former])

    def keep(self, message: int, points: Array, read_k: int) -> None:
        """Keep the query (1, p) of a message, read after ``read_k`` updates, until it is used."""
        self._queries[message] = points, read_k
        if self._watch is not None:
            self._watched[message] = points.copy()

    def forget(self, message: int) -> None:
        """Drop a query that will not be answered."""
        del self._queries[message]
        self._numbers.pop(message, None)

    def release(self, owner: int, message: int) -> None:
        """Count the answer to this query among those that its owner releases."""
        if self._numbered:
            self._numbers[message] = self._released.get(owner, 0)
            self._released[owner] = self._numbers[message] + 1

    def apply(self, owner: int, message: int, peer: int = 0) -> None:
        """Take the owner's noisy answer to the query of this message."""
        points, read_k = self._queries.pop(message)
        staleness = self._updates - read_k
        batch = self._batch(owner, peer, staleness, self._numbers.pop(message, 0))
        apply_answers(self._steps, self._state, batch, points, self._answers)

    def update(self) -> None:
        """Complete an update of the answers taken since the last one."""
        self._steps.update(self._state, self._rows)
        self._answers.end_round(self._rows)
        self._updates += 1
        if self._updates % self._record_every == 0:
            self._models.append(self._state.central.copy())

    def reached(self) -> bool:
        """Return whether the model meets the target."""
        return self._target is not None and self._target.met(self._state.central)

    def server_step(self, server: int) -> None:
        """Let a server (from 1) make its next step."""
        self._steps.advance_server(self._state, server - 1)

    def _batch(self, owner: int, peer: int = 0, staleness: int = 0, number: int = 0) -> AnswerBatch:
        """Return a batch of one answer; the same few are needed again and again."""
        key = (owner, peer, staleness, number)
        batch = self._batches.get(key)
        if batch is None:
            late, peers, numbers = np.array([staleness]), np.array([peer]), np.array([number])
            batch = AnswerBatch(np.array([owner - 1]), late, peers, self._rows, numbers)
            if len(self._batches) == _BATCHES:
                self._batches.clear()
            self._batches[key] = batch
        return batch

    def show(self, trace: Trace) -> None:
        """Give the monitor, if there is one, the queries that were answered in this run."""
        if self._watch is None:
            return
        reads = Reads.from_traces([trace])
        if len(reads.messages) > 0:
            points = [self._watched[message] for message in reads.messages.tolist()]
            self._watch.take(reads.owners, np.concatenate(points))

    def trajectory(self) -> Trajectory:
        """Return the models recorded so far."""
        return Trajectory(
            updates=np.array([self._updates]),
            record_every=self._record_every,
            central=np.stack(self._models),
            final=self._state.central.copy(),
            clipped=self._state.clipped.copy(),
            bounds=None if self._answers.bounds is None else self._answers.bounds.path,
        )
