"""Synchronous algorithms: a round's answers are averaged, then one step is taken along the mean.

These are Algorithms 1 and 2 of Collab, and the plain parameter server (POLAR, section II): the
baseline that POLAR-SGD is held against, with one server and gradients as they are.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Count, Positive, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms.central import start
from asyncdp_sim.learning.algorithms.kind import AlgorithmSpec, Initial, LocalCount, Schedule
from asyncdp_sim.learning.algorithms.steps import (
    Algorithm,
    AnswerBatch,
    LocalSteps,
    Setting,
    owners_column,
    power,
    project,
)


@dataclass(eq=False)
class GatheredState:
    """One model per replicate, and the answers of this round so far; advanced in place.

    Attributes
    ----------
    central : array (R, p)
        The model that is judged.
    model : array (R, p)
        θ, at which gradients are taken.
    clipped : array of int (R,)
        Updates in which the projection onto Θ changed θ.
    batches, answers : list
        This round's answers, in the order of arrival.
    k : int
        Updates made.
    """

    central: Array
    model: Array
    clipped: Ints
    batches: list[AnswerBatch] = field(default_factory=list)
    answers: list[Array] = field(default_factory=list)
    k: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class GatheredSteps(Algorithm):
    """The numbers that all synchronous algorithms need.

    With A the owners that answered in a round, a step follows their weighted mean
    Σ_{A} n_i Q_i / Σ_{A} n_i, which is Σ (n_i/n) Q_i where all did (Collab, equation 5).

    Attributes
    ----------
    weights : array (N,)
        n_i/n.
    n_features : int
        p.
    sigma : float
        σ.
    theta_max : float or None
        The box Θ.
    initial : str
        Where the model starts.
    """

    by_row: ClassVar[tuple[str, ...]] = ("weights", "sigma", "theta_max")
    answers_per_update = None  # the protocol says when a round is over,
    apply_at = "as-read"  # during which the model does not change

    weights: Array
    n_features: int
    sigma: float | Array
    theta_max: float | Array | None
    initial: Initial

    @override
    def init(self, replicates: Sequence[Scope]) -> GatheredState:
        model = start(self.initial, replicates, self.theta_max, self.n_features)
        return GatheredState(model.copy(), model, np.zeros(len(replicates), dtype=np.int64))

    @override
    def query(self, state: GatheredState, batch: AnswerBatch) -> Array:
        return state.model[batch.replicates]

    @override
    def apply(
        self, state: GatheredState, batch: AnswerBatch, points: Array, answers: Array
    ) -> None:
        state.batches.append(batch)
        state.answers.append(answers)

    def mean(self, state: GatheredState) -> Array:
        """Return the mean of this round's answers, shape (R, p), and forget them."""
        total, weight = np.zeros_like(state.model), np.zeros((len(state.model), 1))
        for batch, answers in zip(state.batches, state.answers, strict=True):
            share = owners_column(self.weights, batch)
            total[batch.replicates] += share * answers
            weight[batch.replicates] += share
        state.batches, state.answers = [], []
        weight[weight == 0] = 1  # a replicate without answers does not move
        return np.asarray(total / weight)

    @abstractmethod
    def step_size(self, k: int) -> float | Array:
        """Return the step of update k, from 1."""

    @override
    def update(self, state: GatheredState, rows: Ints | None = None) -> None:
        self.move(state, rows)
        state.central = state.model.copy()

    def move(self, state: GatheredState, rows: Ints | None) -> None:
        """Take θ ← Π_Θ[θ − step (σθ + mean)] in these replicates; count the update."""
        direction = self.sigma * state.model + self.mean(state)
        model = state.model - self.step_size(state.k + 1) * direction
        outside = project(model, self.theta_max)
        updated = slice(None) if rows is None else rows
        if outside is not None:
            state.clipped[updated] += outside[updated]
        state.model[updated] = model[updated]
        state.k += 1


class GatheredKind(AlgorithmSpec):
    """A synchronous algorithm, which steps along the mean of a round's answers."""

    updates_of = ("round",)
    one_model = True
    looks_at_models = True
    obfuscates = False
    sums_suffice = True
    answers_per_update = None  # as many as a round brings
    in_rounds = trait(lambda self: self if self.gradients_per_answer == 1 else None)

    @abstractmethod
    def schedule(self, step: float | Array, updates: int) -> Schedule:
        """Return the steps of T rounds for one value of the step's field, or several."""

    def numbers(self, setting: Setting) -> dict[str, Any]:
        """Return the fields of :class:`~.gathered.GatheredSteps`."""
        return {
            "weights": setting.weights,
            "n_features": setting.n_features,
            "sigma": setting.sigma,
            "theta_max": setting.theta_max,
            "initial": self.starts_at,
        }


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
    def step_size(self, k: int) -> float | Array:
        return self.rate / k


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
    def update(self, state: GatheredState, rows: Ints | None = None) -> None:
        k = state.k + 1
        old, new = (k - 1) / (self.lead + k), (self.lead + 1) / (self.lead + k)
        updated = slice(None) if rows is None else rows
        average = state.central.copy()
        average[updated] = (old * average + new * state.model)[updated]
        self.move(state, rows)
        state.central = average

    @override
    def step_size(self, k: int) -> float | Array:
        return self.rate / sqrt(k)


