"""POLAR-SGD as a scenario names it."""

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.learning.algorithms.kind import AlgorithmKind
from asyncdp_sim.learning.algorithms.moments import Initial
from asyncdp_sim.learning.algorithms.polar.perturbation import WIDEST
from asyncdp_sim.learning.algorithms.polar.steps import PolarSteps
from asyncdp_sim.learning.algorithms.steps import Setting
from asyncdp_sim.spec import Count, NonNegative, Positive, about


class Polar(AlgorithmKind):
    """Stochastic gradients, obfuscated towards each of several servers (POLAR).

    It is not differentially private: what it hides from one curious server has no finite pure ε.

    The paper's objective is the sum over records, and ours their mean (with the regulariser
    shared out among clients by n_h/n): its α_k is ours over n, and its Y ours times n.
    """

    updates_of = ("servers",)
    one_model = True
    looks_at_models = True
    obfuscates = True

    kind: Literal["polar"] = "polar"
    step: Annotated[Positive, about("α: the steps of window w = 1, 2, … are α w^(−e)", "none")]
    exponent: Annotated[
        float,
        Field(gt=0.5, le=1),
        about("e: so large that steps sum to infinity and their squares do not", "none"),
    ]
    weight_total: Annotated[
        Positive, about("M: what a client's weights sum to over a window and its servers", "none")
    ]
    weight_bound: Annotated[
        Positive,
        about("M̄: what their absolute values sum to at most; at least weight_total", "none"),
    ]
    additive_bound: Annotated[
        NonNegative, about("Y: largest norm of an additive perturbation", "of the gradient")
    ]
    every_step: Annotated[
        bool,
        about(
            "Whether the weights of every step sum to M, and their absolute values to M̄ at most "
            "(Theorem 2). A loss that is not smooth needs it"
        ),
    ] = False
    per_coordinate: Annotated[
        bool, about("Whether each coordinate has weights of its own (POLAR, section V-B)")
    ] = False
    batch: Annotated[
        Count | None,
        about(
            "Records of each gradient, drawn with replacement; absent, all of a client's", "records"
        ),
    ] = None
    initial: Initial = "zeros"

    @model_validator(mode="after")
    def _bound_is_above(self) -> Self:
        if not self.weight_total <= self.weight_bound <= WIDEST * self.weight_total:
            low, high = self.weight_total, WIDEST * self.weight_total
            allowed = f"allowed is a number from weight_total = {low:g} to {high:.4g}"
            raise faults_of([Fault("weight_bound", f"{self.weight_bound:g}", allowed)])
        return self

    @property
    @override
    def answers_per_update(self) -> None:
        return  # as many as there are clients, or for each of their servers

    @property
    @override
    def sample(self) -> int | None:
        return self.batch

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        model, privacy, found = scenario.model, scenario.privacy, []
        if model.theta_max is None:
            allowed = "algorithm polar projects onto a box: allowed is a number > 0"
            found.append(Fault("model.theta_max", "nothing", allowed))
        if model.phi.curvature is None:
            rough = f"with model {model.kind}, whose loss is not smooth"
            if not self.every_step:
                allowed = f"allowed is true {rough}"
                found.append(Fault("algorithm.every_step", "false", allowed))
            if getattr(scenario.protocol, "read", None) == "basic":
                allowed = f"allowed: minimum-wait, client-averaged {rough}"
                found.append(Fault("protocol.read", "'basic'", allowed))
        if privacy.hides:
            allowed = "algorithm polar obfuscates and has no finite ε: allowed is none"
            found.append(Fault("privacy.mechanism", repr(privacy.mechanism.kind), allowed))
        if not privacy.budget.follows_updates:
            allowed = "algorithm polar has no budget to spend: allowed is horizon"
            found.append(Fault("privacy.budget.kind", repr(privacy.budget.kind), allowed))
        if scenario.acceptance is not None and not scenario.acceptance.takes_all:
            allowed = "with algorithm polar no server sees an answer as it is: allowed is all"
            found.append(Fault("acceptance.kind", repr(scenario.acceptance.kind), allowed))
        return found

    @override
    def steps(self, setting: Setting) -> PolarSteps:
        protocol, clients = setting.protocol, range(1, setting.n_owners + 1)
        fits = protocol is not None and self.runs_on(protocol)
        if setting.theta_max is None or not fits:
            raise ValueError("polar needs a box of models and protocol servers")
        return PolarSteps(
            weights=setting.weights,
            n_features=setting.n_features,
            sigma=setting.sigma,
            theta_max=setting.theta_max,
            reached=np.array([protocol.reached(client) for client in clients]) - 1,
            n_servers=protocol.count,
            window=protocol.window,
            agreements=protocol.agreements,
            basic=protocol.read == "basic",
            rate=self.step,
            exponent=self.exponent,
            total=self.weight_total,
            bound=self.weight_bound,
            additive=self.additive_bound,
            every_step=self.every_step,
            per_coordinate=self.per_coordinate,
            initial=self.initial,
        )
