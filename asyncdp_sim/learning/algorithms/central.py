"""Algorithms with one model, moved by answers according to their staleness: FedAsync, FedBuff.

Owners keep no copies: a query is θ itself, and a step is taken from θ as it was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.specification import Count, NonNegative, Positive, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms.kind import AlgorithmSpec, Evening, Initial, LocalCount
from asyncdp_sim.learning.algorithms.steps import (
    Algorithm,
    AnswerBatch,
    LocalSteps,
    Setting,
    owners_column,
    project,
    rows_column,
)

Weighting = Literal["constant", "polynomial", "hinge"]


def weight_of(
    weighting: Weighting, exponent: float | Array, patience: float | Array, late: Ints
) -> Array:
    """Return w(s), elementwise; see :class:`CentralSteps`."""
    if weighting == "constant":
        return np.ones(late.shape)
    if weighting == "polynomial":  # scalar powers: vectorised ones differ between CPUs
        if isinstance(exponent, np.ndarray):
            rows = zip(late.ravel().tolist(), exponent.ravel().tolist(), strict=True)
            return np.array([(1.0 + s) ** -a for s, a in rows]).reshape(late.shape)
        return np.array([(1.0 + s) ** -exponent for s in late.ravel().tolist()]).reshape(late.shape)
    return np.asarray(1 / (exponent * np.maximum(late - patience, 0.0) + 1))


@dataclass(eq=False)
class CentralState:
    """One model per replicate; advanced in place.

    Attributes
    ----------
    central : array (R, p)
        θ.
    clipped : array of int (R,)
        Updates in which the projection onto Θ changed the model.
    """

    central: Array
    clipped: Ints

    def move(self, model: Array, theta_max: float | Array | None) -> None:
        """Replace the model by Π_Θ[model], and count the projections."""
        outside = project(model, theta_max)
        if outside is not None:
            self.clipped += outside
        self.central = model


def start(
    initial: Initial, replicates: Sequence[Scope], theta_max: float | Array | None, *shape: int
) -> Array:
    """Return models at k = 0, one row per replicate: Π_Θ of 0, of 1, or of draws from U[0, 1)."""
    if initial == "uniform":
        models = np.stack([scope.generator("initial").random(shape) for scope in replicates])
    else:
        models = np.full((len(replicates), *shape), 0.0 if initial == "zeros" else 1.0)
    if theta_max is not None:  # bounds on gradients hold in Θ, from the first query on
        bound = np.reshape(theta_max, (-1, *(1 for _ in shape)))
        np.clip(models, -bound, bound, out=models)
    return models


@dataclass(frozen=True, eq=False, kw_only=True)
class CentralSteps(Algorithm):
    """The numbers that all algorithms with one model need.

    Attributes
    ----------
    n_features : int
        p.
    step : array (N,)
        η N n_i/n.
    often : array (N,) or None
        Nπ_i, or Nπ_i E[w(s) | i], by which the effect of an owner's answer is divided; None where
        it is not divided.
    weighting : str
        w(s): 1 ("constant"), (1+s)^(−a) ("polynomial"), or 1 for s ≤ b and 1/(a(s−b)+1) beyond
        ("hinge").
    exponent, patience : float
        a and b.
    theta_max : float or None
        The box Θ.
    initial : str
        Where the model starts.
    local : LocalSteps, optional
        The steps of each owner, if any: an answer is the difference of two models then.
    """

    by_row: ClassVar[tuple[str, ...]] = (
        "step", "often", "exponent", "patience", "theta_max", "local",
    )  # fmt: skip
    apply_at = "as-read"

    n_features: int
    step: Array
    often: Array | None
    weighting: Weighting
    exponent: float | Array
    patience: float | Array
    theta_max: float | Array | None
    initial: Initial
    local: LocalSteps | None = None

    def start(self, replicates: Sequence[Scope]) -> Array:
        """Return the models at k = 0, in Θ, one row per replicate."""
        return start(self.initial, replicates, self.theta_max, self.n_features)

    @override
    def query(self, state: CentralState, batch: AnswerBatch) -> Array:
        return state.central.take(batch.replicates, axis=0)

    def weight(self, batch: AnswerBatch) -> Array:
        """Return w(s) of the answers of a batch, shape (r, 1)."""
        rows, late = batch.replicates, batch.staleness
        late = np.zeros_like(rows) if late is None else late
        exponent, patience = rows_column(self.exponent, rows), rows_column(self.patience, rows)
        return weight_of(self.weighting, exponent, patience, late[:, None])


class CentralKind(AlgorithmSpec):
    """An algorithm with one model, to which local steps are added with weights that fall with age.

    Owner i's answer stands for one local step, or for several. The mean step over uniform i follows
    the gradient of the whole objective. Owners that answer unequally often therefore bias it, as in
    async-gossip, unless their steps are divided by Nπ_i.
    """

    updates_of = ("answer",)
    one_model = True
    looks_at_models = True
    obfuscates = False
    needs_shares = trait(lambda self: self.selection != "uniform")
    needs_lateness = trait(lambda self: self.selection == "inverse-weight")
    treats_updates_alike = True

    step: Positive
    weighting: Weighting = "polynomial"
    exponent: NonNegative = 0.5
    patience: NonNegative = 0.0
    selection: Evening = "uniform"
    initial: Initial = "zeros"
    local_steps: LocalCount = None

    def weight(self, staleness: Ints) -> Array:
        """Return w(s), elementwise."""
        return weight_of(self.weighting, self.exponent, self.patience, staleness)

    def numbers(self, setting: Setting) -> dict[str, Any]:
        """Return the fields of :class:`CentralSteps`."""
        step, local = self.step * setting.n_owners * setting.weights, None
        if self.gradients_per_answer > 1:
            shrink = 1 - self.step * setting.sigma
            local = LocalSteps(self.gradients_per_answer, step, shrink, setting.theta_max)
        return {
            "n_features": setting.n_features,
            "step": step,
            "often": setting.overcounted(self.selection, self.weight),
            "weighting": self.weighting,
            "exponent": self.exponent,
            "patience": self.patience,
            "theta_max": setting.theta_max,
            "initial": self.initial,
            "local": local,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class FedAsyncSteps(CentralSteps):
    """FedAsync with its numbers filled in.

    With θ_τ the model as read, s updates ago, and Q the owner's answer at θ_τ:

    x = θ_τ − η (σθ_τ + N (n_i/n) Q),  θ ← Π_Θ[(1 − α_s) θ + α_s x],  α_s = α w(s).

    With local steps x = θ_τ − D, D being what :class:`LocalSteps` sends. Where selection is not
    "uniform" x − θ_τ is divided by Nπ_i, or Nπ_i E[w(s) | i].

    Attributes
    ----------
    shrink : float
        1 − ησ.
    mixing : float
        α.
    """

    by_row: ClassVar[tuple[str, ...]] = (*CentralSteps.by_row, "shrink", "mixing")
    answers_per_update = 1

    shrink: float | Array
    mixing: float | Array

    @override
    def init(self, replicates: Sequence[Scope]) -> CentralState:
        return CentralState(self.start(replicates), np.zeros(len(replicates), dtype=np.int64))

    @override
    def apply(self, state: CentralState, batch: AnswerBatch, points: Array, answers: Array) -> None:
        if self.local is None:  # one step from the points along the answers
            answers *= owners_column(self.step, batch)
            local = rows_column(self.shrink, batch.replicates) * points
            local -= answers
        else:  # the owner's own model
            local = points - answers
        if self.often is not None:
            local = points + (local - points) / owners_column(self.often, batch)
        weight = rows_column(self.mixing, batch.replicates) * self.weight(batch)
        state.move(state.central + weight * (local - state.central), self.theta_max)


class FedAsync(CentralKind):
    """Staleness-weighted asynchronous learning (Xie, Koyejo and Gupta 2019), under DP."""

    mean_step = trait(
        lambda self: self.mixing * self.step if self.gradients_per_answer == 1 else None
    )

    kind: Literal["fedasync"] = "fedasync"
    mixing: Annotated[float, Field(gt=0, le=1)]

    @override
    def steps(self, setting: Setting) -> FedAsyncSteps:
        return FedAsyncSteps(
            **self.numbers(setting),
            shrink=1 - self.step * setting.sigma,
            mixing=self.mixing,
        )


@dataclass(eq=False)
class BufferState(CentralState):
    """One model per replicate and the sum in its buffer.

    Attributes
    ----------
    buffer : array (R, p)
        Σ w(s_b) Δ_b over the answers that have arrived since the last update.
    """

    buffer: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class FedBuffSteps(CentralSteps):
    """FedBuff with its numbers filled in.

    With θ_b the model as read for answer b, s_b updates before the one that uses it, and Q_b the
    owner's answer at θ_b:

    Δ_b = η_l (σθ_b + N (n_i/n) Q_b),  θ ← Π_Θ[θ − (η_g/B) Σ_b w(s_b) Δ_b].

    With local steps Δ_b is the difference that :class:`LocalSteps` sends. Where selection is not
    "uniform" it is divided by Nπ_i, or Nπ_i E[w(s) | i].

    Attributes
    ----------
    shrink : float
        η_l σ.
    server_step : float
        η_g.
    answers_per_update : int
        B.
    """

    by_row: ClassVar[tuple[str, ...]] = (*CentralSteps.by_row, "shrink", "server_step")

    shrink: float | Array
    server_step: float | Array
    answers_per_update: int

    @override
    def init(self, replicates: Sequence[Scope]) -> BufferState:
        model = self.start(replicates)
        clipped = np.zeros(len(replicates), dtype=np.int64)
        return BufferState(model, clipped, np.zeros_like(model))

    @override
    def apply(self, state: BufferState, batch: AnswerBatch, points: Array, answers: Array) -> None:
        if self.local is None:
            answers *= owners_column(self.step, batch)
            answers += rows_column(self.shrink, batch.replicates) * points
        if self.often is not None:
            answers /= owners_column(self.often, batch)
        answers *= self.weight(batch)
        state.buffer += answers

    @override
    def update(self, state: BufferState, rows: Ints | None = None) -> None:
        scale = self.server_step / self.answers_per_update
        state.move(state.central - scale * state.buffer, self.theta_max)
        state.buffer = np.zeros_like(state.central)


class FedBuff(CentralKind):
    """Buffered asynchronous learning (Nguyen et al. 2022), under DP."""

    answers_per_update = trait(lambda self: self.buffer)
    mean_step = trait(
        lambda self: self.step * self.server_step if self.gradients_per_answer == 1 else None
    )
    sums_suffice = trait(
        lambda self: (
            self.weighting == "constant"
            and not self.needs_shares
            and self.gradients_per_answer == 1
        )
    )

    kind: Literal["fedbuff"] = "fedbuff"
    server_step: Positive
    buffer: Count

    @override
    def steps(self, setting: Setting) -> FedBuffSteps:
        return FedBuffSteps(
            **self.numbers(setting),
            shrink=self.step * setting.sigma,
            server_step=self.server_step,
            answers_per_update=self.buffer,
        )
