"""Budgets: over how many answers an owner spreads its ε, and when it falls silent."""

from decimal import Decimal
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of
from asyncdp_sim.privacy.accounting import gaussian_multiplier
from asyncdp_sim.spec import Count, PerOwner, Positive, Spec, per_owner, wrong_length

Array = npt.NDArray[np.float64]


class Horizon(Spec):
    """ε_i/T for each answer; an owner is spent after T answers (the papers)."""

    kind: Literal["horizon"] = "horizon"

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return T for every owner."""
        return (updates,) * n_owners

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return nothing: a horizon fits any number of owners."""
        return []


class PerOwnerCap(Spec):
    """ε_i/K_i for each answer; owner i falls silent after K_i = ``answers`` releases.

    ``answers`` (≥ 1) is one number or a list with one per owner, chosen without looking at data.
    """

    kind: Literal["per-owner-cap"] = "per-owner-cap"
    answers: PerOwner[Count]

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return K_i per owner."""
        return per_owner(self.answers, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return wrong_length("privacy.budget.answers", self.answers, n_owners)


class UntilSpent(Spec):
    """A privacy filter: charges add up, and the owner falls silent before they exceed ε_i.

    Charges do not depend on data or on earlier answers, so that how many answers fit is known
    beforehand. One of two:

    Attributes
    ----------
    answers : int or list, optional
        K_i ≥ 1; the noise is scaled so that K_i answers spend the budget, as ``per-owner-cap``.
    per_answer : float or list, optional
        ε₀ > 0 of an answer on its own (with Gaussian noise at the scenario's δ): K_i is the
        largest number of answers that together spend at most ε_i.
    """

    kind: Literal["until-spent"] = "until-spent"
    answers: PerOwner[Count] | None = None
    per_answer: PerOwner[Positive] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.answers is None) == (self.per_answer is None):
            given = "nothing" if self.answers is None else "both"
            allowed = "allowed is answers, or per_answer (ε of one answer), one of the two"
            raise faults_of([Fault("answers", given, allowed)])
        return self

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return K_i per owner where it is named."""
        if self.answers is None:
            raise TypeError(
                "how many answers fit depends on the mechanism: see Privacy.answers_allowed"
            )
        return per_owner(self.answers, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
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
