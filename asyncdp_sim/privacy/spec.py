"""The privacy part of a scenario: what answers may cost, and what hides them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.words import agreed
from asyncdp_sim.learning.objectives import Model, Norm
from asyncdp_sim.privacy.accountants.by_losses import Accounting, AccountingKind, SampledGaussian
from asyncdp_sim.privacy.accountants.composition import PairOf
from asyncdp_sim.privacy.accountants.own import (
    Accountant,
    Pure,
    SampledPure,
    SeveralGradients,
    Uneven,
    bare,
)
from asyncdp_sim.privacy.accountants.pairs import GenericPair, sampled_gaussian
from asyncdp_sim.privacy.budgets import MOST_ANSWERS, Budget, BudgetSchedule, Horizon, pure_part
from asyncdp_sim.privacy.mechanisms import (
    AnswerNoise,
    LaplaceMechanism,
    Mechanism,
    OwnerBudgets,
    RecordSensitivity,
    Shape,
)
from asyncdp_sim.privacy.observers import Observer, ObserverKind, TranscriptObserver
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.privacy.validate import misfits
from asyncdp_sim.spec.base import Count, PerOwner, Spec, per_owner
from asyncdp_sim.spec.validation import faults_of

Array = npt.NDArray[np.float64]


class OwnLearner(Spec):
    """The copy, of N, that this run is: the one whose learner is one of the owners.

    Every owner answers in all copies, with noise drawn anew in each, so that ε_i is for all of
    them together. An owner whose answers in its own copy are exact answers N − 1 others, and has
    ε_i/(N − 1) for each; that hides nothing of it from an observer of its copy's queries or models.
    One whose own answers are noised too has ε_i/N for each of the N copies.
    """

    owner: Count
    own: Literal["noised", "exact-as-published"] = "noised"

    def parts(self, n_owners: int) -> int:
        """Return into how many parts ε_i is divided, one for each copy it is owed in."""
        return n_owners if self.own == "noised" else n_owners - 1

    def share(self, budgets: Array) -> Array:
        """Return what every owner may spend in this copy, (N,), of ``budgets`` for all of them."""
        parts = self.parts(len(budgets))
        shares = np.array([pure_part(budget, parts) for budget in budgets.tolist()])
        if self.own == "exact-as-published":
            shares[self.owner - 1] = np.inf
        return shares

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the owners."""
        faults, key = [], "privacy.learner"
        if n_owners < 2:
            faults.append(Fault(key, "1 owner", "allowed are 2 owners or more, each with a copy"))
        elif self.owner > n_owners:
            hint = f"allowed is a whole number from 1 to {n_owners}, an owner"
            faults.append(Fault(f"{key}.owner", str(self.owner), hint))
        return faults


Counts = npt.NDArray[np.int64]
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=True)]


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