class CollabKind(GatheredKind):
    """Synchronous learning with noisy gradients of all owners.

    The papers' loop makes T − 1 updates and charges T answers; here T updates use the T answers
    that are charged.
    """

    initial: Initial = "zeros"

    @model_validator(mode="before")
    @classmethod
    def _without_trim(cls, given: Any) -> Any:
        """Drop ``trim = 0`` (no answer is left out), which scenarios of older versions have."""
        if isinstance(given, Mapping) and given.get("trim") == 0:
            return {name: value for name, value in given.items() if name != "trim"}
        return given

    @model_serializer(mode="wrap")
    def _with_trim(
        self, written: SerializerFunctionWrapHandler, how: SerializationInfo
    ) -> dict[str, Any]:
        """Write ``trim = 0``, as older versions did: digests, which name results, hold it."""
        table: dict[str, Any] = written(self)
        if how.exclude_unset or how.exclude_defaults:
            return table
        return {"kind": table["kind"], "trim": 0, **table}


class Collab1(CollabKind):
    """Algorithm 1, for smooth and strongly convex fitness; published with Θ the whole space."""

    step_field = "rho"

    kind: Literal["collab-1"] = "collab-1"
    rho: Positive

    @override
    def schedule(self, step: float | Array, updates: int) -> Schedule:
        """γ_k = ρ/(T²k)."""
        return Schedule.from_sizes(lambda k: step / (updates**2 * k), updates)

    @override
    def steps(self, setting: Setting) -> Collab1Steps:
        return Collab1Steps(**self.numbers(setting), rate=self.rho / setting.horizon**2)


class Collab2(CollabKind):
    """Algorithm 2, for convex fitness; ψ is that of its average θ̄."""

    kind: Literal["collab-2"] = "collab-2"
    step: Positive

    @override
    def schedule(self, step: float | Array, updates: int) -> Schedule:
        """γ_k = c_1/√k, a_k = (k − 1)/(1/√T + k)."""
        k, steps = np.arange(1, updates + 1), Schedule.from_sizes(lambda k: step / sqrt(k), updates)
        return replace(steps, kept=(k - 1) / (1 / sqrt(updates) + k))

    @override
    def steps(self, setting: Setting) -> Collab2Steps:
        return Collab2Steps(**self.numbers(setting), rate=self.step, lead=1 / sqrt(setting.horizon))


@dataclass(frozen=True, eq=False, kw_only=True)
class ParameterServerSteps(GatheredSteps):
    """x ← Π_X[x − α_k (σx + Σ (n_h/n) g_h)], with α_k = α k^(−e).

    The paper's f is a sum over records, here it is a mean: the paper's α_k is this one divided by
    n. With E local steps of η, the mean is over D_h/(Eη), where D_h is the difference that
    :class:`LocalSteps` sends. It contains σx. With α_k = Eη the new model is the mean of the
    owners' models.

    Attributes
    ----------
    rate, exponent : float
        α and e.
    local : LocalSteps, optional
        The steps of each owner; ``sigma`` is 0 then.
    """

    by_row: ClassVar[tuple[str, ...]] = (*GatheredSteps.by_row, "rate", "exponent", "local")

    rate: float | Array
    exponent: float | Array
    local: LocalSteps | None = None

    @override
    def step_size(self, k: int) -> float | Array:
        return self.rate * power(k, -self.exponent)


class ParameterServer(GatheredKind):
    """Synchronous gradient descent on one server."""

    sample = trait(lambda self: self.batch)
    treats_updates_alike = trait(lambda self: self.exponent == 0)

    kind: Literal["parameter-server"] = "parameter-server"
    step: Positive
    exponent: Annotated[float, Field(ge=0, le=1)] = 0.0
    batch: Count | None = None
    initial: Initial = "zeros"
    local_steps: LocalCount = None
    local_step: Positive | None = None

    @override
    def schedule(self, step: float | Array, updates: int) -> Schedule:
        """γ_k = α k^(−e)."""
        return Schedule.from_sizes(lambda k: step * k**-self.exponent, updates)

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        faults, several = super().misfits(scenario), self.gradients_per_answer > 1
        if several and self.local_step is None:
            remedy = "this field is required with local steps: η > 0"
            faults.append(Fault("algorithm.local_step", "nothing", remedy))
        if self.local_step is not None and not several:
            remedy = "allowed only with local steps: owners answer with a gradient"
            faults.append(Fault("algorithm.local_step", f"{self.local_step:g}", remedy))
        return faults

    @override
    def steps(self, setting: Setting) -> ParameterServerSteps:
        numbers, local = self.numbers(setting), None
        eta, count = self.local_step, self.gradients_per_answer
        if eta is not None and count > 1:
            numbers["sigma"] = 0.0  # the difference that owners send contains σx
            step, shrink = np.full(setting.n_owners, eta), 1 - eta * setting.sigma
            local = LocalSteps(count, step, shrink, setting.theta_max, unit=count * eta)
        return ParameterServerSteps(**numbers, rate=self.step, exponent=self.exponent, local=local)
