"""Asynchronous federated optimisation: models mixed by how stale they are (FedAsync)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from asyncdp_sim.learning.algorithms.central import CentralSpec, CentralState, CentralSteps
from asyncdp_sim.learning.algorithms.steps import Array, Indices, Setting, Turn
from asyncdp_sim.streams import Scope


@dataclass(frozen=True, eq=False, kw_only=True)
class FedAsyncSteps(CentralSteps):
    """FedAsync with its numbers filled in, one noisy gradient for each answer.

    With θ_τ the model as read, s updates ago, and Q the owner's answer at θ_τ:

    x = θ_τ − η (σθ_τ + N (n_i/n) Q),  θ ← Π_Θ[(1 − α_s) θ + α_s x],  α_s = α w(s).

    Attributes
    ----------
    shrink : float
        1 − ησ.
    mixing : float
        α.
    """

    shrink: float
    mixing: float

    @property
    def answers_per_update(self) -> Literal[1]:
        """Every answer is an update."""
        return 1

    def init(self, replicates: Sequence[Scope]) -> CentralState:
        """Return the models at k = 0, one row per replicate."""
        return CentralState(self.start(replicates), np.zeros(len(replicates), dtype=np.int64))

    def apply(self, state: CentralState, turn: Turn, points: Array, answers: Array) -> None:
        """Advance each replicate by one update from the answers at ``points``, read s ago."""
        answers *= self.step[turn.owners, None]
        local = self.shrink * points
        local -= answers
        weight = np.full((len(turn.owners), 1), self.mixing)
        if turn.staleness is not None:
            weight *= self.weight(turn.staleness)[:, None]
        state.move(state.central + weight * (local - state.central), self.theta_max)

    def update(self, state: CentralState, rows: Indices | None = None) -> None:
        """Do nothing: every answer is an update."""


class FedAsync(CentralSpec):
    """Staleness-weighted asynchronous learning (Xie, Koyejo and Gupta 2019), under DP.

    Attributes
    ----------
    mixing : float
        α in (0, 1].
    """

    kind: Literal["fedasync"] = "fedasync"
    mixing: Annotated[float, Field(gt=0, le=1)]

    @property
    def answers_per_update(self) -> Literal[1]:
        """Every answer is an update."""
        return 1

    def steps(self, setting: Setting) -> FedAsyncSteps:
        """Fill in the numbers."""
        return FedAsyncSteps(
            **self.numbers(setting),
            shrink=1 - self.step * setting.sigma,
            mixing=self.mixing,
        )