class Privacy(Spec):
    """Budgets and mechanism."""

    epsilon: PerOwner[Epsilon] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    mechanism: Mechanism = LaplaceMechanism()
    noise: Shape = "vector"
    sensitivity: Sensitivity | None = None
    budget: Budget = Horizon()
    accountant: Accounting | None = None
    sampling: Annotated[float, Field(gt=0, lt=1)] | None = None
    overlap: Count = 1
    grid: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    observer: Observer | None = None
    learner: OwnLearner | None = None
    participation: Participation | None = None
    unit: Literal["record", "owner"] | None = None
    adjacency: Literal["replaced", "added-or-removed"] | None = None

    @property
    def per_owner(self) -> bool:
        """Whether a whole owner is hidden, and not only each of its records."""
        return self.unit == "owner"

    @property
    def noun(self) -> str:
        """What is hidden, one of which neighbouring datasets differ by: a record, or an owner."""
        return self.unit or "record"

    @property
    def a_unit(self) -> str:
        """The same with its article."""
        return "an owner" if self.per_owner else "a record"

    @property
    def change(self) -> str:
        """What neighbouring datasets differ by, in words."""
        return f"one {self.noun} {(self.adjacency or 'replaced').replace('-', ' ')}"

    def divisors(self, records: npt.ArrayLike) -> Array:
        """Return what 2Ξ is divided by where one unit moves an owner's answer, shape (N,).

        One of n_i records: n_i. A whole owner, whose answer is at most Ξ long: 1 where another one
        takes its place, and 2 where none does, whose answer is 0.
        """
        numbers = np.asarray(records, dtype=float)
        if not self.per_owner:
            return numbers
        return np.full(len(numbers), 2.0 if self.adjacency == "added-or-removed" else 1.0)

    @property
    def listener(self) -> ObserverKind:
        """Whom ε is against."""
        observer = TranscriptObserver() if self.observer is None else self.observer
        return observer.for_owners() if self.per_owner else observer

    @property
    def norm(self) -> Norm:
        """The norm in which a record's gradient is bounded."""
        needed = self.mechanism.norm
        return needed if self.sensitivity is None else self.sensitivity.measured(needed)

    @property
    def hides(self) -> bool:
        """Whether anything is claimed to be hidden."""
        return not self.mechanism.exact

    @property
    def stated_delta(self) -> float | None:
        """δ at which every ε is stated, 0 of pure mechanisms; None where nothing is hidden."""
        return self._delta if self.hides else None

    @property
    def bounded(self) -> Sensitivity | None:
        """What bounds records' gradients; None where nothing is hidden, and nothing is bounded."""
        return self.sensitivity if self.hides else None

    @property
    def clip_bound(self) -> float | None:
        """The norm that record gradients, or an owner's whole answers, are scaled down to."""
        return None if self.bounded is None else self.bounded.clip_bound

    @property
    def record_clip(self) -> float | None:
        """The norm that record gradients are scaled down to, where they are."""
        return None if self.per_owner else self.clip_bound

    @property
    def on_trust(self) -> bool:
        """Whether the bound is only declared."""
        return self.bounded is not None and not self.bounded.enforced

    @property
    def needs_delta(self) -> bool:
        """Whether ε is stated at a δ > 0."""
        return self.mechanism.needs_delta or self.accountant is not None

    @property
    def laplace_variance(self) -> bool:
        """Whether the variance of an answer is 2(2ΞK/(nε))², whatever ε, K and p are."""
        plain = self.accountant is None and self.sampling is None and self.budget.even
        return self.mechanism.laplace_variance and plain and not self.per_owner

    @property
    def _delta(self) -> float:
        return self.delta or 0.0 if self.needs_delta else 0.0

    @property
    def _composed(self) -> tuple[AccountingKind, PairOf, float] | None:
        """What composes answers, of which pairs, at which δ of an owner; None: the mechanism."""
        if self.accountant is None:
            return None
        if self._gaussian_samples is not None:
            return self.accountant, sampled_gaussian(self._gaussian_samples), self._delta
        if self.mechanism.pair is None:
            return None
        pair = self.mechanism.pair if self.sampling is None else GenericPair
        return self.accountant, pair, self._delta / self.overlap

    @property
    def _gaussian_samples(self) -> float | None:
        """The q of answers over samples that are Gaussian where the record is in, or is not."""
        return self.sampling if self.mechanism.over_samples == "gaussian" else None

    @property
    def _pure_samples(self) -> float | None:
        """The q of answers over samples that are ε-private where the record is in."""
        return self.sampling if self.mechanism.over_samples == "pure" else None

    def epsilons(self, n_owners: int) -> Array:
        """Return what each owner may spend, ε_i or its part of it; infinite without noise."""
        asked = self.asked(n_owners)
        if self.overlap == 1:
            return asked
        part = self.mechanism.part(float(asked.min()), self.overlap, self._delta)
        return np.full(n_owners, part)

    def asked(self, n_owners: int) -> Array:
        """Return ε_i as the scenario promises it, shape (N,); infinite where no noise is added.

        Where it is one of N copies, what is promised of this one.
        """
        if not self.hides or self.epsilon is None:
            return np.full(n_owners, np.inf)
        budgets = np.array(per_owner(self.epsilon, n_owners), dtype=float)
        return budgets if self.learner is None else self.learner.share(budgets)

    def told(self, chances: Sequence[float], asked: int) -> "Privacy":
        """Return the same where owners are asked so often in all, each with its chance p_i."""
        budget = self.budget.told(chances, asked)
        return self if budget is self.budget else self.model_copy(update={"budget": budget})

    @property
    def copy_number(self) -> int:
        """Which of N copies this is, by its learner; 0 where there is but one run."""
        return 0 if self.learner is None else self.learner.owner

    @property
    def most(self) -> int:
        """Answers that an owner may release, whatever its budget."""
        rule = None if self.participation is None else self.participation.most
        return MOST_ANSWERS if rule is None else rule

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return K_i, distinct answers that each owner may release, for T updates."""
        return tuple(min(self.most, held) for held in self._budgeted(n_owners, updates))

    def _budgeted(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return how many answers each owner's budget is for."""
        named = self.budget.answers_allowed(n_owners, updates)
        if named is not None:
            return named
        budgets = zip(self.prices(n_owners), self.epsilons(n_owners).tolist(), strict=True)
        return tuple(
            self._fits(price, epsilon) if epsilon < np.inf else MOST_ANSWERS
            for price, epsilon in budgets
        )

    def _fits(self, price: float, epsilon: float) -> int:
        """Return how many answers of a price a finite budget holds."""
        if self._composed is None:
            return self.mechanism.fits(price, epsilon, self._delta)
        composed, pair, delta = self._composed
        if self._gaussian_samples is not None:
            [price] = self._charges(np.array([price]), np.array([1])).tolist()
        return min(composed.fits(pair, price, epsilon, delta), MOST_ANSWERS)

    def allotment(self, n_owners: int) -> BudgetSchedule | None:
        """Return what part of its budget each answer has; None where all have the same, or none."""
        weights = self.budget.weights(n_owners)
        if weights is None or not np.isfinite(self.asked(n_owners)).any():
            return None
        return BudgetSchedule.from_weights([parts[: self.most] for parts in weights])

    def allowance(self, n_owners: int, updates: int, gradients: int = 1) -> OwnerBudgets:
        """Return what owners may spend, and on how many answers, for T updates.

        Where an answer is made of several ``gradients``, on how many of those.
        """
        answers = np.array(self.answers_allowed(n_owners, updates), dtype=np.int64) * gradients
        epsilon, prices = self.epsilons(n_owners), np.array(self.prices(n_owners))
        price, mu = prices if len(prices) > 0 else None, None
        if self._gaussian_samples is not None:
            spent = (epsilon, answers) if price is None else (price, np.ones_like(answers))
            mu = self._charges(*spent)
        elif self._composed is not None and price is None:
            price = self._charges(epsilon, answers, self.allotment(n_owners))
        own = OwnerBudgets(answers, epsilon, price, self._delta, mu)
        return self.listener.allowed(own, self.mechanism)

    def _charges(
        self, epsilon: Array, answers: Counts, allotment: BudgetSchedule | None = None
    ) -> Array:
        """Return the charge per owner, (N,), of an answer where K_i spend (ε_i, δ) together.

        Raises
        ------
        SpecError
            If a record is in no answer with a probability of 1 − δ or more: noise has no scale.
        """
        if self._composed is None:
            raise TypeError("nothing is composed")
        composed, pair, delta = self._composed
        if self._gaussian_samples is not None:
            least = -np.expm1(answers.min() * np.log1p(-self._gaussian_samples))
            if delta >= least:
                hint = (
                    f"allowed is less than {least:.3g}, the probability that a record is in any of "
                    f"{answers.min()} answers with privacy.sampling {self._gaussian_samples:g}"
                )
                raise SpecError([Fault("privacy.delta", f"{delta:g}", hint)])
        return composed.charges(pair, epsilon, delta, answers, allotment)

    def accountant_for(self, n_owners: int, updates: int, gradients: int = 1) -> Accountant:
        """Return what answers of so many gradients each cost, for T updates."""
        single = self._of_gradients(self.allowance(n_owners, updates, gradients))
        return single if gradients == 1 else SeveralGradients(single, gradients)

    def _of_gradients(self, allowed: OwnerBudgets) -> Accountant:
        """Return what single gradients cost."""
        if self._gaussian_samples is not None and allowed.mu is not None:
            pure = Pure(allowed.answers, allowed.epsilon, allowed.mu * allowed.answers)
            return SampledGaussian(pure, sampled_gaussian(self._gaussian_samples), self._delta)
        own = self.mechanism.accountant(allowed)
        if self._pure_samples is not None:
            spent = own.spent(own.answers)
            own = SampledPure(own.answers, own.epsilon, spent, self._pure_samples)
        allotment = self.allotment(len(allowed.answers))
        if self._composed is None or not isinstance(own, Pure):
            return own if allotment is None else Uneven(own, allotment)
        composed, pair, _ = self._composed
        return composed.accountant(own, pair, self._delta, self.overlap, allotment)

    def noise_for(
        self,
        records: npt.NDArray[np.int64],
        updates: int,
        xi: float,
        size: int,
        gradients: int = 1,
    ) -> AnswerNoise:
        """Return the noise on gradients of ``size`` numbers of owners with n_i ``records``.

        An answer is one, or several ``gradients``, each of which has as much noise.

        Where parts of a budget are unequal, of each answer of each owner, in the places that the
        :meth:`allotment` says.

        Raises
        ------
        SpecError
            If ``grid`` is too fine for draws of so large a scale to reach each of its steps.
        """
        moved = self.divisors(records)
        if self.per_owner and self.listener.sees_sums:  # of n_i times what owners answer
            xi, moved = xi * float((records / moved).max()), records.astype(float)
        drawn = moved if self.sampling is None else self.sampling * moved
        allowance = self.allowance(len(records), updates, gradients)
        allotment = self.allotment(len(records))
        if allotment is not None:
            drawn = allotment.of_owners(drawn)
            allowance = self.mechanism.apart(allowance, allotment)
        influence = RecordSensitivity(xi, drawn, size)
        if self._pure_samples is not None:
            allowance = _bare(allowance, self._pure_samples)
        noise = self.mechanism.noise(influence, allowance, self.noise, self.grid)
        return self.listener.shares(noise, influence)

    def faults(self, n_owners: int, model: Model) -> list[Fault]:
        """Return what does not fit together, or does not fit the owners."""
        return misfits(self, n_owners, model)

    def prices(self, n_owners: int) -> tuple[float, ...]:
        """Return ε₀ of an answer where the budget names that, else nothing."""
        return self.budget.prices(n_owners) or ()


def _bare(allowance: OwnerBudgets, probability: float) -> OwnerBudgets:
    """Return what the noise on a sampled sum may cost, so that answers cost what is allowed."""
    single = allowance.price
    if single is None:
        single = allowance.epsilon / allowance.answers
    price = np.array([bare(cost, probability) for cost in single.tolist()])
    return replace(allowance, price=price)
