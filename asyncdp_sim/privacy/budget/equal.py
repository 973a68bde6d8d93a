"""Budgets whose answers have equal parts of ε, or a price each."""

from typing import Annotated, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.privacy.budget.kind import BudgetKind
from asyncdp_sim.spec import Count, PerOwner, Positive, about, per_owner, wrong_length


class Horizon(BudgetKind):
    """ε_i/T for each answer; an owner is spent after T answers (the papers)."""

    follows_updates = True
    named_answers = True

    kind: Literal["horizon"] = "horizon"

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        return (updates,) * n_owners

    @override
    def sized(self, answers: int) -> BudgetKind:
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

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        return per_owner(self.answers, n_owners)

    @override
    def sized(self, answers: int) -> BudgetKind:
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
    def sized(self, answers: int) -> BudgetKind:
        return PerOwnerCap(answers=answers)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        found = wrong_length("privacy.budget.answers", self.answers, n_owners)
        return found + wrong_length("privacy.budget.per_answer", self.per_answer, n_owners)
