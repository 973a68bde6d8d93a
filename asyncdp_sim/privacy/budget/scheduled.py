"""A budget that is spent unevenly: by a rule of public numbers, or by a list."""

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of, show
from asyncdp_sim.privacy.budget.equal import PerOwnerCap
from asyncdp_sim.privacy.budget.kind import Array, BudgetKind
from asyncdp_sim.spec import (
    Count,
    Finite,
    PerOwner,
    Positive,
    Several,
    about,
    per_owner,
    wrong_length,
)

LEAST = 1e-9
"""Of the largest part that an answer has: a smaller one would be nothing but noise."""


class Scheduled(BudgetKind):
    """Unequal parts of ε_i, known before anything is released: the k-th answer has part s_k.

    Of pure answers ε_ik = s_k ε_i, Σ s_k = 1; of Gaussian ones s_k is the part of 1/z², which adds
    up; with an accountant s_k is in proportion to what an answer costs alone, and all together
    cost ε_i at δ. A lost answer has spent its part. One that is never made leaves its part
    unspent: the others keep theirs. By growth, power or both, s_k ∝ g^k k^a; or by a list:
    """

    follows_updates = False
    named_answers = True
    even: ClassVar[bool] = False

    kind: Literal["scheduled"] = "scheduled"
    answers: Annotated[
        PerOwner[Count] | None,
        about(
            "K_i: answers that an owner releases, chosen without looking at data; required but "
            "with shares, which are as many",
            "answers",
        ),
    ] = None
    growth: Annotated[
        PerOwner[Positive] | None,
        about("g: each answer has g times the part of the one before, but for a", "none"),
    ] = None
    power: Annotated[
        PerOwner[Finite] | None,
        about("a: the k-th answer has k^a times the part of the first, but for g", "none"),
    ] = None
    shares: Annotated[
        Several[Positive] | None,
        about(
            "What the parts of an owner's first, second … answer are in proportion to",
            "none",
            example=[1.0, 2.0, 4.0],
        ),
    ] = None

    @model_validator(mode="after")
    def _by_rule_or_list(self) -> Self:
        rules = {"growth": self.growth, "power": self.power, "shares": self.shares}
        given = [name for name, value in rules.items() if value is not None]
        found = []
        if len(given) == 0 or (self.shares is not None and len(given) > 1):
            said = " and ".join(given) or "nothing"
            allowed = "allowed is growth, power or both, or shares alone"
            found.append(Fault("growth", said, allowed))
        elif self.shares is None and self.answers is None:
            needed = f"this field is required with {' and '.join(given)}"
            found.append(Fault("answers", "nothing", needed))
        elif self.shares is not None and self.answers is not None:
            allowed = f"allowed is nothing with shares, which are {len(self.shares)}"
            found.append(Fault("answers", show(self.answers), allowed))
        if len(found) > 0:
            raise faults_of(found)
        return self

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        if self.shares is not None:
            return (len(self.shares),) * n_owners
        return per_owner(1 if self.answers is None else self.answers, n_owners)

    @override
    def weights(self, n_owners: int) -> tuple[Array, ...]:
        if self.shares is not None:
            return (np.array(self.shares),) * n_owners
        rules = [self._exponents(owner, n_owners) for owner in range(n_owners)]
        return tuple(np.exp(each - each.max()) for each in rules)

    def _exponents(self, owner: int, n_owners: int) -> Array:
        """Return ln s_k but for a constant, (K_i,)."""
        growth = per_owner(1.0 if self.growth is None else self.growth, n_owners)[owner]
        power = per_owner(0.0 if self.power is None else self.power, n_owners)[owner]
        k = np.arange(1.0, self.answers_allowed(n_owners, 1)[owner] + 1)
        return np.asarray(k * np.log(growth) + power * np.log(k))

    @override
    def sized(self, answers: int) -> BudgetKind:
        """Return the same rule for so many answers; a list is of its own, others are equal."""
        if self.shares is not None:
            return PerOwnerCap(answers=answers)
        return self.model_copy(update={"answers": answers})

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        fields = {"answers": self.answers, "growth": self.growth, "power": self.power}
        found = [
            fault
            for name, value in fields.items()
            for fault in wrong_length(f"privacy.budget.{name}", value, n_owners)
        ]
        return found if len(found) > 0 else self._too_small(n_owners)

    def _too_small(self, n_owners: int) -> list[Fault]:
        """Return a fault where some answer has hardly any part."""
        least = min(float(each.min() / each.max()) for each in self.weights(n_owners))
        if least >= LEAST:
            return []
        name = next(x for x in ("growth", "power", "shares") if getattr(self, x) is not None)
        allowed = f"allowed are parts that are at least {LEAST:g} of the largest: fewer answers, "
        given = f"{show(getattr(self, name))}, with a part {least:.2g} of the largest"
        return [Fault(f"privacy.budget.{name}", given, f"{allowed}or a milder rule")]


__all__ = ["Scheduled"]
