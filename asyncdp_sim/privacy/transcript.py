"""Everything that owners and learner send each other, noted while an algorithm runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Indices, Steps, Turn
from asyncdp_sim.streams import Scope


@dataclass(frozen=True, eq=False)
class Transcript:
    """All exchanges of one replicate whose answers were used, in that order.

    Attributes
    ----------
    k : array of int (m,)
        Updates made before the answer's own.
    owners : array of int (m,)
        Whose, from 0.
    points, answers : array (m, p)
        The queries, and the answers as the learner takes them.
    """

    k: Indices
    owners: Indices
    points: Array
    answers: Array


class Tap:
    """An algorithm that notes all exchanges and is otherwise what it was.

    Parameters
    ----------
    steps : Steps
        The algorithm.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self._seen: list[tuple[int, Turn, Array, Array]] = []
        self._updates = 0

    @property
    def n_features(self) -> int:
        """Number of coordinates p."""
        return self.steps.n_features

    @property
    def answer_size(self) -> int:
        """How many numbers an answer has."""
        return self.steps.answer_size

    @property
    def answers_per_update(self) -> int | None:
        """How many answers make one update."""
        return self.steps.answers_per_update

    @property
    def apply_at(self) -> Literal["current", "as-read"]:
        """Where a stale answer's step is taken from."""
        return self.steps.apply_at

    def init(self, replicates: Sequence[Scope]) -> Any:
        """Return the state at k = 0."""
        return self.steps.init(replicates)

    def query(self, state: Any, turn: Turn) -> Array:
        """Return the points that are sent to the owners, shape (r, p)."""
        return self.steps.query(state, turn)

    def central(self, state: Any, turn: Turn) -> Array:
        """Return the central models, shape (r, p)."""
        return self.steps.central(state, turn)

    def apply(self, state: Any, turn: Turn, points: Array, answers: Array) -> None:
        """Note one answer for each replicate of the turn, and take it."""
        self._seen.append((self._updates, turn, points.copy(), answers.copy()))
        self.steps.apply(state, turn, points, answers)

    def update(self, state: Any, rows: Indices | None = None) -> None:
        """Complete an update."""
        self.steps.update(state, rows)
        self._updates += 1

    def transcript(self, replicate: int) -> Transcript:
        """Return the exchanges of a replicate, from 0; points are queries where none is stale."""
        found = [
            (k, turn.owners[row], points[row], answers[row])
            for k, turn, points, answers in self._seen
            for row in np.flatnonzero(turn.replicates == replicate).tolist()
        ]
        shape = (len(found), self.n_features)
        return Transcript(
            np.array([k for k, _, _, _ in found], dtype=np.int64),
            np.array([owner for _, owner, _, _ in found], dtype=np.int64),
            np.array([point for _, _, point, _ in found]).reshape(shape),
            np.array([answer for _, _, _, answer in found]).reshape(shape),
        )
