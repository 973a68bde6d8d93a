"""The plain parameter server: synchronous projected gradient descent (POLAR, section II).

The baseline that POLAR-SGD is held against: one server, gradients as they are.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from asyncdp_sim.learning.algorithms.central import Initial
from asyncdp_sim.learning.algorithms.gathered import GatheredState, GatheredSteps
from asyncdp_sim.learning.algorithms.spec import AlgorithmSpec
from asyncdp_sim.learning.algorithms.steps import Indices, Setting
from asyncdp_sim.spec import Count, Positive


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

    def update(self, state: GatheredState, rows: Indices | None = None) -> None:
        """Take a step along the round's mean."""
        self.move(state, self.rate * (state.k + 1) ** -self.exponent, rows)
        state.central = state.model.copy()


class ParameterServer(AlgorithmSpec):
    """Synchronous gradient descent on one server.

    Attributes
    ----------
    step : float
        α > 0, the first step.
    exponent : float
        e in [0, 1], α_k = α k^(−e); convergence of stochastic gradients needs e > 1/2.
    batch : int, optional
        Records of each answer, drawn with replacement; absent, all of an owner's.
    initial : str
        "zeros", "ones" or "uniform" on [0, 1).
    """

    protocols: ClassVar[tuple[str, ...]] = ("rounds",)

    kind: Literal["parameter-server"] = "parameter-server"
    step: Positive
    exponent: Annotated[float, Field(ge=0, le=1)] = 0.0
    batch: Count | None = None
    initial: Initial = "zeros"

    @property
    def answers_per_update(self) -> None:
        """As many as a round brings."""
        return

    @property
    def sample(self) -> int | None:
        """Records of each answer."""
        return self.batch

    def steps(self, setting: Setting) -> ParameterServerSteps:
        """Fill in the numbers."""
        return ParameterServerSteps(
            weights=setting.weights,
            n_features=setting.n_features,
            sigma=setting.sigma,
            theta_max=setting.theta_max,
            initial=self.initial,
            rate=self.step,
            exponent=self.exponent,
        )
