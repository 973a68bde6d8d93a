"""Budgets: over how many answers an owner spreads its ε, and when it falls silent."""

from abc import abstractmethod
from decimal import Decimal
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of
from asyncdp_sim.privacy.accountants.own import gaussian_multiplier
from asyncdp_sim.spec import Count, Kind, PerOwner, Positive, about, per_owner, wrong_length

Array = npt.NDArray[np.float64]


MOST_ANSWERS = 10**9
"""That a budget may hold, at a price per answer; what an infinite one is taken to hold."""


class BudgetKind(Kind):
    """How an owner spends its budget."""

    follows_updates: ClassVar[bool]
    """K_i is T: in a longer run every answer has a smaller part of the budget."""
    named_answers: ClassVar[bool]
    """K_i can be named without the mechanism, and does not depend on what answers cost."""

    @abstractmethod
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...] | None:
        """Return K_i per owner where it is named; None where it follows from a price."""

    def prices(self, n_owners: int) -> tuple[float, ...] | None:  # noqa: ARG002
        """Return ε₀ of one answer per owner where that is named."""
        return None

    @abstractmethod
    def sized(self, answers: int) -> "Budget":
        """Return the budget of owners that run together for another time: at most ``answers``."""

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return what does not fit the number of owners."""
        return []


class Horizon(BudgetKind):
    """ε_i/T for each answer; an owner is spent after T answers (the papers)."""

    follows_updates = True
    named_answers = True

    kind: Literal["horizon"] = "horizon"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(),)

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        return (updates,) * n_owners

    @override
    def sized(self, answers: int) -> "Budget":
        return self


class PerOwnerCap(BudgetKind):
    """ε_i/K_i for each answer; owner i falls silent after K_i = ``answers`` releases."""

    follows_updates = False
    named_answers = True

    kind: Literal["per-owner-cap"] = "per-owner-cap"
    answers: Annotated[
        PerOwner[Count],
        about("K_i: answers that an owner releases, chosen without looking at data", "answers"),
    ]

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(answers=4), cls(answers=(1, 2, 3)))

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        return per_owner(self.answers, n_owners)

    @override
    def sized(self, answers: int) -> "Budget":
        return PerOwnerCap(answers=answers)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        return wrong_length("privacy.budget.answers", self.answers, n_owners)


class UntilSpent(BudgetKind):
    """A privacy filter: charges add up, and the owner falls silent before they exceed ε_i.

    Charges do not depend on data or on earlier answers, so that how many answers fit is known
    beforehand. One of two:
    """

    follows_updates = False
    named_answers = False

    kind: Literal["until-spent"] = "until-spent"
    answers: Annotated[
        PerOwner[Count] | None,
        about(
            "K_i: the noise is scaled so that K_i answers spend the budget, as per-owner-cap; "
            "either this or per_answer",
            "answers",
        ),
    ] = None
    per_answer: Annotated[
        PerOwner[Positive] | None,
        about(
            "ε₀ of an answer on its own (with Gaussian noise at the scenario's δ): K_i is the "
            "largest number of answers that together spend at most ε_i",
            "none",
        ),
    ] = None

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        named = (cls(answers=4), cls(answers=(1, 2, 3)))
        return (*named, cls(per_answer=0.1), cls(per_answer=(0.1, 0.25, 1.0)))

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.answers is None) == (self.per_answer is None):
            given = "nothing" if self.answers is None else "both"
            allowed = "allowed is answers, or per_answer (ε of one answer), one of the two"
            raise faults_of([Fault("answers", given, allowed)])
        return self

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...] | None:
        return None if self.answers is None else per_owner(self.answers, n_owners)

    @override
    def prices(self, n_owners: int) -> tuple[float, ...] | None:
        return None if self.per_answer is None else per_owner(self.per_answer, n_owners)

    @override
    def sized(self, answers: int) -> "Budget":
        return PerOwnerCap(answers=answers)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        found = wrong_length("privacy.budget.answers", self.answers, n_owners)
        return found + wrong_length("privacy.budget.per_answer", self.per_answer, n_owners)


Budget = Annotated[Horizon | PerOwnerCap | UntilSpent, FAMILY]
"""Every budget; a new one joins by its line here."""


def pure_answers(per_answer: float, epsilon: float) -> int:
    """Return how many answers of ε₀ each fit into ε, as decimals: 0.3 holds three of 0.1."""
    return int(_decimal(epsilon) // _decimal(per_answer))


def pure_part(epsilon: float, parts: int) -> float:
    """Return ε divided into parts, as decimals: a third of 0.3 is 0.1; ∞ of ∞."""
    return float(_decimal(epsilon) / parts)


def pure_total(per_answer: float, answers: int) -> float:
    """Return ε of K answers of ε₀ each, as decimals; at most ε where K fits."""
    return float(_decimal(per_answer) * answers)


def gaussian_answers(multiplier: float, epsilon: float, delta: float) -> int:
    """Return how many answers of noise multiplier z fit into (ε, δ).

    m answers are as one of z/√m, which must be at least the multiplier of (ε, δ).
    """
    least = gaussian_multiplier(epsilon, delta)
    fits = int((multiplier / least) ** 2)
    return fits + 1 if multiplier / np.sqrt(fits + 1) >= least else fits


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))
