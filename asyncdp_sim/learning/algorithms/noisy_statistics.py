"""One noisy answer of every owner, its second moments, from which the learner solves for θ.

The one-shot rival of all that learns from gradients: sufficient statistics, perturbed once, in the
manner of AdaSSP (Wang 2018, "Revisiting differentially private linear regression", Algorithm 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Positive
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.learning.algorithms.central import CentralState
from asyncdp_sim.learning.algorithms.kind import AlgorithmSpec
from asyncdp_sim.learning.algorithms.steps import (
    Algorithm,
    AnswerBatch,
    Gradients,
    Setting,
    owners_column,
    project,
    rows_column,
)
from asyncdp_sim.learning.objectives import Quadratic


@dataclass(frozen=True)
class Units:
    """The meaning of an answer's numbers, block by block.

    A record of the domain ‖x‖₁ ≤ r, |y| ≤ Y has ‖vech(xxᵀ)‖₁ = (‖x‖₁² + ‖x‖₂²)/2 ≤ r² and
    ‖xy‖₁ ≤ rY, both reached at x = r e_1, y = Y. It contributes (γ vech(xxᵀ)/r²,
    (1 − γ) xy/(rY)), whose L1 norm is at most 1: the answer has Ξ = 1, of which the first block
    takes the share γ.

    Attributes
    ----------
    gram : float
        r²/γ, of the numbers of vech(XᵀX/n).
    moment : float
        rY/(1 − γ), of those of Xᵀy/n.
    """

    gram: float = 1.0
    moment: float = 1.0


class Statistics:
    """Owners' answers (vech(X_iᵀX_i/n_i), X_iᵀy_i/n_i) in :class:`Units`, whatever the query.

    Attributes
    ----------
    blocks : array (N, q)
        q = p(p+1)/2 + p numbers: the upper triangle row by row, then Xᵀy/n.
    """

    def __init__(self, objective: Quadratic, units: Units) -> None:
        upper = np.triu_indices(objective.n_features)
        gram = objective.gram[:, upper[0], upper[1]] / units.gram
        self.blocks = np.concatenate([gram, objective.moment / units.moment], axis=1)

    def gradient(self, owners: Ints, points: Array) -> Array:  # noqa: ARG002
        """Return each row's owner's statistics, shape (r, q), in the place of gradients."""
        return np.asarray(self.blocks[owners])


def answer_numbers(n_features: int) -> int:
    """Return how many numbers the second moments of p features and a target are."""
    return n_features * (n_features + 3) // 2


Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


@dataclass(eq=False)
class StatisticsState(CentralState):
    """One model per replicate, and the sums over the answers that have arrived.

    Attributes
    ----------
    total : array (R, q)
        Σ (n_i/n) times the answer.
    weight : array (R,)
        Σ n_i/n.
    variance : array (R,)
        Σ (n_i/n)² 2b_i², the variance of a number of ``total``.
    """

    total: Array
    weight: Array
    variance: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyStatisticsSteps(Algorithm):
    """The learner that solves for θ again after every update.

    With Ĝ, ĝ the weighted means Σ_A n_i(·)/Σ_A n_i of what the owners A have answered, which have
    noise of known variance v in each number of Ĝ's upper triangle:

    θ = Π_Θ[(Ĝ + (λ + σ/2)I)⁻¹ ĝ],  λ = max(0, τ − λ_min(Ĝ)),  τ = 2c√(pv),

    so that Ĝ + λI ≽ τI always. As p grows the norm of Ĝ's noise, a symmetric matrix, tends to
    2√(pv) (Bai and Yin 1988); with c = 1.25 it was beyond τ in 4 % of draws at most, for p from 1
    to 100 and the Laplace noise of one owner or more. Without noise, and once all have answered,
    θ = θ* if that is inside Θ.

    Departures from AdaSSP: pure ε-DP by Laplace noise; the budget is split in two, since λ_min is
    read from Ĝ at no cost in privacy, where AdaSSP pays a third of it for λ_min(XᵀX).

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
    units : Units
        Of the answers.
    noise : array (N,)
        b_i, the Laplace scale of each number of an answer.
    caution : float
        c.
    answers_per_update : int or None
        1, or None where the protocol makes updates.
    """

    by_row: ClassVar[tuple[str, ...]] = ("weights", "theta_max", "noise")
    apply_at = "as-read"  # an answer does not depend on the model

    weights: Array
    n_features: int
    sigma: float
    theta_max: float | Array | None
    units: Units
    noise: Array
    caution: float
    answers_per_update: int | None

    @property
    @override
    def answer_size(self) -> int:
        return answer_numbers(self.n_features)

    @override
    def answered_with(self, gradients: Gradients) -> Statistics:
        if not isinstance(gradients, Quadratic):  # ``misfits`` refuses other models than ridge
            raise TypeError("only a quadratic loss is known by its second moments")
        return Statistics(gradients, self.units)

    @override
    def init(self, replicates: Sequence[Scope]) -> StatisticsState:
        rows = len(replicates)
        return StatisticsState(
            central=np.zeros((rows, self.n_features)),
            clipped=np.zeros(rows, dtype=np.int64),
            total=np.zeros((rows, self.answer_size)),
            weight=np.zeros(rows),
            variance=np.zeros(rows),
        )

    @override
    def query(self, state: StatisticsState, batch: AnswerBatch) -> Array:
        return state.central[batch.replicates]

    @override
    def apply(
        self, state: StatisticsState, batch: AnswerBatch, points: Array, answers: Array
    ) -> None:
        # an answer that an owner repeats is counted again
        rows, share = batch.replicates, owners_column(self.weights, batch)
        state.total[rows] += share * answers
        state.weight[rows] += share[:, 0]
        state.variance[rows] += (2 * (share * owners_column(self.noise, batch)) ** 2)[:, 0]

    @override
    def update(self, state: StatisticsState, rows: Ints | None = None) -> None:
        updated = np.arange(len(state.weight)) if rows is None else rows
        weight = state.weight[updated]
        mean = state.total[updated] / weight[:, None]
        deviation = self.units.gram * np.sqrt(state.variance[updated]) / weight
        model = self.solve(mean, 2 * self.caution * sqrt(self.n_features) * deviation)
        outside = project(
            model, None if self.theta_max is None else rows_column(self.theta_max, updated)
        )
        if outside is not None:
            state.clipped[updated] += outside
        state.central[updated] = model

    def solve(self, mean: Array, floor: Array) -> Array:
        """Return (Ĝ + (λ + σ/2)I)⁻¹ ĝ for mean answers (r, q) and τ (r,), each by itself.

        NaN where numbers have overflowed.
        """
        p = self.n_features
        upper, lower = np.triu_indices(p)
        gram = np.empty((len(mean), p, p))
        gram[:, upper, lower] = self.units.gram * mean[:, :-p]
        gram[:, lower, upper] = gram[:, upper, lower]
        wild = ~np.isfinite(gram).all(axis=(1, 2))
        gram[wild] = np.eye(p)  # a matrix that is not finite has no eigenvalues
        least = np.linalg.eigvalsh(gram)[:, :1]
        diagonal = np.arange(p)
        gram[:, diagonal, diagonal] += np.maximum(0.0, floor[:, None] - least) + self.sigma / 2
        moment = self.units.moment * mean[:, -p:, None]
        moment[wild] = np.nan
        return np.asarray(np.linalg.solve(gram, moment)[:, :, 0])


class NoisyStatistics(AlgorithmSpec):
    """Every owner releases its second moments once; the learner solves for θ.

    For ridge regression with records of a bounded domain. An answer holds p(p+1)/2 + p numbers, a
    query p. Under ``rounds`` all answers of a round make one update; otherwise each makes one.
    """

    updates_of = ("answer", "round")
    one_model = True
    looks_at_models = False  # second moments of records are what they are
    obfuscates = False
    xi = 1.0  # see Units

    kind: Literal["noisy-statistics"] = "noisy-statistics"
    gram_share: Share = 0.5
    caution: Positive = 1.25

    @override
    def numbers_of_answer(self, numbers: int) -> int:
        return answer_numbers(numbers)

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        model, privacy = scenario.model, scenario.privacy
        if len(privacy.faults(scenario.owners.count, model)) > 0:
            return []
        faults = self.repeated_answer_faults(scenario)
        if not model.quadratic:
            remedy = f"algorithm {self.kind} solves least squares: allowed is ridge"
            faults.insert(0, Fault("model.kind", repr(model.kind), remedy))
        if not privacy.hides:
            return faults
        if not privacy.laplace_variance:
            remedy = f"algorithm {self.kind} is scaled for laplace"
            faults.append(Fault("privacy.mechanism", repr(privacy.mechanism.kind), remedy))
        if privacy.noise != "vector":
            remedy = f'algorithm {self.kind} needs noise of its own on each number: "vector"'
            faults.append(Fault("privacy.noise", repr(privacy.noise), remedy))
        bound = privacy.sensitivity
        if bound is None:
            return faults
        scaled = f'algorithm {self.kind} is scaled for rows bounded in "l1"'
        if not bound.bounds_records:
            remedy = f"algorithm {self.kind} releases no gradients: allowed is domain"
            faults.append(Fault("privacy.sensitivity.kind", repr(bound.kind), remedy))
        elif bound.rows not in (None, "l1"):
            faults.append(Fault("privacy.sensitivity.rows", repr(bound.rows), scaled))
        elif bound.norm not in (None, "l1"):
            faults.append(Fault("privacy.sensitivity.norm", repr(bound.norm), scaled))
        return faults

    def units(self, domain: Any = None) -> Units:
        """Return the units of answers over a domain with ``row_norm`` r and ``target_max`` Y.

        Without a domain nothing is private, and all units are 1.
        """
        if domain is None:
            return Units()
        row, target, share = domain.row_norm, domain.target_max, self.gram_share
        return Units(row**2 / share, row * target / (1 - share))

    @override
    def steps(self, setting: Setting) -> NoisyStatisticsSteps:
        protocol, noise = setting.protocol, setting.noise
        return NoisyStatisticsSteps(
            weights=setting.weights,
            n_features=setting.n_features,
            sigma=setting.sigma,
            theta_max=setting.theta_max,
            units=self.units(setting.domain),
            noise=np.zeros(setting.n_owners) if noise is None else noise,
            caution=self.caution,
            answers_per_update=None if protocol is not None and protocol.makes_updates else 1,
        )
