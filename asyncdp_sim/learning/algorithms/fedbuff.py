"""Federated learning with buffered aggregation: B answers make one update (FedBuff)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from asyncdp_sim.learning.algorithms.central import CentralSpec, CentralState, CentralSteps
from asyncdp_sim.learning.algorithms.steps import Array, Indices, Setting, Turn
from asyncdp_sim.spec import Count, Positive
from asyncdp_sim.streams import Scope


@dataclass(eq=False)
class BufferState(CentralState):
    """One model per replicate and what its buffer holds.

    Attributes
    ----------
    buffer : array (R, p)
        Σ w(s_b) Δ_b over the answers that have arrived since the last update.
    """

    buffer: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class FedBuffSteps(CentralSteps):
    """FedBuff with its numbers filled in, one noisy gradient for each answer.

    With θ_b the model as read for answer b, s_b updates before the one that uses it, and Q_b the
    owner's answer at θ_b:

    Δ_b = η_l (σθ_b + N (n_i/n) Q_b),  θ ← Π_Θ[θ − (η_g/B) Σ_b w(s_b) Δ_b].

    Attributes
    ----------
    shrink : float
        η_l σ.
    server_step : float
        η_g.
    answers_per_update : int
        B.
    """

    shrink: float
    server_step: float
    answers_per_update: int

    def init(self, replicates: Sequence[Scope]) -> BufferState:
        """Return the models at k = 0, one row per replicate, and empty buffers."""
        model = self.start(replicates)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return BufferState(model, clipped, np.zeros_like(model))

    def apply(self, state: BufferState, turn: Turn, points: Array, answers: Array) -> None:
        """Put each replicate's answer in its buffer."""
        answers *= self.step[turn.owners, None]
        answers += self.shrink * points
        if turn.staleness is not None:
            answers *= self.weight(turn.staleness)[:, None]
        state.buffer += answers

    def update(self, state: BufferState, rows: Indices | None = None) -> None:  # noqa: ARG002
        """Move every replicate's model by what its buffer holds, and empty it."""
        scale = self.server_step / self.answers_per_update
        state.move(state.central - scale * state.buffer, self.theta_max)
        state.buffer = np.zeros_like(state.central)


class FedBuff(CentralSpec):
    """Buffered asynchronous learning (Nguyen et al. 2022), under DP.

    Attributes
    ----------
    server_step : float
        η_g > 0, the learner's step.
    buffer : int
        B ≥ 1, the answers that make one update.
    """

    kind: Literal["fedbuff"] = "fedbuff"
    server_step: Positive
    buffer: Count

    @property
    def answers_per_update(self) -> int:
        """The buffer's size."""
        return self.buffer

    def steps(self, setting: Setting) -> FedBuffSteps:
        """Fill in the numbers."""
        return FedBuffSteps(
            **self.numbers(setting),
            shrink=self.step * setting.sigma,
            server_step=self.server_step,
            answers_per_update=self.buffer,
        )
