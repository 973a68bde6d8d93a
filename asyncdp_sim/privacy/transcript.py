"""Everything that owners and learner send each other, noted while an algorithm runs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.algorithms import Array, Indices, Steps, Turn, Wrapped


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


class Transcribed(Wrapped):
    """An algorithm that notes all exchanges and is otherwise what it was.

    Parameters
    ----------
    steps : Steps
        The algorithm.
    """

    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self._seen: list[tuple[int, Turn, Array, Array]] = []
        self._updates = 0

    @override
    def apply(self, state: Any, turn: Turn, points: Array, answers: Array) -> None:
        self._seen.append((self._updates, turn, points.copy(), answers.copy()))
        super().apply(state, turn, points, answers)

    @override
    def update(self, state: Any, rows: Indices | None = None) -> None:
        super().update(state, rows)
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
