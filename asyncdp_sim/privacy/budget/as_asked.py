"""Budgets of as many answers as owners are asked for by a learner that chooses whom to ask."""

from collections.abc import Sequence
from typing import Literal

from typing_extensions import override

from asyncdp_sim.privacy.budget.arithmetic import enough
from asyncdp_sim.privacy.budget.equal import PerOwnerCap
from asyncdp_sim.privacy.budget.kind import BudgetKind


class AsAsked(BudgetKind):
    """ε_i/K_i for each answer, K_i as many as the learner asks owner i for.

    Of T updates that are each owner i's with probability p_i, K_i is the least with which some
    owner falls silent before T with probability 10⁻³ at most, all N together; of tasks under way,
    T is so many more. Only what is public decides: T, p_i and the number of tasks.
    """

    follows_updates = False
    named_answers = True
    of_asked = True

    kind: Literal["as-asked"] = "as-asked"

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        return (enough(1 / n_owners, n_owners, updates),) * n_owners

    @override
    def told(self, chances: Sequence[float], asked: int) -> BudgetKind:
        return PerOwnerCap(answers=tuple(enough(each, len(chances), asked) for each in chances))

    @override
    def sized(self, answers: int) -> BudgetKind:
        return PerOwnerCap(answers=answers)


__all__ = ["AsAsked"]
