"""Bounds on a record gradient, declared or enforced. They limit the effect of one record.

Every bound Ξ is the largest norm of one record's gradient; the sensitivity of a mean of n_i
gradients under replacement of one record is 2Ξ/n_i. For Laplace noise the norm is L1, for
Gaussian noise L2.
"""

from abc import abstractmethod
from collections.abc import Sequence
from math import sqrt
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.specification import FAMILY, Positive, Variant, trait
from asyncdp_sim.learning.answers import AdaptiveBound
from asyncdp_sim.learning.objectives import Model, Norm

NormChoice = Literal["l1", "l2", "l2-as-published"]


class SensitivityKind(Variant):
    """A bound on a record's gradient."""

    enforced: ClassVar[bool]
    """It holds for every possible record; else it is assumed, and checked on the records."""
    bounds_records: ClassVar[bool]
    """Records themselves are bounded, and so is everything computed from them."""

    kind: str
    norm: NormChoice | None = None

    def measured(self, otherwise: Norm = "l1") -> Norm:
        """Return the norm that bounds a record's gradient; ``otherwise`` if none is named."""
        if self.norm is None:
            return otherwise
        return "l1" if self.norm == "l1" else "l2"

    @abstractmethod
    def xi(self, model: Model, n_features: int, otherwise: Norm = "l1") -> float:
        """Return Ξ of a model for rows of ``n_features`` numbers, without an intercept's constant.

        Raises
        ------
        ValueError
            If the model has no bound.
        """

    clip_bound: ClassVar[float | None] = None
    """The norm that record gradients are scaled down to, where they are; the first of several."""
    moving: ClassVar[bool] = False
    """The bound is another one in every round, and moves by noisy counts."""
    count_share: ClassVar[float] = 0.0
    """The part of an answer's 1/z² that pays for these counts."""

    def moves(self, noise: float, norm: Norm) -> AdaptiveBound | None:  # noqa: ARG002
        """Return how the bound moves by counts with so much noise; None where it stays."""
        return None

    def confine(
        self,
        features: Sequence[Array],
        targets: Sequence[Array],
        otherwise: Norm = "l1",  # noqa: ARG002
    ) -> tuple[list[Array], list[Array]]:
        """Return the records used for learning, per owner."""
        return list(features), list(targets)

    def describe(self, model: Model, n_features: int, otherwise: Norm = "l1") -> str | None:  # noqa: ARG002
        """Return the line that ``check`` prints, if any."""
        return None

    def faults(self, model: Model) -> list[Fault]:  # noqa: ARG002
        """Return faults for a model."""
        return []


class Declared(SensitivityKind):
    """Ξ is an assumption, which the run checks against the records; it is not a guarantee."""

    enforced = False
    bounds_records = False

    kind: Literal["declared"] = "declared"
    bound: Positive

    @override
    def xi(self, model: Model, n_features: int, otherwise: Norm = "l1") -> float:
        return self.bound

    @override
    def describe(self, model: Model, n_features: int, otherwise: Norm = "l1") -> str:
        return (
            f"the bound {self.bound:g} is declared: the run looks for records beyond it at "
            "every query that is answered, and ε is at least what it finds"
        )


class Clip(SensitivityKind):
    """Every record's gradient is scaled down to norm at most Ξ = ``bound``: a guarantee."""

    enforced = True
    bounds_records = False

    kind: Literal["clip"] = "clip"
    bound: Positive

    clip_bound = trait(lambda self: self.bound)

    @override
    def xi(self, model: Model, n_features: int, otherwise: Norm = "l1") -> float:
        return self.bound


