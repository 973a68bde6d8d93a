"""The privacy section of a scenario: budgets, noise, bounds, and what does not fit together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, cast

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import (
    Count,
    PerOwner,
    Spec,
    kind_of,
    members,
    per_owner,
    wrong_length,
)
from asyncdp_sim.core.validation import show
from asyncdp_sim.learning.answers import AdaptiveBound
from asyncdp_sim.learning.objectives import Model, Norm
from asyncdp_sim.privacy import composition, mechanisms
from asyncdp_sim.privacy.accountants import Accountant, Converted, Pure, bare
from asyncdp_sim.privacy.budgets import (
    MOST_ANSWERS,
    Budget,
    BudgetSchedule,
    Horizon,
    OwnLearner,
    Participation,
)
from asyncdp_sim.privacy.observers import Observer, ObserverKind, TranscriptObserver
from asyncdp_sim.privacy.pairs import GenericPair, sampled_gaussian
from asyncdp_sim.privacy.sensitivity import Sensitivity

Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=True)]


class Privacy(Spec):
    """Budgets and mechanism."""

    epsilon: PerOwner[Epsilon] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    mechanism: mechanisms.Mechanism = mechanisms.LaplaceMechanism()
    noise: mechanisms.Shape = "vector"
    sensitivity: Sensitivity | None = None
    budget: Budget = Horizon()
    accountant: composition.Accounting | None = None
    sampling: Annotated[float, Field(gt=0, lt=1)] | None = None
    overlap: Count = 1
    grid: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    observer: Observer | None = None
    learner: OwnLearner | None = None
    participation: Participation | None = None
    unit: Literal["record", "owner"] | None = None
    adjacency: Literal["replaced", "added-or-removed"] | None = None
    correlation: mechanisms.Correlation | None = None

    @property
    def per_owner(self) -> bool:
        """Whether whole owners are hidden, and not only single records."""
        return self.unit == "owner"

    @property
    def noun(self) -> str:
        """The unit of privacy, by which neighbouring datasets differ: record or owner."""
        return self.unit or "record"

    @property
    def change(self) -> str:
        """The difference of neighbouring datasets, in words."""
        return f"one {self.noun} {(self.adjacency or 'replaced').replace('-', ' ')}"

    def divisors(self, records: npt.ArrayLike) -> Array:
        """Return the divisors of 2Ξ: one unit moves an owner's answer by 2Ξ over it, shape (N,).

        For one of n_i records it is n_i. For a whole owner, whose answer has norm at most Ξ, it is
        1 if the owner is replaced, and 2 if it is added or removed, because the other answer is 0.
        """
        numbers = np.asarray(records, dtype=float)
        if not self.per_owner:
            return numbers
        return np.full(len(numbers), 2.0 if self.adjacency == "added-or-removed" else 1.0)

    @property
    def listener(self) -> ObserverKind:
        """The observer that ε is stated against."""
        observer = TranscriptObserver() if self.observer is None else self.observer
        return observer.for_owners() if self.per_owner else observer

    @property
    def norm(self) -> Norm:
        """The norm in which a record's gradient is bounded."""
        needed = self.mechanism.norm
        return needed if self.sensitivity is None else self.sensitivity.measured(needed)

    @property
    def hides(self) -> bool:
        """Whether privacy is claimed."""
        return not self.mechanism.exact

    @property
    def stated_delta(self) -> float | None:
        """δ at which every ε is stated, 0 for pure mechanisms; None if no privacy is claimed."""
        return self._delta if self.hides else None

    @property
    def bounded(self) -> Sensitivity | None:
        """The bound on record gradients; None if no privacy is claimed."""
        return self.sensitivity if self.hides else None

    @property
    def clip_bound(self) -> float | None:
        """The norm that record gradients, or an owner's whole answers, are scaled down to."""
        return None if self.bounded is None else self.bounded.clip_bound

    @property
    def bound_moves(self) -> bool:
        """Whether answers are scaled down to another norm in every round, by noisy counts."""
        return self.bounded is not None and self.bounded.moving

    @property
    def record_clip(self) -> float | None:
        """The norm that record gradients are scaled down to, if they are."""
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
        """Whether the variance of an answer is 2(2ΞK/(nε))² for all ε, K and p."""
        plain = self.accountant is None and self.sampling is None and self.budget.even
        return self.mechanism.laplace_variance and plain and not self.per_owner

    @property
    def _delta(self) -> float:
        return self.delta or 0.0 if self.needs_delta else 0.0

    @property
    def _composed(self) -> tuple[composition.AccountingKind, composition.PairOf, float] | None:
        """The accountant, the pairs and an owner's δ; None without an accountant."""
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
        """Sampling probability q of Gaussian answers; None for others."""
        return self.sampling if self.mechanism.over_samples == "gaussian" else None

    @property
    def _pure_samples(self) -> float | None:
        """Sampling probability q of pure answers; None for others."""
        return self.sampling if self.mechanism.over_samples == "pure" else None

    def epsilons(self, n_owners: int) -> Array:
        """Return each owner's budget, ε_i or its part with overlap; infinite without noise."""
        asked = self.asked(n_owners)
        if self.overlap == 1:
            return asked
        part = self.mechanism.part(float(asked.min()), self.overlap, self._delta)
        return np.full(n_owners, part)

    def asked(self, n_owners: int) -> Array:
        """Return ε_i of the scenario, shape (N,); infinite without noise.

        For one of N copies, the part of this copy.
        """
        if not self.hides or self.epsilon is None:
            return np.full(n_owners, np.inf)
        budgets = np.array(per_owner(self.epsilon, n_owners), dtype=float)
        return budgets if self.learner is None else self.learner.share(budgets)

    def told(self, chances: Sequence[float], asked: int) -> "Privacy":
        """Return the section for ``asked`` requests, each to owner i with its probability p_i."""
        budget = self.budget.told(chances, asked)
        return self if budget is self.budget else self.model_copy(update={"budget": budget})

    @property
    def copy_number(self) -> int:
        """The number of this copy, that of its learner; 0 without copies."""
        return 0 if self.learner is None else self.learner.owner

    @property
    def most(self) -> int:
        """Answers that an owner may release, whatever its budget."""
        rule = None if self.participation is None else self.participation.most
        return MOST_ANSWERS if rule is None else rule

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return K_i, distinct answers that each owner may release, for T updates."""
        return tuple(min(self.most, held) for held in self.budgeted(n_owners, updates))

    def budgeted(self, n_owners: int, updates: int) -> tuple[int, ...]:
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
        """Return how many answers of a price are within a finite budget."""
        if self._composed is None:
            return self.mechanism.fits(price, epsilon, self._delta)
        composed, pair, delta = self._composed
        if self._gaussian_samples is not None:
            [price] = self._charges(np.array([price]), np.array([1])).tolist()
        return min(composed.fits(pair, price, epsilon, delta), MOST_ANSWERS)

    def allotment(self, n_owners: int) -> BudgetSchedule | None:
        """Return the parts of answers in their owner's budget; None if equal, or without noise."""
        weights = self.budget.weights(n_owners)
        if weights is None or not np.isfinite(self.asked(n_owners)).any():
            return None
        return BudgetSchedule.from_weights([parts[: self.most] for parts in weights])

    def allowance(self, n_owners: int, updates: int, gradients: int = 1) -> mechanisms.OwnerBudgets:
        """Return the budgets of owners and their numbers of answers, for T updates.

        If an answer consists of several ``gradients``, gradients are counted instead.
        """
        answers = np.array(self.answers_allowed(n_owners, updates), dtype=np.int64) * gradients
        epsilon, prices = self.epsilons(n_owners), np.array(self.prices(n_owners))
        price, mu = prices if len(prices) > 0 else None, None
        if self._gaussian_samples is not None:
            spent = (epsilon, answers) if price is None else (price, np.ones_like(answers))
            mu = self._charges(*spent)
        elif self._composed is not None and price is None:
            price = self._charges(epsilon, answers, self.allotment(n_owners))
        own = mechanisms.OwnerBudgets(answers, epsilon, price, self._delta, mu)
        return self.listener.allowed(own, self.mechanism)

    def _charges(
        self, epsilon: Array, answers: Ints, allotment: BudgetSchedule | None = None
    ) -> Array:
        """Return the charge per owner, (N,), of an answer if K_i jointly spend (ε_i, δ).

        Raises
        ------
        SpecError
            If a record is in no answer with probability 1 − δ or more, so noise has no scale.
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
        """Return the accountant of answers with ``gradients`` gradients each, for T updates."""
        single = self._of_gradients(self.allowance(n_owners, updates, gradients))
        return single if gradients == 1 else Converted(single, gradients)

    def _of_gradients(self, allowed: mechanisms.OwnerBudgets) -> Accountant:
        """Return the accountant of single gradients."""
        if self._gaussian_samples is not None and allowed.mu is not None:
            pure = Pure(allowed.answers, allowed.epsilon, allowed.mu * allowed.answers)
            return composition.ByLosses(pure, sampled_gaussian(self._gaussian_samples), self._delta)
        own = self.mechanism.accountant(allowed)
        allotment = self.allotment(len(allowed.answers))
        if self._composed is None or not isinstance(own, Pure):
            return own if allotment is None else Converted(own, allotment=allotment)
        composed, pair, _ = self._composed
        return composed.accountant(own, pair, self._delta, self.overlap, allotment)

    def noise_for(
        self,
        records: Ints,
        updates: int,
        xi: float,
        size: int,
        gradients: int = 1,
        in_sum: int | None = None,
    ) -> mechanisms.AnswerNoise:
        """Return the noise on gradients of ``size`` numbers of owners with n_i ``records``.

        An answer is one, or several ``gradients``, each of which has as much noise. A sum is of
        ``in_sum`` answers, or of all owners'.

        If parts of a budget are unequal, the noise has one entry per answer of each owner, in the
        order of :meth:`allotment`.

        Raises
        ------
        SpecError
            If ``grid`` is too fine for draws of this scale to reach each step.
        """
        moved = self.divisors(records)
        if self.bounded is not None:  # the rest of 1/z² pays for counts
            xi /= (1 - self.bounded.count_share) ** 0.5
        if self.per_owner and self.listener.sees_sums:  # of n_i times what owners answer
            xi, moved = xi * float((records / moved).max()), records.astype(float)
        drawn = moved if self.sampling is None else self.sampling * moved
        allowance = self.allowance(len(records), updates, gradients)
        allotment = self.allotment(len(records))
        if allotment is not None:
            drawn = allotment.of_owners(drawn)
            allowance = self.mechanism.apart(allowance, allotment)
        influence = mechanisms.RecordSensitivity(xi, drawn, size, self.noise, self.grid)
        if self._pure_samples is not None:
            allowance = _bare(allowance, self._pure_samples)
        noise = self.mechanism.noise(influence, allowance)
        hidden = self.listener.shares(noise, influence, in_sum or len(records))
        if self.correlation is None or not isinstance(hidden, mechanisms.LearnerNoise):
            return hidden
        return self.correlation.applied(hidden)

    def clip_law(self, n_owners: int, updates: int) -> AdaptiveBound | None:
        """Return how the clip bound moves, by counts with noise, for T updates.

        A vote of ±½ in a count is an answer of norm ½, which z hides with its share of 1/z².
        """
        bound = self.bounded
        if bound is None or not self.bound_moves:
            return None
        moved = mechanisms.RecordSensitivity(
            0.5, self.divisors(np.ones(n_owners)), 1, self.noise, self.grid
        )
        allowance = self.allowance(n_owners, updates)
        hides = self.mechanism.noise(moved, allowance)
        return bound.moves(float(hides.scale.max()) / bound.count_share**0.5, self.norm)

    def faults(self, n_owners: int, model: Model) -> list[Fault]:
        """Return faults of combinations of fields, and of fields that do not match the owners."""
        faults = _out_of_range(self, n_owners)
        if self.hides:
            faults += _missing(self)
        if self.learner is not None and not _adds_up(self.mechanism):
            fitting = [
                kind_of(mechanism)
                for mechanism in members(mechanisms.Mechanism)
                if _adds_up(mechanism)
            ]
            hint = f"allowed with an own learner: {', '.join(fitting)}, whose ε of copies add up"
            faults.append(Fault("privacy.mechanism", repr(self.mechanism.kind), hint))
        if len(faults) == 0:
            faults += _beyond(self, n_owners)
        if len(faults) == 0:
            faults += [*_unaffordable(self, n_owners), *_half_private(self, n_owners)]
        if self.accountant is not None:
            faults += self.accountant.faults(self)
        if self.sampling is not None:
            faults += _unsampled(self, self.sampling)
        if not self.budget.even:
            faults += _undivided(self)
        return [*faults, *_whole_owner_faults(self), *_correlated(self), *_unfit(self, model)]

    def prices(self, n_owners: int) -> tuple[float, ...]:
        """Return ε₀ of an answer per owner if the budget has it, else nothing."""
        return self.budget.prices(n_owners) or ()


def _bare(allowance: mechanisms.OwnerBudgets, probability: float) -> mechanisms.OwnerBudgets:
    """Return the ε of noise on sampled sums for answers with the given budgets."""
    single = allowance.price
    if single is None:
        single = allowance.epsilon / allowance.answers
    price = np.array([bare(cost, probability) for cost in single.tolist()])
    return replace(allowance, price=price)


def _out_of_range(privacy: Privacy, n_owners: int) -> list[Fault]:
    """Return faults of fields for a wrong number of owners; with them no ε_i is known."""
    faults = privacy.budget.faults(n_owners)
    faults += wrong_length("privacy.epsilon", privacy.epsilon, n_owners)
    if privacy.learner is not None:
        faults += privacy.learner.faults(n_owners)
    if privacy.overlap > n_owners:
        hint = f"allowed is at most {n_owners}, the number of owners"
        faults.append(Fault("privacy.overlap", str(privacy.overlap), hint))
    return faults


def _whole_owner_faults(privacy: Privacy) -> Iterator[Fault]:
    """Yield what is not known to hide a whole owner, or is known of owners alone."""
    bound, listener = privacy.bounded, privacy.listener
    kind = repr(getattr(bound, "kind", None))
    if not privacy.per_owner and privacy.adjacency not in (None, "replaced"):
        hint = 'allowed only with privacy.unit = "owner": one record is replaced'
        yield Fault("privacy.adjacency", repr(privacy.adjacency), hint)
    if privacy.per_owner:
        yield from _not_of_owners(privacy)
    if privacy.bound_moves and not (privacy.per_owner and listener.learner_adds_noise):
        learner = 'privacy.unit = "owner" and privacy.observer "model", whose learner counts'
        yield Fault("privacy.sensitivity.kind", kind, f"allowed with {learner}")


def _not_of_owners(privacy: Privacy) -> Iterator[Fault]:
    """Yield what is not known to hide a whole owner."""
    bound, listener = privacy.bounded, privacy.listener
    kinds = cast("list[type[ObserverKind]]", members(Observer))
    ways = [kind_of(kind) for kind in kinds if kind.model_validate({}).for_owners().hides_owners]
    checks: list[tuple[bool, str, str, str]] = [
        (bound is not None and bound.clip_bound is None, "sensitivity.kind",
         repr(getattr(bound, "kind", None)), "clip, which bounds an owner's whole answer"),
        (bound is not None and bound.norm == "l2-as-published", "sensitivity.norm",
         "'l2-as-published'", f"{privacy.mechanism.norm}, in which an answer costs its ε"),
        (not listener.hides_owners, "observer.kind", repr(listener.name), " or ".join(ways)),
        (privacy.sampling is not None, "sampling", f"{privacy.sampling}", "nothing: an owner is "
         "in every answer of its own"),
        (privacy.overlap > 1, "overlap", str(privacy.overlap), "1: no two owners are one"),
        (privacy.learner is not None, "learner", "a table", "nothing: one copy of the model"),
    ]  # fmt: skip
    for wrong, name, value, hint in checks:
        if wrong:
            yield Fault(f"privacy.{name}", value, f"allowed with privacy.unit owner: {hint}")


def _correlated(privacy: Privacy) -> Iterator[Fault]:
    """Yield what noise that is correlated over rounds is not accounted with."""
    if privacy.correlation is None:
        return
    key, bands = "privacy.correlation", len(privacy.correlation.column)
    apart = 1 if privacy.participation is None else privacy.participation.apart or 1
    checks = [
        (not privacy.listener.learner_adds_noise, 'with privacy.unit "owner" and observer "model", '
         "where the learner adds the noise"),
        (apart < bands, f"where an owner's answers are {bands} updates apart or more: set "
         f"privacy.participation.apart to {bands} or more, given {apart}"),
        (privacy.bound_moves, "with a clip bound that stays as it is: sensitivity clip"),
    ]  # fmt: skip
    for wrong, hint in checks:
        if wrong:
            yield Fault(key, f"{bands} bands", f"allowed only {hint}")


def _undivided(privacy: Privacy) -> Iterator[Fault]:
    """Yield faults of settings without a proof for unequal parts of a budget."""
    budget, listener = privacy.budget.kind, privacy.listener
    if privacy.mechanism.composition == "own":
        hint = f"allowed with privacy.budget {budget}: what adds up, pure or Gaussian noise"
        yield Fault("privacy.mechanism", repr(privacy.mechanism.kind), hint)
    if privacy.sampling is not None:
        hint = f"allowed is nothing with privacy.budget {budget}: samples are not accounted"
        yield Fault("privacy.sampling", f"{privacy.sampling:g}", hint)
    if not listener.knows_parts:
        hint = f"allowed with privacy.budget {budget}: transcript"
        yield Fault("privacy.observer.kind", repr(listener.name), hint)


def _unsampled(privacy: Privacy, probability: float) -> Iterator[Fault]:
    """Yield faults of settings without a proof for answers over samples."""
    mechanism, bound = privacy.mechanism, privacy.sensitivity
    if mechanism.over_samples is None:
        with_noise = "laplace, or gaussian with an accountant: of no other is a proof known"
        hint = f"allowed with privacy.sampling: {with_noise}"
        yield Fault("privacy.mechanism", repr(mechanism.kind), hint)
    elif mechanism.over_samples == "gaussian" and privacy.accountant is None:
        hint = "required is privacy.accountant: sampled Gaussian noise has no exact curve"
        yield Fault("privacy.sampling", f"{probability:g}", hint)
    if bound is not None and not bound.enforced:
        hint = "allowed with privacy.sampling: clip or domain; a declared bound is not watched"
        yield Fault("privacy.sensitivity.kind", repr(bound.kind), hint)
    yield from composition.as_published(privacy, "privacy.sampling")
    if privacy.overlap > 1:
        hint = "allowed with privacy.sampling: 1; shared records are not accounted"
        yield Fault("privacy.overlap", str(privacy.overlap), hint)
    if privacy.learner is not None:
        hint = "allowed is nothing with an own learner: copies are not accounted"
        yield Fault("privacy.sampling", f"{probability:g}", hint)


def _missing(privacy: Privacy) -> Iterator[Fault]:
    needed = f"this field is required with mechanism {privacy.mechanism.kind}"
    if privacy.epsilon is None:
        yield Fault("privacy.epsilon", "nothing", f"{needed}: ε > 0, or inf")
    if privacy.sensitivity is None:
        hint = f"{needed}: declared, clip or domain"
        yield Fault("privacy.sensitivity", "nothing", hint)
    if privacy.needs_delta and privacy.delta is None:
        if not privacy.mechanism.needs_delta:
            needed = "this field is required with an accountant"
        hint = f"{needed}: δ in (0, 1), well below 1/n"
        yield Fault("privacy.delta", "nothing", hint)


def _unaffordable(privacy: Privacy, n_owners: int) -> Iterator[Fault]:
    """Yield a fault if a budget holds no answer of its price, or too many."""
    prices, key = privacy.prices(n_owners), "privacy.budget.per_answer"
    if len(prices) == 0:
        return
    budgets, stated = (
        privacy.epsilons(n_owners).tolist(),
        show(privacy.budget.model_dump().get("per_answer")),
    )
    if np.inf in budgets:
        hint = "allowed is nothing where ε = ∞: no number of answers spends that"
        yield Fault(key, stated, hint)
        return
    for price, epsilon in zip(prices, budgets, strict=True):
        if price * MOST_ANSWERS < epsilon:
            hint = f"allowed is at least {epsilon / MOST_ANSWERS:g}, for 10^9 answers"
            yield Fault(key, f"{price:g}", hint)
            return
        if price > epsilon:
            yield Fault(key, f"{price:g}", f"allowed is at most the budget, ε = {epsilon:g}")
            return
    if max(privacy.budgeted(n_owners, 1)) > MOST_ANSWERS:  # a Gaussian budget holds more
        yield Fault(key, stated, "allowed are prices of which a budget holds at most 10^9")


def _beyond(privacy: Privacy, n_owners: int) -> Iterator[Fault]:
    """Yield faults if noise for an ε cannot be computed to full precision."""
    least, largest = privacy.mechanism.calibrated
    hint = f"with mechanism {privacy.mechanism.kind}"
    if privacy.accountant is not None:
        low, high = composition.COMPOSABLE
        least, largest = max(least, low), min(largest, high)
        hint += f" and accountant {privacy.accountant.kind}"
    hint = f"allowed is {least:g} to {largest:g} {hint}"

    def beyond(epsilons: Iterable[float]) -> list[float]:
        return sorted({e for e in epsilons if e < least or largest < e < np.inf})

    asked = beyond(privacy.asked(n_owners).tolist())
    yield from (Fault("privacy.epsilon", f"{epsilon:g}", hint) for epsilon in asked)
    for price in beyond(privacy.prices(n_owners)):
        yield Fault("privacy.budget.per_answer", f"{price:g}", hint)
    if len(asked) == 0 and privacy.overlap > 1:  # where δ alone nearly suffices, a part may be 0
        for part in beyond(privacy.epsilons(n_owners).tolist()):
            value = f"{privacy.overlap}, which leaves an owner ε = {part:g}"
            yield Fault("privacy.overlap", value, hint)


def _half_private(privacy: Privacy, n_owners: int) -> Iterator[Fault]:
    """Yield a fault if several owners, but not all, have no noise."""
    exact = int(np.isinf(privacy.asked(n_owners)).sum())
    if exact in (0, n_owners) or (exact == 1 and privacy.overlap == 1):
        return
    hint = "allowed is inf for all owners, or for one that plays the learner (as published)"
    if privacy.overlap > 1:
        hint = "allowed is inf for all owners or for none, where owners share records"
    yield Fault("privacy.epsilon", f"inf for {exact} of {n_owners} owners", hint)


def _unfit(privacy: Privacy, model: Model) -> Iterator[Fault]:
    """Yield faults of fields that do not match the mechanism or the model."""
    bound, mechanism = privacy.sensitivity, privacy.mechanism
    if privacy.noise not in mechanism.shapes:
        hint = f"allowed is {', '.join(mechanism.shapes)} with mechanism {mechanism.kind}"
        yield Fault("privacy.noise", repr(privacy.noise), hint)
    if privacy.grid is not None and not mechanism.gridded:
        hint = f"allowed is nothing with mechanism {mechanism.kind}, which has no grid"
        yield Fault("privacy.grid", show(privacy.grid), hint)
    elif privacy.grid is not None and np.frexp(privacy.grid)[0] != 0.5:
        hint = "allowed is a power of two, such as 0.0009765625 = 2^-10"
        yield Fault("privacy.grid", show(privacy.grid), hint)
    if bound is None:
        return
    if bound.norm is not None and bound.norm not in mechanism.norms:
        hint = f"allowed with mechanism {mechanism.kind}: {', '.join(mechanism.norms)}"
        yield Fault("privacy.sensitivity.norm", repr(bound.norm), hint)
    yield from bound.faults(model)


def _adds_up(mechanism: Any) -> bool:
    return not mechanism.exact and mechanism.composition == "pure"
