"""The plain parameter server: synchronous projected gradient descent (POLAR, section II).

The baseline that POLAR-SGD is held against: one server, gradients as they are.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.learning.algorithms.gathered import GatheredKind, GatheredState, GatheredSteps
from asyncdp_sim.learning.algorithms.moments import MENDED, Initial, Rounds, Schedule
from asyncdp_sim.learning.algorithms.steps import Array, Indices, Setting
from asyncdp_sim.spec import Count, Positive, about


@dataclass(frozen=True, eq=False, kw_only=True)
class ParameterServerSteps(GatheredSteps):
    """x ← Π_X[x − α_k (σx + Σ (n_h/n) g_h)], with α_k = α k^(−e).

    The paper's f is a sum over records and this one a mean: its α_k is ours over n.

    Attributes
    ----------
    rate, exponent : float
        α and e.
    """

    rate: float
    exponent: float

    @override
    def update(self, state: GatheredState, rows: Indices | None = None) -> None:
        self.move(state, self.rate * (state.k + 1) ** -self.exponent, rows)
        state.central = state.model.copy()


class ParameterServer(GatheredKind):
    """Synchronous gradient descent on one server."""

    kind: Literal["parameter-server"] = "parameter-server"
    step: Annotated[Positive, about("α: the first step", "none")]
    exponent: Annotated[
        float,
        Field(ge=0, le=1),
        about("e: step k is α k^(−e); convergence of stochastic gradients needs e > 1/2", "none"),
    ] = 0.0
    batch: Annotated[
        Count | None,
        about(
            "Records of each answer, drawn with replacement; absent, all of an owner's", "records"
        ),
    ] = None
    initial: Initial = "zeros"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        falling = cls(step=0.5, exponent=0.75, batch=4, initial="uniform")
        return (cls(step=0.5), falling)

    @property
    @override
    def sample(self) -> int | None:
        return self.batch

    @property
    @override
    def treats_updates_alike(self) -> bool:
        return self.exponent == 0

    def schedule(self, step: float | Array, updates: int) -> Schedule:
        """γ_k = α k^(−e)."""
        return Schedule.of(lambda k: step * k**-self.exponent, updates)

    @property
    @override
    def in_rounds(self) -> Rounds:
        return Rounds(self.step, self.schedule, self.initial, MENDED)

    @override
    def steps(self, setting: Setting) -> ParameterServerSteps:
        return ParameterServerSteps(
            weights=setting.weights,
            n_features=setting.n_features,
            sigma=setting.sigma,
            theta_max=setting.theta_max,
            initial=self.initial,
            rate=self.step,
            exponent=self.exponent,
        )
