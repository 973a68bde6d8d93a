"""Synchronous private learning with noisy gradients of all owners (Collab, Algorithms 1 and 2)."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, Literal

from asyncdp_sim.learning.algorithms.central import Initial
from asyncdp_sim.learning.algorithms.gathered import GatheredState, GatheredSteps
from asyncdp_sim.learning.algorithms.spec import AlgorithmSpec
from asyncdp_sim.learning.algorithms.steps import Indices, Setting
from asyncdp_sim.spec import Positive, Tally


@dataclass(frozen=True, eq=False, kw_only=True)
class Collab1Steps(GatheredSteps):
    """Algorithm 1: θ[k+1] = Π_Θ[θ[k] − (ρ/(T²k)) (σθ[k] + Σ (n_i/n) Q_i)].

    Attributes
    ----------
    rate : float
        ρ/T².
    """

    rate: float

    def update(self, state: GatheredState, rows: Indices | None = None) -> None:
        """Take a step along the round's mean."""
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

    rate: float
    lead: float

    def update(self, state: GatheredState, rows: Indices | None = None) -> None:
        """Average, then take a step along the round's mean."""
        k = state.k + 1
        old, new = (k - 1) / (self.lead + k), (self.lead + 1) / (self.lead + k)
        some = slice(None) if rows is None else rows
        average = state.central.copy()
        average[some] = old * average[some] + new * state.model[some]
        self.move(state, self.rate / sqrt(k), rows)
        state.central = average


class Collab(AlgorithmSpec):
    """What the specifications of both algorithms share.

    The papers' loop makes T − 1 updates and pays for T answers; here T updates are made of the T
    answers that are paid for.

    Attributes
    ----------
    trim : int
        Of each coordinate's answers in a round, so many of the largest and of the smallest are
        left out, against owners that lie; 0 as published.
    initial : str
        "zeros", "ones" or "uniform" on [0, 1); the paper leaves it open.
    """

    protocols: ClassVar[tuple[str, ...]] = ("rounds",)

    trim: Tally = 0
    initial: Initial = "zeros"

    @property
    def answers_per_update(self) -> None:
        """As many as a round brings."""
        return

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


class Collab1(Collab):
    """Algorithm 1, for smooth and strongly convex fitness; published with Θ the whole space.

    Attributes
    ----------
    rho : float
        ρ > 0; the k-th step is ρ/(T²k). The paper leaves it open.
    """

    kind: Literal["collab-1"] = "collab-1"
    rho: Positive

    def steps(self, setting: Setting) -> Collab1Steps:
        """Fill in the numbers."""
        return Collab1Steps(**self.numbers(setting), rate=self.rho / setting.horizon**2)


class Collab2(Collab):
    """Algorithm 2, for convex fitness; its average θ̄ is the model that is judged.

    Attributes
    ----------
    step : float
        c_1 > 0; the k-th step is c_1/√k. The paper leaves it open.
    """

    kind: Literal["collab-2"] = "collab-2"
    step: Positive

    def steps(self, setting: Setting) -> Collab2Steps:
        """Fill in the numbers."""
        return Collab2Steps(**self.numbers(setting), rate=self.step, lead=1 / sqrt(setting.horizon))
