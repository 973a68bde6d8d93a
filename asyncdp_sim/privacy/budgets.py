"""Budgets: the number of answers that share an owner's ε, and the share of each."""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import ceil, fsum
from typing import Annotated, ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import (
    FAMILY_IN_TABLES,
    Count,
    Finite,
    PerOwner,
    Positive,
    Several,
    Spec,
    Variant,
    per_owner,
    wrong_length,
)
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import agreed

RARE = 1e-3
"""Accepted probability that any owner stops before the end."""


def enough(share: float, members: int, updates: int) -> int:
    """Return the least K with which any such owner stops before T with P ≤ 10⁻³.

    An owner has K of the first T − 1 updates with probability P(Bin(T − 1, p) ≥ K), and there are k
    such owners.

    Parameters
    ----------
    share : float
        p, the probability that an update is this owner's.
    members : int
        k ≥ 1.
    updates : int
        T ≥ 1.
    """
    from scipy.special import bdtrc  # a slow import

    def rarely_stops(answers: int) -> bool:
        return bool(members * bdtrc(answers - 1, updates - 1, share) <= RARE)

    least = max(1, ceil((updates - 1) * share))
    return bisect_left(range(updates), True, least, key=rarely_stops)


def pure_answers(per_answer: float, epsilon: float) -> int:
    """Return how many answers of ε₀ each are within ε, in decimals: three of 0.1 in 0.3."""
    return int(_decimal(epsilon) // _decimal(per_answer))


def pure_part(epsilon: float, parts: int) -> float:
    """Return ε divided by ``parts``, in decimals: a third of 0.3 is 0.1; ∞ for ∞."""
    return float(_decimal(epsilon) / parts)


def pure_total(per_answer: float, answers: int) -> float:
    """Return ε of K answers of ε₀ each, in decimals; at most ε if K is within the budget."""
    return float(_decimal(per_answer) * answers)


def _decimal(number: float) -> Decimal:
    return Decimal(repr(float(number)))


_ULP = 2.0**-52


@dataclass(frozen=True, eq=False)
class BudgetSchedule:
    """Parts s_ik of an owner's budget: of ε for pure answers, of 1/z² for Gaussian ones.

    The k-th released answer of an owner has the k-th part, whatever the outcome of earlier ones. A
    lost answer has spent its part; an answer that is not released leaves it unspent.

    Attributes
    ----------
    parts : tuple of array (K_i,)
        s_i1 … s_iK of each owner, > 0; Σ_k s_ik ≤ 1, and 1 up to rounding.
    """

    parts: tuple[Array, ...]

    @classmethod
    def from_weights(cls, weights: Sequence[Array]) -> "BudgetSchedule":
        """Return the one whose parts are in proportion to these weights, (K_i,) each."""
        return cls(tuple(_parts(owner_weights) for owner_weights in weights))

    @cached_property
    def answers(self) -> Ints:
        """K_i, shape (N,)."""
        return np.array([len(owner_parts) for owner_parts in self.parts], dtype=np.int64)

    @cached_property
    def _first(self) -> Ints:
        """Index of each owner's first answer among all, (N,)."""
        return np.cumsum(self.answers) - self.answers

    def places(self, owners: Ints, numbers: Ints) -> Ints:
        """Return indices of answers among those of all owners, which are ordered by owner.

        Parameters
        ----------
        owners, numbers : array of int (r,)
            The owner, and the number of its earlier releases, both from 0.
        """
        return np.asarray(self._first[owners] + numbers)

    def of_owners(self, numbers: Array) -> Array:
        """Return each owner's number for each of its answers, (ΣK_i,)."""
        return np.repeat(numbers, self.answers)

    @cached_property
    def relative(self) -> Array:
        """K_i s_ik, the part of each answer over an equal part, (ΣK_i,)."""
        return np.concatenate(self.parts) * self.of_owners(self.answers.astype(float))

    def of_any(self, answers: Bools) -> Bools:
        """Return for which owners any answer is flagged, (N,), given flags of answers (ΣK_i,)."""
        return np.asarray(np.logical_or.reduceat(answers, self._first))

    def of_one(self, owner: int) -> tuple[float, ...]:
        """Return the entries of :attr:`relative` of one owner (from 0)."""
        first = int(self._first[owner])
        return tuple(self.relative[first : first + int(self.answers[owner])].tolist())

    @cached_property
    def _spent(self) -> Array:
        """K_i Σ_{l ≤ k} s_il for k = 0 … K_i, (ΣK_i + N,)."""
        return np.concatenate([_running(owner_parts) for owner_parts in self.parts])

    def equal(self, released: Ints) -> Array:
        """Return how many answers with equal parts cost as much as these, shape (..., N).

        K_i Σ_{k ≤ m} s_ik for m answers, and exactly K_i for K_i.
        """
        starts = self._first + np.arange(len(self.parts))
        return np.asarray(self._spent[starts + released])


def _parts(weights: Array) -> Array:
    """Return weights divided by their sum; the results add up to at most 1."""
    parts = weights / fsum(weights.tolist())
    while fsum([*parts.tolist(), -1.0]) > 0:  # exact, but for the last digit of what is left
        parts = parts * (1 - _ULP)
    return parts


def _running(parts: Array) -> Array:
    """Return K times the sums of the first 0 … K parts, rising; the last is K."""
    count = len(parts)
    sums = np.concatenate([[0.0], count * np.cumsum(parts)])
    sums[-1] = count
    return np.asarray(np.minimum(sums, count))


MOST_ANSWERS = 10**9
"""Largest number of answers of a budget with a price per answer, and of an infinite budget."""


class BudgetKind(Variant):
    """A way for an owner to spend its budget."""

    follows_updates: ClassVar[bool]
    """K_i is T: in a longer run every answer has a smaller part of the budget."""
    named_answers: ClassVar[bool]
    """K_i is known without the mechanism, and does not depend on the cost of answers."""
    even: ClassVar[bool] = True
    """All answers of an owner have the same part of its budget."""

    of_asked: ClassVar[bool] = False
    """K_i depends on T and on how often the learner asks owner i, so the learner must choose
    owners."""

    @abstractmethod
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...] | None:
        """Return K_i per owner if it is known; None if it follows from a price."""

    def told(self, chances: Sequence[float], asked: int) -> "BudgetKind":  # noqa: ARG002
        """Return the budget for ``asked`` requests, each to owner i with its probability p_i."""
        return self

    def prices(self, n_owners: int) -> tuple[float, ...] | None:  # noqa: ARG002
        """Return ε₀ of one answer per owner if the budget has it, else None."""
        return None

    def weights(self, n_owners: int) -> tuple[Array, ...] | None:  # noqa: ARG002
        """Return weights that the parts of each owner's answers are proportional to, (K_i,) each.

        None where they are equal.
        """
        return None

    def sized(self, answers: int) -> "BudgetKind":
        """Return the budget for a run of another length, with at most ``answers`` answers."""
        return PerOwnerCap(answers=answers)

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return faults of fields that do not match the number of owners."""
        return []


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
    """ε_i/K_i for each answer; owner i sends no more after K_i = ``answers``."""

    follows_updates = False
    named_answers = True

    kind: Literal["per-owner-cap"] = "per-owner-cap"
    answers: PerOwner[Count]

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        return per_owner(self.answers, n_owners)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        return wrong_length("privacy.budget.answers", self.answers, n_owners)


class UntilSpent(BudgetKind):
    """A privacy filter: charges add up, and the owner stops before they exceed ε_i.

    Charges do not depend on data or earlier answers, so the number of answers is known in advance.
    Set one of:
    """

    follows_updates = False
    named_answers = False

    kind: Literal["until-spent"] = "until-spent"
    answers: PerOwner[Count] | None = None
    per_answer: PerOwner[Positive] | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        if (self.answers is None) == (self.per_answer is None):
            value = "nothing" if self.answers is None else "both"
            hint = "allowed is answers, or per_answer (ε of one answer), one of the two"
            yield Fault("answers", value, hint)

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...] | None:
        return None if self.answers is None else per_owner(self.answers, n_owners)

    @override
    def prices(self, n_owners: int) -> tuple[float, ...] | None:
        return None if self.per_answer is None else per_owner(self.per_answer, n_owners)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        faults = wrong_length("privacy.budget.answers", self.answers, n_owners)
        return faults + wrong_length("privacy.budget.per_answer", self.per_answer, n_owners)


class AsAsked(BudgetKind):
    """ε_i/K_i for each answer; K_i is an upper estimate of the answers that the learner requests.

    Each of T updates is owner i's with probability p_i. K_i is the smallest number with which any
    owner stops before T with probability at most 10⁻³. Concurrent tasks are added to T. K_i depends
    on public values only: T, p_i and the number of tasks.
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
        return PerOwnerCap(answers=tuple(enough(chance, len(chances), asked) for chance in chances))


