"""Asynchronous learning with momentum, an algorithm that lives beside its scenario."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from asyncdp_sim.learning.algorithms.central import (
    CentralKind,
    CentralState,
    CentralSteps,
)


@dataclass(eq=False)
class MomentumState(CentralState):
    """One model per replicate, and its velocity."""

    velocity: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentumSteps(CentralSteps):
    """v ← β v + η (σ θ + N (n_i/n) Q),  θ ← Π_Θ[θ − v], with Q the owner's answer."""

    pull: float
    momentum: float
    answers_per_update = 1

    def init(self, replicates):
        """Return models at rest, one row per replicate."""
        model = self.start(replicates)
        counts = np.zeros(len(model), dtype=np.int64)
        return MomentumState(model, counts, np.zeros_like(model))

    def apply(self, state, batch, points, answers):
        """Advance each replicate that has an answer by one update."""
        rows = batch.replicates
        push = self.pull * points + self.step[batch.owners, None] * answers
        state.velocity[rows] = self.momentum * state.velocity[rows] + push
        model = state.central.copy()
        model[rows] -= state.velocity[rows]
        state.move(model, self.theta_max)


class Momentum(CentralKind):
    """Stochastic heavy ball: ``momentum`` is β in [0, 1), ``step`` is η."""

    kind: Literal["momentum"] = "momentum"
    momentum: float = 0.5

    def steps(self, setting):
        """Fill in the numbers."""
        pull = self.step * setting.sigma
        return MomentumSteps(**self.numbers(setting), pull=pull, momentum=self.momentum)
