"""Asynchronous federated optimisation: models mixed by how stale they are (FedAsync)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.learning.algorithms.central import CentralKind, CentralState, CentralSteps
from asyncdp_sim.learning.algorithms.steps import Array, Setting, Turn, of_owners, of_rows
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope


@dataclass(frozen=True, eq=False, kw_only=True)
class FedAsyncSteps(CentralSteps):
    """FedAsync with its numbers filled in.

    With θ_τ the model as read, s updates ago, and Q the owner's answer at θ_τ:

    x = θ_τ − η (σθ_τ + N (n_i/n) Q),  θ ← Π_Θ[(1 − α_s) θ + α_s x],  α_s = α w(s).

    With local steps x = θ_τ − D, D being what :class:`LocalSteps` sends. Where selection is not
    "uniform" x − θ_τ is divided by Nπ_i, or Nπ_i E[w(s) | i].

    Attributes
    ----------
    shrink : float
        1 − ησ.
    mixing : float
        α.
    """

    by_row: ClassVar[tuple[str, ...]] = (*CentralSteps.by_row, "shrink", "mixing")
    answers_per_update = 1

    shrink: float | Array
    mixing: float | Array

    @override
    def init(self, replicates: Sequence[Scope]) -> CentralState:
        return CentralState(self.start(replicates), np.zeros(len(replicates), dtype=np.int64))

    @override
    def apply(self, state: CentralState, turn: Turn, points: Array, answers: Array) -> None:
        local = self._local_model(turn, points, answers)
        if self.often is not None:
            local = points + self.evened(local - points, turn)
        weight = of_rows(self.mixing, turn.replicates)
        if turn.staleness is not None:
            weight = weight * self.weight(turn)
        state.move(state.central + weight * (local - state.central), self.theta_max)

    def _local_model(self, turn: Turn, points: Array, answers: Array) -> Array:
        """Return x: one step from the points along answers, or where owners went themselves."""
        if self.local is not None:
            return points - answers
        answers *= of_owners(self.step, turn)
        local = of_rows(self.shrink, turn.replicates) * points
        local -= answers
        return local


class FedAsync(CentralKind):
    """Staleness-weighted asynchronous learning (Xie, Koyejo and Gupta 2019), under DP."""

    kind: Literal["fedasync"] = "fedasync"
    mixing: Annotated[
        float,
        Field(gt=0, le=1),
        about("α: weight with which a fresh answer's model is mixed into the learner's", "none"),
    ]

    @property
    @override
    def mean_step(self) -> float | None:
        return self.mixing * self.step if self.gradients_per_answer == 1 else None

    @override
    def steps(self, setting: Setting) -> FedAsyncSteps:
        return FedAsyncSteps(
            **self.numbers(setting),
            shrink=1 - self.step * setting.sigma,
            mixing=self.mixing,
        )