LEAST = 1e-9
"""Smallest part over the largest; smaller parts would be nothing but noise."""


class Scheduled(BudgetKind):
    """Unequal shares of ε_i, fixed in advance: the k-th answer has share s_k.

    Pure answers have ε_ik = s_k ε_i with Σ s_k = 1. For Gaussian noise the shares are of 1/z²,
    which adds up. With an accountant s_k is proportional to the cost of a single answer, and all
    answers jointly cost ε_i at δ. A lost answer has spent its share; an answer that is never made
    leaves its share unspent. Shares are s_k ∝ g^k k^a, or a list:
    """

    follows_updates = False
    named_answers = True
    even: ClassVar[bool] = False

    kind: Literal["scheduled"] = "scheduled"
    answers: PerOwner[Count] | None = None
    growth: PerOwner[Positive] | None = None
    power: PerOwner[Finite] | None = None
    shares: Several[Positive] | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        rules = {"growth": self.growth, "power": self.power, "shares": self.shares}
        names = [name for name, value in rules.items() if value is not None]
        if len(names) == 0 or (self.shares is not None and len(names) > 1):
            given_names = " and ".join(names) or "nothing"
            hint = "allowed is growth, power or both, or shares alone"
            yield Fault("growth", given_names, hint)
        elif self.shares is None and self.answers is None:
            needed = f"this field is required with {' and '.join(names)}"
            yield Fault("answers", "nothing", needed)
        elif self.shares is not None and self.answers is not None:
            hint = f"allowed is nothing with shares, which are {len(self.shares)}"
            yield Fault("answers", show(self.answers), hint)

    @override
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        if self.shares is not None:
            return (len(self.shares),) * n_owners
        return per_owner(1 if self.answers is None else self.answers, n_owners)

    @override
    def weights(self, n_owners: int) -> tuple[Array, ...]:
        if self.shares is not None:
            return (np.array(self.shares),) * n_owners
        growths = per_owner(1.0 if self.growth is None else self.growth, n_owners)
        powers = per_owner(0.0 if self.power is None else self.power, n_owners)
        weights = []
        for count, growth, power in zip(
            self.answers_allowed(n_owners, 1), growths, powers, strict=True
        ):
            k = np.arange(1.0, count + 1)
            exponents = k * np.log(growth) + power * np.log(k)  # ln s_k up to a constant
            weights.append(np.exp(exponents - exponents.max()))
        return tuple(weights)

    @override
    def sized(self, answers: int) -> BudgetKind:
        """Return the same rule for ``answers`` answers; equal parts if shares are listed."""
        if self.shares is not None:
            return PerOwnerCap(answers=answers)
        return self.model_copy(update={"answers": answers})

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        fields = {"answers": self.answers, "growth": self.growth, "power": self.power}
        faults = [
            fault
            for name, value in fields.items()
            for fault in wrong_length(f"privacy.budget.{name}", value, n_owners)
        ]
        return faults if len(faults) > 0 else self._too_small(n_owners)

    def _too_small(self, n_owners: int) -> list[Fault]:
        """Return a fault if a part is below :data:`LEAST` of the largest."""
        least = min(float(weights.min() / weights.max()) for weights in self.weights(n_owners))
        if least >= LEAST:
            return []
        name = next(x for x in ("growth", "power", "shares") if getattr(self, x) is not None)
        hint = f"allowed are parts that are at least {LEAST:g} of the largest: fewer answers, "
        value = f"{show(getattr(self, name))}, with a part {least:.2g} of the largest"
        return [Fault(f"privacy.budget.{name}", value, f"{hint}or a milder rule")]


Budget = Annotated[Horizon | PerOwnerCap | UntilSpent | Scheduled | AsAsked, FAMILY_IN_TABLES]
"""Every budget, named by its kind alone or by a table; a new one is added here."""


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

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.most is None and self.apart is None:
            hint = "allowed is most (answers of an owner), apart (updates between two), or both"
            yield Fault("most", "nothing", hint)

    def describe(self) -> str:
        """Return the rule in words."""
        apart = agreed(f"at least {self.apart} updates apart")
        if self.most is None:
            return f"answers of an owner are {apart}"
        rule = f"each owner answers at most {'once' if self.most == 1 else f'{self.most} times'}"
        return rule if self.apart is None else f"{rule}, {apart}"
