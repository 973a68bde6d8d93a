"""Federated learning with buffered aggregation: B answers make one update (FedBuff)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms.central import CentralSpec, CentralState, CentralSteps
from asyncdp_sim.spec import Count, Positive
from asyncdp_sim.streams import Scope

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(eq=False)
class BufferState(CentralState):
    """One model per replicate and what its buffer holds.

    Attributes
    ----------
    buffer : array (R, p)
        Σ w(s_b) Δ_b over the answers that have arrived since the last update.
    held : int
        How many they are, 0 … B−1; the same in all replicates.
    """

    buffer: Array
    held: int = 0


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

    def apply(
        self,
        state: BufferState,
        owners: Indices,
        points: Array,
        answers: Array,
        staleness: Indices | None = None,
    ) -> None:
        """Put each replicate's answer in its buffer; the B-th moves the model and empties it."""
        answers *= self.step[owners, None]
        answers += self.shrink * points
        if staleness is not None:
            answers *= self.weight(staleness)[:, None]
        state.buffer += answers
        state.held += 1
        if state.held < self.answers_per_update:
            return
        scale = self.server_step / self.answers_per_update
        state.move(state.central - scale * state.buffer, self.theta_max)
        state.buffer = np.zeros_like(state.central)
        state.held = 0


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

    def steps(
        self,
        weights: Array,
        n_features: int,
        horizon: int,  # noqa: ARG002
        sigma: float,
        theta_max: float | None,
        shares: Array | None = None,  # noqa: ARG002
    ) -> FedBuffSteps:
        """Fill in the numbers; see :meth:`AsyncGossip.steps` for the parameters."""
        return FedBuffSteps(
            **self.numbers(weights, n_features, theta_max),
            shrink=self.step * sigma,
            server_step=self.server_step,
            answers_per_update=self.buffer,
        )
