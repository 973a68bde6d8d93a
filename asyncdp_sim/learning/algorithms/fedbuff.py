"""Federated learning with buffered aggregation: B answers make one update (FedBuff)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.algorithms.central import (
    CentralKind,
    CentralState,
    CentralSteps,
)
from asyncdp_sim.learning.algorithms.moments import OneCentral
from asyncdp_sim.learning.algorithms.steps import Array, Indices, Setting, Turn, of_owners, of_rows
from asyncdp_sim.spec import Count, Positive, about
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
    """FedBuff with its numbers filled in.

    With θ_b the model as read for answer b, s_b updates before the one that uses it, and Q_b the
    owner's answer at θ_b:

    Δ_b = η_l (σθ_b + N (n_i/n) Q_b),  θ ← Π_Θ[θ − (η_g/B) Σ_b w(s_b) Δ_b].

    With local steps Δ_b is the difference that :class:`LocalSteps` sends. Where selection is not
    "uniform" it is divided by Nπ_i, or Nπ_i E[w(s) | i].

    Attributes
    ----------
    shrink : float
        η_l σ.
    server_step : float
        η_g.
    answers_per_update : int
        B.
    """

    by_row: ClassVar[tuple[str, ...]] = (*CentralSteps.by_row, "shrink", "server_step")

    shrink: float | Array
    server_step: float | Array
    answers_per_update: int

    @override
    def init(self, replicates: Sequence[Scope]) -> BufferState:
        model = self.start(replicates)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return BufferState(model, clipped, np.zeros_like(model))

    @override
    def apply(self, state: BufferState, turn: Turn, points: Array, answers: Array) -> None:
        if self.local is None:
            answers *= of_owners(self.step, turn)
            answers += of_rows(self.shrink, turn.replicates) * points
        self.evened(answers, turn)
        if turn.staleness is not None:
            answers *= self.weight(turn)
        state.buffer += answers

    @override
    def update(self, state: BufferState, rows: Indices | None = None) -> None:
        scale = self.server_step / self.answers_per_update
        state.move(state.central - scale * state.buffer, self.theta_max)
        state.buffer = np.zeros_like(state.central)


class FedBuff(CentralKind):
    """Buffered asynchronous learning (Nguyen et al. 2022), under DP."""

    kind: Literal["fedbuff"] = "fedbuff"
    server_step: Annotated[Positive, about("η_g: the learner's step", "none")]
    buffer: Annotated[Count, about("B: answers that make one update", "answers")]

    @property
    @override
    def answers_per_update(self) -> int:
        return self.buffer

    @property
    @override
    def one_central(self) -> OneCentral | None:
        if self.buffer > 1 or self.gradients_per_answer > 1:
            return None
        return OneCentral(self.step * self.server_step, self.weight, self.initial)

    @property
    @override
    def mean_step(self) -> float | None:
        return self.step * self.server_step if self.gradients_per_answer == 1 else None

    @property
    @override
    def sums_suffice(self) -> bool:
        alike = self.weighting == "constant" and not self.needs_shares
        return alike and self.gradients_per_answer == 1

    @override
    def steps(self, setting: Setting) -> FedBuffSteps:
        return FedBuffSteps(
            **self.numbers(setting),
            shrink=self.step * setting.sigma,
            server_step=self.server_step,
            answers_per_update=self.buffer,
        )
