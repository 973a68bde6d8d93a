"""Asynchronous dual averaging: the sum of all answers, and the model that is best for it.

Nesterov (2009), Xiao (2010); with delays Agarwal and Duchi (2011).
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from asyncdp_sim.core.specification import Positive
from asyncdp_sim.learning.algorithms.central import CentralState, start
from asyncdp_sim.learning.algorithms.kind import AlgorithmSpec, Initial
from asyncdp_sim.learning.algorithms.steps import Algorithm, project


@dataclass(eq=False)
class DualState(CentralState):
    """One model per replicate, where it began, the sum z of gradients, and how many it has."""

    centre: np.ndarray
    dual: np.ndarray
    k: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class DualAveragingSteps(Algorithm):
    """Dual averaging with its numbers filled in, one noisy gradient for each answer.

    With Q the owner's answer at θ as read, and k answers taken,

        z ← z + N (n_i/n) Q,  θ ← Π_Θ[(β_k θ_0 − z)/(σk + β_k)],  β_k = k^e/η,

    which is the θ in Θ of least zᵀθ + k(σ/2)‖θ‖² + (β_k/2)‖θ − θ_0‖²: the regulariser is kept
    whole, and not linearised with the losses.
    """

    answers_per_update = 1
    apply_at = "as-read"  # a sum of answers, whose order does not matter

    n_features: int
    weight: np.ndarray  # N n_i/n of each owner
    sigma: float
    step: float
    exponent: float
    theta_max: float | None
    initial: Initial

    def init(self, replicates):
        """Return models at their start, one row per replicate, and sums of nothing."""
        centre = start(self.initial, replicates, None, self.n_features)
        project(centre, self.theta_max)
        projected = np.zeros(len(centre), dtype=np.int64)
        return DualState(centre.copy(), projected, centre, np.zeros_like(centre))

    def query(self, state, batch):
        """Return the models that owners are asked about."""
        return state.central[batch.replicates]

    def apply(self, state, batch, points, answers):  # noqa: ARG002
        """Advance every replicate by one answer."""
        state.k += 1
        state.dual += self.weight[batch.owners, None] * answers
        beta = self.beta(state.k)
        model = (beta * state.centre - state.dual) / (self.sigma * state.k + beta)
        state.move(model, self.theta_max)

    def beta(self, k):
        """Return β_k, the weight that holds the model to its start."""
        return k**self.exponent / self.step


class DualAveraging(AlgorithmSpec):
    """Old answers count as much as new ones, whichever came first.

    The expectation of N (n_i/n) Q_i over uniform i is the gradient of the mean loss, so owners
    that answer unequally often bias it, as they do async-gossip.
    """

    updates_of = ("answer",)
    one_model = True
    looks_at_models = True
    obfuscates = False

    kind: Literal["dual-averaging"] = "dual-averaging"
    step: Positive  # η: without noise no error grows if 1/η ≥ the mean loss's largest curvature
    exponent: Annotated[float, Field(ge=0, lt=1)] = 0.5  # e: √k of convex losses
    initial: Initial = "zeros"

    def steps(self, setting):
        """Fill in the numbers."""
        return DualAveragingSteps(
            n_features=setting.n_features,
            weight=setting.n_owners * setting.weights,
            sigma=setting.sigma,
            step=self.step,
            exponent=self.exponent,
            theta_max=setting.theta_max,
            initial=self.initial,
        )