class AdaptiveClip(SensitivityKind):
    """Owners' answers are scaled down to a bound that follows a quantile of their norms.

    In each round the learner counts the answers within the bound, adds noise to the count, and
    moves the bound for the next round by it. Of each answer's 1/z², ``share`` pays for its place in
    the count, and the rest for its place in the sum. Bounds are public.
    """

    enforced = True
    bounds_records = False

    kind: Literal["adaptive-clip"] = "adaptive-clip"
    start: Positive
    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.5
    rate: Positive = 0.2
    share: Annotated[float, Field(gt=0, lt=1)] = 0.05

    moving = True
    clip_bound = trait(lambda self: self.start)
    count_share = trait(lambda self: self.share)

    @override
    def xi(self, model: Model, n_features: int, otherwise: Norm = "l1") -> float:
        return self.start

    @override
    def describe(self, model: Model, n_features: int, otherwise: Norm = "l1") -> str:
        more = 100 * ((1 - self.share) ** -0.5 - 1)
        return (
            f"clip bound: starts at Ξ = {self.start:g} and moves to the {self.quantile:g} quantile "
            "of the lengths of owners' answers, by a noisy count in every round; counts take "
            f"{100 * self.share:g} % of 1/z², so that the noise on sums is {more:.3g} % larger at "
            "the same Ξ; every round's bound is public"
        )

    def moves(self, noise: float, norm: Norm) -> AdaptiveBound:
        """Return how the bound moves by sums of votes with noise of this standard deviation."""
        return AdaptiveBound(self.start, self.quantile, self.rate, noise, norm)


class Domain(SensitivityKind):
    """Every record is first scaled into a bounded domain: a guarantee.

    Rows are scaled down to ‖x‖ ≤ ``row_norm``, targets are clipped to |y| ≤ ``target_max``, and Θ
    is the box of ``model.theta_max``; for the ridge loss Ξ = 2 (target_max + θ_max · max‖x‖₁) ·
    row_norm. In L1, max‖x‖₁ = row_norm; in L2 it is √p row_norm. Losses of bounded slope need no
    box: Ξ = row_norm for the logistic loss, and row_norm + 1 (in L2
    √(row_norm² + 1)) for the SVM, whose rows are augmented by 1 after they were scaled. The neural
    network needs the box with any loss. Labels need ``target_max`` ≥ 1.
    """

    enforced = True
    bounds_records = True

    kind: Literal["domain"] = "domain"
    row_norm: Positive
    target_max: Positive
    rows: Norm | None = None

    @override
    def xi(self, model: Model, n_features: int, otherwise: Norm = "l1") -> float:
        norm = self.measured(otherwise)
        rows = norm if self.rows is None else self.rows
        bound = model.gradient_bound(self.row_norm, self.target_max, n_features, rows)
        if bound is None:
            raise ValueError("a domain bound needs a bounded Θ: set model.theta_max")
        widened = rows == "l2" and norm == "l1"
        return bound * sqrt(model.numbers(n_features)) if widened else bound

    @override
    def describe(self, model: Model, n_features: int, otherwise: Norm = "l1") -> str:
        """Return the largest record gradient in the domain, in both norms, in words."""
        rows = self.measured(otherwise) if self.rows is None else self.rows
        named = self.model_copy(update={"rows": rows, "norm": None})
        bounds = [named.xi(model, n_features, norm) for norm in ("l1", "l2")]
        sentence = "in the domain record gradients are bounded by Ξ₁ = {l1:.4g} and Ξ₂ = {l2:.4g}"
        return FormattedMessage(sentence, l1=bounds[0], l2=bounds[1])

    @override
    def confine(
        self, features: Sequence[Array], targets: Sequence[Array], otherwise: Norm = "l1"
    ) -> tuple[list[Array], list[Array]]:
        """Return the records scaled into the domain, per owner."""
        norm = self.measured(otherwise) if self.rows is None else self.rows
        order = 1 if norm == "l1" else 2
        rows = []
        for x in features:
            length = np.linalg.norm(x, ord=order, axis=1)
            shrink = self.row_norm / np.maximum(length, self.row_norm)
            rows.append(np.asfortranarray(x * shrink[:, None]))
        limited = [np.clip(y, -self.target_max, self.target_max) for y in targets]
        return rows, limited

    @override
    def faults(self, model: Model) -> list[Fault]:
        faults = []
        if model.gradient_bound(self.row_norm, self.target_max, 1, "l1") is None:
            hint = "a domain bound needs model.theta_max"
            faults.append(Fault("model.theta_max", "nothing", hint))
        largest = max(model.labels, default=0.0)
        if self.target_max < largest:
            value = f"{self.target_max:g}"
            hint = f"allowed is ≥ {largest:g}, the largest label"
            faults.append(Fault("privacy.sensitivity.target_max", value, hint))
        return faults


Sensitivity = Annotated[Declared | Clip | AdaptiveClip | Domain, FAMILY]
"""Every way to bound a record's influence; a new one joins by its line here."""
