"""The plain parameter server: synchronous projected gradient descent (POLAR, section II).

The baseline that POLAR-SGD is held against: one server, gradients as they are.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.learning.algorithms.gathered import GatheredKind, GatheredState, GatheredSteps
from asyncdp_sim.learning.algorithms.local_steps import LocalCount, LocalSteps
from asyncdp_sim.learning.algorithms.moments import MENDED, Initial, Schedule, StepsInRounds
from asyncdp_sim.learning.algorithms.steps import Array, Indices, Setting, power
from asyncdp_sim.spec import Count, Positive, about


@dataclass(frozen=True, eq=False, kw_only=True)
class ParameterServerSteps(GatheredSteps):
    """x ← Π_X[x − α_k (σx + Σ (n_h/n) g_h)], with α_k = α k^(−e).

    The paper's f is a sum over records and this one a mean: its α_k is ours over n. With E local
    steps of η the mean is of D_h/(Eη), D_h the differences of :class:`LocalSteps`, which have σx
    in them: α_k = Eη makes the owners' mean the model.

    Attributes
    ----------
    rate, exponent : float
        α and e.
    local : LocalSteps, optional
        How far owners go by themselves; ``sigma`` is 0 then.
    """

    by_row: ClassVar[tuple[str, ...]] = (*GatheredSteps.by_row, "rate", "exponent", "local")

    rate: float | Array
    exponent: float | Array
    local: LocalSteps | None = None

    @override
    def update(self, state: GatheredState, rows: Indices | None = None) -> None:
        self.move(state, self.rate * power(state.k + 1, -self.exponent), rows)
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
    local_steps: LocalCount = None
    local_step: Annotated[
        Positive | None,
        about("η: the owners' step, required with local steps", "none", example=0.1),
    ] = None

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
    def in_rounds(self) -> StepsInRounds | None:
        if self.gradients_per_answer > 1:
            return None
        return StepsInRounds(self.step, self.schedule, self.initial, MENDED)

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        found, several = super().misfits(scenario), self.gradients_per_answer > 1
        if several and self.local_step is None:
            allowed = "this field is required with local steps: η > 0"
            found.append(Fault("algorithm.local_step", "nothing", allowed))
        if self.local_step is not None and not several:
            allowed = "allowed is nothing without local steps: owners answer with a gradient"
            found.append(Fault("algorithm.local_step", f"{self.local_step:g}", allowed))
        return found

    def _local(self, setting: Setting) -> LocalSteps | None:
        eta, count = self.local_step, self.gradients_per_answer
        if eta is None or count == 1:
            return None
        step, shrink = np.full(setting.n_owners, eta), 1 - eta * setting.sigma
        return LocalSteps(count, step, shrink, setting.theta_max, unit=count * eta)

    @override
    def steps(self, setting: Setting) -> ParameterServerSteps:
        local = self._local(setting)
        return ParameterServerSteps(
            weights=setting.weights,
            n_features=setting.n_features,
            sigma=setting.sigma if local is None else 0.0,
            theta_max=setting.theta_max,
            initial=self.initial,
            rate=self.step,
            exponent=self.exponent,
            local=local,
        )
