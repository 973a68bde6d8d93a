"""The privacy part of a scenario: what answers may cost, and what hides them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.privacy.accountants.by_losses import SampledGaussian
from asyncdp_sim.privacy.accountants.composition import PairOf
from asyncdp_sim.privacy.accountants.kind import AccountingKind
from asyncdp_sim.privacy.accountants.own import Accountant, Pure
from asyncdp_sim.privacy.accountants.pairs import GenericPair, sampled_gaussian
from asyncdp_sim.privacy.accountants.sampled import SampledPure, bare
from asyncdp_sim.privacy.accountants.several_gradients import SeveralGradients
from asyncdp_sim.privacy.accountants.uneven import Uneven
from asyncdp_sim.privacy.budgets import MOST_ANSWERS, Allotment
from asyncdp_sim.privacy.declared import DeclaredPrivacy
from asyncdp_sim.privacy.mechanisms import (
    Allowance,
    AnswerNoise,
    Influence,
)
from asyncdp_sim.privacy.misfits import misfits
from asyncdp_sim.spec import per_owner

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


class Privacy(DeclaredPrivacy):
    """Budgets and mechanism."""

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

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return K_i, distinct answers that each owner may release, for T updates."""
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

    def allotment(self, n_owners: int) -> Allotment | None:
        """Return what part of its budget each answer has; None where all have the same, or none."""
        weights = self.budget.weights(n_owners)
        if weights is None or not np.isfinite(self.asked(n_owners)).any():
            return None
        return Allotment.of(weights)

    def allowance(self, n_owners: int, updates: int, gradients: int = 1) -> Allowance:
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
        own = Allowance(answers, epsilon, price, self._delta, mu)
        return self.listener.allowed(own, self.mechanism)

    def _charges(
        self, epsilon: Array, answers: Counts, allotment: Allotment | None = None
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
                allowed = (
                    f"allowed is less than {least:.3g}, the probability that a record is in any of "
                    f"{answers.min()} answers with privacy.sampling {self._gaussian_samples:g}"
                )
                raise SpecError([Fault("privacy.delta", f"{delta:g}", allowed)])
        return composed.charges(pair, epsilon, delta, answers, allotment)

    def accountant_for(self, n_owners: int, updates: int, gradients: int = 1) -> Accountant:
        """Return what answers of so many gradients each cost, for T updates."""
        each = self._of_gradients(self.allowance(n_owners, updates, gradients))
        return each if gradients == 1 else SeveralGradients(each, gradients)

    def _of_gradients(self, allowed: Allowance) -> Accountant:
        """Return what single gradients cost."""
        if self._gaussian_samples is not None and allowed.mu is not None:
            pure = Pure(allowed.answers, allowed.epsilon, allowed.mu * allowed.answers)
            return SampledGaussian(pure, sampled_gaussian(self._gaussian_samples), self._delta)
        own = self.mechanism.accountant(allowed)
        if self._pure_samples is not None:
            own = SampledPure.of(own, self._pure_samples)
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
        drawn = (records if self.sampling is None else self.sampling * records).astype(float)
        allowance = self.allowance(len(records), updates, gradients)
        allotment = self.allotment(len(records))
        if allotment is not None:
            drawn = allotment.of_owners(drawn)
            allowance = self.mechanism.apart(allowance, allotment)
        influence = Influence(xi, drawn, size)
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


def _bare(allowance: Allowance, probability: float) -> Allowance:
    """Return what the noise on a sampled sum may cost, so that answers cost what is allowed."""
    each = allowance.price
    if each is None:
        each = allowance.epsilon / allowance.answers
    price = np.array([bare(one, probability) for one in each.tolist()])
    return replace(allowance, price=price)
