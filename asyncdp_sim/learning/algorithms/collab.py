"""Synchronous private learning with noisy gradients of all owners (Collab, Algorithms 1 and 2)."""

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.algorithms.gathered import GatheredKind, GatheredState, GatheredSteps
from asyncdp_sim.learning.algorithms.moments import (
    AS_PUBLISHED,
    MENDED,
    Initial,
    Schedule,
    StepsInRounds,
)
from asyncdp_sim.learning.algorithms.steps import Array, Indices, Setting
from asyncdp_sim.spec import Positive, Tally, about


@dataclass(frozen=True, eq=False, kw_only=True)
class Collab1Steps(GatheredSteps):
    """Algorithm 1: θ[k+1] = Π_Θ[θ[k] − (ρ/(T²k)) (σθ[k] + Σ (n_i/n) Q_i)].

    Attributes
    ----------
    rate : float
        ρ/T².
    """

    by_row: ClassVar[tuple[str, ...]] = (*GatheredSteps.by_row, "rate")

    rate: float | Array

    @override
    def update(self, state: GatheredState, rows: Indices | None = None) -> None:
        self.move(state, self.rate / (state.k + 1), rows)
        state.central = state.model.copy()


@dataclass(frozen=True, eq=False, kw_only=True)
class Collab2Steps(GatheredSteps):
    """Algorithm 2: steps c_1/√k, and the average of the models before each step.

    θ[k+1] = Π_Θ[θ[k] − (c_1/√k) (σθ[k] + Σ (n_i/n) Q_i)],
    θ̄[k+1] = ((k−1)/(1/√T+k)) θ̄[k] + ((1/√T+1)/(1/√T+k)) θ[k].

    Attributes
    ----------
    rate : float
        c_1.
    lead : float
        1/√T.
    """

    by_row: ClassVar[tuple[str, ...]] = (*GatheredSteps.by_row, "rate", "lead")

    rate: float | Array
    lead: float | Array

    @override
    def update(self, state: GatheredState, rows: Indices | None = None) -> None:
        k = state.k + 1
        old, new = (k - 1) / (self.lead + k), (self.lead + 1) / (self.lead + k)
        some = slice(None) if rows is None else rows
        average = state.central.copy()
        average[some] = (old * average + new * state.model)[some]
        self.move(state, self.rate / sqrt(k), rows)
        state.central = average


class CollabKind(GatheredKind):
    """Synchronous learning with noisy gradients of all owners.

    The papers' loop makes T − 1 updates and pays for T answers; here T updates are made of the T
    answers that are paid for.
    """

    trim: Annotated[
        Tally,
        about(
            "m: of each coordinate's answers in a round, the m largest and the m smallest are "
            "left out, against owners that lie; 0 as published",
            "answers",
        ),
    ] = 0
    initial: Initial = "zeros"

    @property
    @override
    def sums_suffice(self) -> bool:
        return self.trim == 0

    def numbers(self, setting: Setting) -> dict[str, Any]:
        """Return the fields of :class:`~.gathered.GatheredSteps`."""
        return {
            "weights": setting.weights,
            "n_features": setting.n_features,
            "sigma": setting.sigma,
            "trim": self.trim,
            "theta_max": setting.theta_max,
            "initial": self.initial,
        }


class Collab1(CollabKind):
    """Algorithm 1, for smooth and strongly convex fitness; published with Θ the whole space."""

    step_field = "rho"

    kind: Literal["collab-1"] = "collab-1"
    rho: Annotated[Positive, about("ρ: the k-th step is ρ/(T²k). The paper leaves it open", "none")]

    @staticmethod
    def schedule(rho: float | Array, updates: int) -> Schedule:
        """γ_k = ρ/(T²k)."""
        return Schedule.of(lambda k: rho / (updates**2 * k), updates)

    @property
    @override
    def in_rounds(self) -> StepsInRounds:
        return StepsInRounds(self.rho, self.schedule, self.initial, AS_PUBLISHED, self.trim)

    @override
    def steps(self, setting: Setting) -> Collab1Steps:
        return Collab1Steps(**self.numbers(setting), rate=self.rho / setting.horizon**2)


class Collab2(CollabKind):
    """Algorithm 2, for convex fitness; its average θ̄ is the model that is judged."""

    kind: Literal["collab-2"] = "collab-2"
    step: Annotated[
        Positive, about("c_1: the k-th step is c_1/√k. The paper leaves it open", "none")
    ]

    @staticmethod
    def schedule(step: float | Array, updates: int) -> Schedule:
        """γ_k = c_1/√k, a_k = (k − 1)/(1/√T + k)."""
        k, sizes = np.arange(1, updates + 1), Schedule.of(lambda k: step / sqrt(k), updates).sizes
        return Schedule(sizes, (k - 1) / (1 / sqrt(updates) + k))

    @property
    @override
    def in_rounds(self) -> StepsInRounds:
        return StepsInRounds(self.step, self.schedule, self.initial, MENDED, self.trim)

    @override
    def steps(self, setting: Setting) -> Collab2Steps:
        return Collab2Steps(**self.numbers(setting), rate=self.step, lead=1 / sqrt(setting.horizon))
