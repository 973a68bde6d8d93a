"""Adversaries, owners that lie: they multiply what they send, noise and all.

What they send is a function of noisy answers, so their own ε is what it was; what suffers is the
model. (:mod:`asyncdp_sim.learning.acceptance` is what a learner can do about it.)
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage, Listed
from asyncdp_sim.learning.algorithms import Array
from asyncdp_sim.spec.base import OWNER_NUMBERS, NonNegative, Positive, Variant, trait
from asyncdp_sim.spec.registry import FAMILY
from asyncdp_sim.spec.validation import show


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
