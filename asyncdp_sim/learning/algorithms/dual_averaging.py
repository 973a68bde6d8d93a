"""Asynchronous dual averaging: the sum of all answers, and the model that is best for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.learning.algorithms.central import CentralState, start
from asyncdp_sim.learning.algorithms.kind import AlgorithmKind
from asyncdp_sim.learning.algorithms.moments import Initial
from asyncdp_sim.learning.algorithms.steps import (
    Array,
    Setting,
    Steps,
    Turn,
    of_owners,
    power,
    project,
)
from asyncdp_sim.spec import Positive, about
from asyncdp_sim.streams import Scope


@dataclass(eq=False)
class DualState(CentralState):
    """One model per replicate, and the sum of gradients that it comes from; advanced in place.

    Attributes
    ----------
    centre, dual : array (R, p)
        θ_0 and z.
    k : int
        Answers taken.
    """

    centre: Array
    dual: Array
    k: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class DualAveragingSteps(Steps):
    """Dual averaging with its numbers filled in, one noisy gradient for each answer.

    With Q the owner's answer at θ as read, and k answers taken,

        z ← z + N (n_i/n) Q,  θ ← Π_Θ[(β_k θ_0 − z)/(σk + β_k)],  β_k = k^e/η,

    which is the θ in Θ of least zᵀθ + k(σ/2)‖θ‖² + (β_k/2)‖θ − θ_0‖²: the regulariser is kept
    whole, and not linearised with the losses.

    Attributes
    ----------
    n_features : int
        p.
    weight : array (N,)
        N n_i/n.
    sigma : float
        σ.
    step, exponent : float
        η and e.
    theta_max : float or None
        The box Θ.
    initial : str
        θ_0.
    """

    by_row: ClassVar[tuple[str, ...]] = ("weight", "sigma", "step", "exponent", "theta_max")
    answers_per_update = 1
    apply_at = "as-read"  # a sum of answers, whose order does not matter

    n_features: int
    weight: Array
    sigma: float | Array
    step: float | Array
    exponent: float | Array
    theta_max: float | Array | None
    initial: Initial

    @override
    def init(self, replicates: Sequence[Scope]) -> DualState:
        centre = start(self.initial, replicates, self.n_features)
        project(centre, self.theta_max)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return DualState(centre.copy(), clipped, centre, np.zeros_like(centre))

    @override
    def query(self, state: DualState, turn: Turn) -> Array:
        return state.central[turn.replicates]

    @override
    def apply(self, state: DualState, turn: Turn, points: Array, answers: Array) -> None:
        state.k += 1
        state.dual += of_owners(self.weight, turn) * answers
        proximal = self.proximal(state.k)
        model = (proximal * state.centre - state.dual) / (self.sigma * state.k + proximal)
        state.move(model, self.theta_max)

    def proximal(self, k: int) -> float | Array:
        """Return β_k."""
        return power(k, self.exponent) / self.step


class DualAveraging(AlgorithmKind):
    """Asynchronous dual averaging (Nesterov 2009, Xiao 2010; delays: Agarwal and Duchi 2011).

    Old answers count as much as new ones, whichever came first. The expectation of N (n_i/n) Q_i
    over uniform i is the gradient of the mean loss, so owners that answer unequally often bias it,
    as they do async-gossip.
    """

    updates_of = ("answer",)
    one_model = True
    looks_at_models = True
    obfuscates = False

    kind: Literal["dual-averaging"] = "dual-averaging"
    step: Annotated[
        Positive,
        about(
            "η: β_1 = 1/η holds the model to its start. Without noise no error grows if 1/η is at "
            "least the largest curvature of the losses' mean",
            "none",
        ),
    ]
    exponent: Annotated[
        float,
        Field(ge=0, lt=1),
        about(
            "e, the growth of β_k = k^e/η: 1/2 is the √k of convex losses, 0 leaves all to the "
            "regulariser",
            "none",
        ),
    ] = 0.5
    initial: Initial = "zeros"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        strong = cls(step=0.4, exponent=0.0, initial="uniform")
        return (cls(step=0.5), strong, cls(step=0.2, exponent=0.9, initial="ones"))

    @property
    @override
    def no_moments(self) -> str:
        said = super().no_moments
        return f"{said}: those one-on-one are of steps that do not depend on k"

    @override
    def steps(self, setting: Setting) -> DualAveragingSteps:
        return DualAveragingSteps(
            n_features=setting.n_features,
            weight=setting.n_owners * setting.weights,
            sigma=setting.sigma,
            step=self.step,
            exponent=self.exponent,
            theta_max=setting.theta_max,
            initial=self.initial,
        )
