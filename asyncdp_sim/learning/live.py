"""Learning inside the simulation, which replay must equal."""

import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms import Algorithm, AnswerBatch, Array, Asks
from asyncdp_sim.learning.answers import Answers, add_reserved_answers, answers_of
from asyncdp_sim.learning.objectives import Objective
from asyncdp_sim.learning.reply import AnswerModel
from asyncdp_sim.learning.trajectory import Trajectory
from asyncdp_sim.learning.watch import GradientMonitor, Reads
from asyncdp_sim.network.exchanges import Learning
from asyncdp_sim.trace import Trace

_TURNS = 1024
"""Turns that are kept at most."""


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
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(self.objective.excess(central)[0] / self.objective.least <= self.psi)


class LiveLearning(Learning):
    """Trains one replicate while its network runs.

    Where there are several servers, a query is formed from the model that its server then has, and
    every server steps at the tick at which it does in the network.

    Parameters
    ----------
    steps, reply
        The algorithm, and the owners' answers.
    replicate : Scope
        The replicate's random streams.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    asks : str
        Where gradients are taken.
    target : Target, optional
        How good the model has to become.
    watch : GradientMonitor, optional
        Is shown the queries that were answered, once the run is over: see :meth:`show`.
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
    ) -> None:
        self._ask = steps.query if asks == "average" else steps.central
        self._steps = steps
        self._answers = self.answers(reply, replicate)
        self._rows: Ints | None = np.zeros(1, dtype=np.int64)
        if steps.answers_per_update is not None:
            self._rows = None
        self._target = target
        self._record_every = record_every
        self._state = steps.init([replicate])
        self._asked: dict[int, tuple[Array, int]] = {}
        self._watch = watch
        self._formed: dict[int, Array] = {}
        self._numbered = reply.allotment is not None
        self._released: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._updates = 0
        self._models = [self._state.central.copy()]
        self._turn = lru_cache(_TURNS)(self._of_one)  # the same few are made again and again

    def answers(self, reply: AnswerModel, replicate: Scope) -> Answers:
        """Return what gives the owners' answers."""
        return answers_of(self._steps, reply, [replicate])

    def read(self, owner: int, message: int, peer: int = 0) -> None:
        """Form the query for an owner (from 1) from the model as it is now."""
        with np.errstate(over="ignore", invalid="ignore"):
            points = self._ask(self._state, self._turn(owner, peer))
        self._ask_for(message, points, self._updates)

    def broadcast(self) -> object:
        """Return the state as it is now, and k."""
        return copy.deepcopy(self._state), self._updates

    def take(self, owner: int, message: int, sent: Any) -> None:
        """Form the query of this message from the state that was broadcast."""
        state, read_k = sent
        self._ask_for(message, self._ask(state, self._turn(owner)), read_k)

    def again(self, message: int, former: int) -> None:
        """Ask in this message what the former one asked."""
        self._ask_for(message, *self._asked[former])

    def _ask_for(self, message: int, points: Array, read_k: int) -> None:
        self._asked[message] = points, read_k
        if self._watch is not None:
            self._formed[message] = points.copy()

    def forget(self, message: int) -> None:
        """Drop a query that will not be answered."""
        del self._asked[message]
        self._numbers.pop(message, None)

    def release(self, owner: int, message: int) -> None:
        """Count the answer to this query among those that its owner releases."""
        if self._numbered:
            self._numbers[message] = self._released.get(owner, 0)
            self._released[owner] = self._numbers[message] + 1

    def apply(self, owner: int, message: int, peer: int = 0) -> None:
        """Take the owner's noisy answer to the query of this message."""
        points, read_k = self._asked.pop(message)
        turn = self._turn(owner, peer, self._updates - read_k, self._numbers.pop(message, 0))
        with np.errstate(over="ignore", invalid="ignore"):
            answers = self._answers.give(turn, points)
            if self._steps.apply_at == "current":
                points = self._steps.query(self._state, turn)
            if self._steps.answers_once:
                add_reserved_answers(self._steps, self._state, turn, self._answers)
            self._steps.apply(self._state, turn, points, answers)

    def update(self) -> None:
        """Complete an update of the answers taken since the last one."""
        with np.errstate(over="ignore", invalid="ignore"):
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
        with np.errstate(over="ignore", invalid="ignore"):
            self._steps.advance_server(self._state, server - 1)

    def _of_one(
        self, owner: int, peer: int = 0, staleness: int = 0, number: int = 0
    ) -> AnswerBatch:
        late, peers, numbers = np.array([staleness]), np.array([peer]), np.array([number])
        return AnswerBatch(np.array([owner - 1]), late, peers, self._rows, numbers)

    def show(self, trace: Trace) -> None:
        """Show the watch, where there is one, the queries that were answered in this run."""
        if self._watch is None:
            return
        reads = Reads.from_traces([trace])
        if len(reads.messages) > 0:
            points = [self._formed[message] for message in reads.messages.tolist()]
            self._watch.take(reads.owners, np.concatenate(points))

    def trajectory(self) -> Trajectory:
        """Return where the model has gone so far."""
        return Trajectory(
            updates=np.array([self._updates]),
            record_every=self._record_every,
            central=np.stack(self._models),
            final=self._state.central.copy(),
            clipped=self._state.clipped.copy(),
            bounds=None if self._answers.bounds is None else self._answers.bounds.path,
        )
