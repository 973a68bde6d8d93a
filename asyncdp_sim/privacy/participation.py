"""Participation in a run: one of N copies with its own learner, and limits on answers."""

from collections.abc import Iterator
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Count, Spec
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.core.words import agreed
from asyncdp_sim.privacy.budgets import pure_part


class OwnLearner(Spec):
    """One of N copies of the algorithm, each with another owner as the learner.

    Every owner answers in all copies, with independent noise, so ε_i covers all copies. With ``own
    = "exact-as-published"`` an owner answers exactly in its own copy and has ε_i/(N − 1) for each
    of the others. An observer of the queries or models of its own copy then learns its gradient.
    With ``own = "noised"`` it has ε_i/N for each of the N copies.
    """

    owner: Count
    own: Literal["noised", "exact-as-published"] = "noised"

    def parts(self, n_owners: int) -> int:
        """Return the number of parts of ε_i, one per copy with noise."""
        return n_owners if self.own == "noised" else n_owners - 1

    def share(self, budgets: Array) -> Array:
        """Return the budget of every owner in this copy, (N,), given ``budgets`` for all copies."""
        parts = self.parts(len(budgets))
        shares = np.array([pure_part(budget, parts) for budget in budgets.tolist()])
        if self.own == "exact-as-published":
            shares[self.owner - 1] = np.inf
        return shares

    def faults(self, n_owners: int) -> Iterator[Fault]:
        """Yield faults that concern the owners."""
        key = "privacy.learner"
        if n_owners < 2:
            yield Fault(key, "1 owner", "allowed are 2 owners or more, each with a copy")
        elif self.owner > n_owners:
            hint = f"allowed is a whole number from 1 to {n_owners}, an owner"
            yield Fault(f"{key}.owner", str(self.owner), hint)


class Participation(Spec):
    """A limit on how often an owner takes part, which the learner and the owners keep.

    Who takes part is public: no ε is smaller since an owner may be absent. At least one of:
    """

    most: Count | None = None
    apart: Count | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.most is None and self.apart is None:
            hint = "allowed is most (answers of an owner), apart (updates between two), or both"
            raise faults_of([Fault("most", "nothing", hint)])
        return self

    def describe(self) -> str:
        """Return the rule in words."""
        apart = agreed(f"at least {self.apart} updates apart")
        if self.most is None:
            return f"answers of an owner are {apart}"
        rule = f"each owner answers at most {'once' if self.most == 1 else f'{self.most} times'}"
        return rule if self.apart is None else f"{rule}, {apart}"
