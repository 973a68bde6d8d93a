"""Owners that lie, and acceptance rules, by which a learner bounds answers that it cannot trust.

It knows, without looking at data, how long an honest answer can be, and can bound what it takes by
that. A bound stops answers that are too long; it does not stop those of honest length that point
the wrong way.

Adversaries are owners that lie: they multiply what they send, noise and all. What they send is a
function of noisy answers, so their own ε is what it was; what suffers is the model.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage, Listed
from asyncdp_sim.learning import clipping, reply
from asyncdp_sim.learning.algorithms import Array
from asyncdp_sim.spec.base import OWNER_NUMBERS, NonNegative, Positive, Variant, trait
from asyncdp_sim.spec.registry import FAMILY
from asyncdp_sim.spec.validation import faults_of, show


class AdversaryKind(Variant):
    """Owners that multiply what they send."""

    multiplier: ClassVar[float]
    """What they multiply their noisy answers by."""

    kind: str
    owners: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False), OWNER_NUMBERS]

    def factors(self, n_owners: int) -> Array:
        """Return a_i per owner, shape (N,): 1 where owner i is honest."""
        factors = np.ones(n_owners)
        factors[[owner - 1 for owner in self.owners]] = self.multiplier
        return factors

    def faults(self, n_owners: int) -> list[Fault]:
        """Return owners that there are not, owners named twice, and that nobody is honest."""
        remedy = None
        if max(self.owners, default=0) > n_owners:
            remedy = f"allowed are owner numbers 1 to {n_owners}"
        elif len(set(self.owners)) < len(self.owners):
            remedy = "allowed is every owner once"
        elif len(self.owners) == n_owners:
            remedy = f"allowed are at most {n_owners - 1}: one owner at least is honest"
        return [] if remedy is None else [Fault("adversary.owners", show(self.owners), remedy)]

    def describe(self, called: Sequence[int]) -> str:
        """Return who lies, and how, owners 1…N being called by these numbers."""
        if len(self.owners) == 0:
            return "no owner lies"
        lie = "lies" if len(self.owners) == 1 else "lie"
        return FormattedMessage(
            f"{{owners}} {lie}: what is sent is {{times:g}} times the noisy answer",
            owners=Listed.from_numbers([called[owner - 1] for owner in self.owners]),
            times=self.multiplier,
        )


class Flip(AdversaryKind):
    """Answers are multiplied by −``factor``.

    If a share λ of identical owners flips, the learner follows (1 − λ − λ·factor) ∇f: the wrong
    direction for λ > 1/(1 + factor).
    """

    multiplier = trait(lambda self: -self.factor)

    kind: Literal["flip"] = "flip"
    factor: Positive = 1.0


class Scale(AdversaryKind):
    """Answers are multiplied by ``factor``; 0 sends zeros."""

    multiplier = trait(lambda self: self.factor)

    kind: Literal["scale"] = "scale"
    factor: NonNegative


Adversary = Annotated[Flip | Scale, FAMILY]
"""Every way for owners to lie; a new one joins by its line here."""


QUANTILE = 0.99
"""Share of honest answers that a bound lets pass, unless a scenario says otherwise."""


@dataclass(frozen=True, eq=False)
class HonestAnswers:
    """Public facts of the length of honest answers ∇f_i + noise.

    Attributes
    ----------
    reach : float
        Bound on ‖∇f_i‖₁, declared or enforced: Ξ, or √p Ξ where Ξ bounds an L2 norm.
    noise : AnswerNoise
    n_features : int
        p.
    """

    reach: float
    noise: reply.AnswerNoise
    n_features: int

    def length(self, quantile: float) -> Array:
        """Return L1 norms that honest answers exceed with probability at most 1 − q, shape (N,).

        B_i = reach + F_i⁻¹(q), F_i the distribution function of the noise's L1 norm or less.
        With Laplace noise, ‖∇f_i‖₁ = reach and both pointing the same way, the probability is
        1 − q.

        Parameters
        ----------
        quantile : float
            q in (0, 1).
        """
        return np.asarray(self.reach + self.noise.norm_quantile(self.n_features, quantile))


def clipped(bounds: Array, owners: Ints, answers: Array) -> Array:
    """Return a min(1, B_i/‖a‖₁) for each row, shape (r, p); what is not finite counts as zero.

    ``bounds`` (N,) are B_i > 0.
    """
    return clipping.clipped(answers, bounds[owners], "l1")


def trimmed(bounds: Array, owners: Ints, answers: Array) -> Array:
    """Return each row, or zeros where ‖a‖₁ > B_i or it is not finite, shape (r, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.abs(answers).sum(axis=1) <= bounds[owners]
    return np.where(fits[:, None], answers, 0.0)


class AcceptanceKind(Variant):
    """A learner's rule for answers."""

    takes_all: ClassVar[bool]
    """Answers are taken as they come."""

    @abstractmethod
    def rule(self, honest: HonestAnswers) -> reply.Change | None:
        """Return what the learner does to answers; None where it does nothing."""

    def faults(self, mechanism: str) -> list[Fault]:  # noqa: ARG002
        """Return what does not fit a mechanism."""
        return []

    @abstractmethod
    def describe(self) -> str:
        """Return what becomes of answers."""


class AcceptAll(AcceptanceKind):
    """The learner accepts all answers, as published."""

    takes_all = True

    kind: Literal["all"] = "all"

    @override
    def rule(self, honest: HonestAnswers) -> None:
        return

    @override
    def describe(self) -> str:
        return "answers are taken as they come"


class BoundedKind(AcceptanceKind):
    """A rule by which answers have a bound on their length."""

    takes_all = False
    effect: ClassVar[str]
    """What is done with answers beyond their bounds."""

    bound: Positive | None = None
    quantile: Annotated[float, Field(gt=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.bound is not None and self.quantile is not None:
            remedy = "allowed is bound or quantile, not both"
            raise faults_of([Fault("quantile", show(self.quantile), remedy)])
        return self

    def bounds(self, honest: HonestAnswers) -> Array:
        """Return B_i, shape (N,)."""
        if self.bound is not None:
            return np.full(len(honest.noise.scale), self.bound)
        return honest.length(QUANTILE if self.quantile is None else self.quantile)

    @override
    def faults(self, mechanism: str) -> list[Fault]:
        # a bound is worked out from the noise
        if self.bound is not None or mechanism != "none":
            return []
        remedy = f"allowed is a number > 0: with mechanism {mechanism} it is not worked out"
        return [Fault("acceptance.bound", "nothing", remedy)]

    @override
    def describe(self) -> str:
        if self.bound is not None:
            return FormattedMessage(
                f"answers longer than {{bound:g}} (L1) {self.effect}", bound=self.bound
            )
        most = 1 - (QUANTILE if self.quantile is None else self.quantile)
        usual = "honest ones are with probability {most:.3g} at most"
        return FormattedMessage(f"answers longer (L1) than {usual} {self.effect}", most=most)


class ClipAnswers(BoundedKind):
    """Longer answers are scaled down to the bound.

    Noise makes answers long. A bound near the norm of the gradient therefore clips honest answers
    and shortens their mean: E clip(g + w) is about g B/E‖w‖₁ for B ≪ E‖w‖₁.
    """

    effect = "are scaled down"

    kind: Literal["clip"] = "clip"

    @override
    def rule(self, honest: HonestAnswers) -> reply.Change:
        return partial(clipped, self.bounds(honest))


class TrimAnswers(BoundedKind):
    """Longer answers count as zero gradients; their updates and rounds still take place.

    (``algorithm.trim`` of Collab is a trimmed mean over the answers of a round.)
    """

    effect = "count as zero"

    kind: Literal["trim"] = "trim"

    @override
    def rule(self, honest: HonestAnswers) -> reply.Change:
        return partial(trimmed, self.bounds(honest))


Acceptance = Annotated[AcceptAll | ClipAnswers | TrimAnswers, FAMILY]
"""Everything that a learner may do to answers; a new one joins by its line here."""
