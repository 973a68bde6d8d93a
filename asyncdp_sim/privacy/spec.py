"""The privacy part of a scenario."""

from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import show
from asyncdp_sim.learning.objectives import Model, Norm
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.budget import MOST_ANSWERS, Budget, Horizon
from asyncdp_sim.privacy.copies import OwnLearner
from asyncdp_sim.privacy.mechanisms import (
    Allowance,
    AnswerNoise,
    Influence,
    LaplaceMechanism,
    Mechanism,
    Shape,
)
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.spec import Count, PerOwner, Spec, about, per_owner, wrong_length

Array = npt.NDArray[np.float64]
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=True)]


class Privacy(Spec):
    """Budgets and mechanism."""

    epsilon: Annotated[
        PerOwner[Epsilon] | None,
        about(
            "ε_i: what each owner allows in the whole run, ∞ being no privacy: of all owners, or, "
            "as published (Collab), of one that plays the learner. Required unless the mechanism "
            "is none",
            "none",
            example=1.0,
        ),
    ] = None
    delta: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        about(
            "δ, required with Gaussian noise; the other mechanisms are pure and do not use it",
            "none",
            example=1e-06,
        ),
    ] = None
    mechanism: Annotated[
        Mechanism,
        about("Law of the noise; a table where it has fields of its own", example="laplace"),
    ] = LaplaceMechanism()
    noise: Annotated[
        Shape,
        about(
            "Each coordinate has its own draw (vector), or all have the same, which is not private "
            "(scalar-as-published; Laplace noise only)"
        ),
    ] = "vector"
    sensitivity: Annotated[
        Sensitivity | None,
        about(
            "Bound on a record's gradient that the noise is scaled for. Required unless the "
            "mechanism is none",
            example={"kind": "clip", "bound": 1.0},
        ),
    ] = None
    budget: Annotated[
        Budget, about("How ε_i is divided among an owner's answers", example={"kind": "horizon"})
    ] = Horizon()
    overlap: Annotated[
        Count,
        about(
            "κ: datasets that may hold one record. With κ > 1 every owner spends at most the "
            "least ε_i divided by κ; under Gaussian noise it is ρ of zero-concentrated privacy "
            "that is divided",
            "datasets",
        ),
    ] = 1
    grid: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | None,
        about(
            "γ: distance of the grid of discrete Laplace noise, absent, the largest power of two "
            "≤ 2Ξ/(1024 p n_i), or the least that is not finer than 2⁻⁴⁰ of the noise",
            "of the gradient",
            domain="powers of two",
            example=0.0009765625,
        ),
    ] = None
    learner: Annotated[
        OwnLearner | None,
        about(
            "Where every owner learns a model of its own, in N copies: whose copy this run is. "
            "ε_i is then for all copies together, and is divided among them",
            example={"owner": 1},
        ),
    ] = None

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
        """The norm that record gradients are scaled down to, where they are."""
        return None if self.bounded is None else self.bounded.clip_bound

    @property
    def on_trust(self) -> bool:
        """Whether the bound is only declared."""
        return self.bounded is not None and not self.bounded.enforced

    @property
    def _delta(self) -> float:
        return self.delta or 0.0 if self.mechanism.needs_delta else 0.0

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

    @property
    def copy_number(self) -> int:
        """Which of N copies this is, by its learner; 0 where there is but one run."""
        return 0 if self.learner is None else self.learner.owner

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return K_i, distinct answers that each owner may release, for T updates."""
        named = self.budget.answers_allowed(n_owners, updates)
        if named is not None:
            return named
        budgets = zip(self._prices(n_owners), self.epsilons(n_owners).tolist(), strict=True)
        return tuple(
            self.mechanism.fits(price, epsilon, self._delta) if epsilon < np.inf else MOST_ANSWERS
            for price, epsilon in budgets
        )

    def allowance(self, n_owners: int, updates: int) -> Allowance:
        """Return what owners may spend, and on how many answers, for T updates."""
        prices = self._prices(n_owners)
        return Allowance(
            np.array(self.answers_allowed(n_owners, updates), dtype=np.int64),
            self.epsilons(n_owners),
            None if len(prices) == 0 else np.array(prices),
            self._delta,
        )

    def accountant(self, n_owners: int, updates: int) -> Accountant:
        """Return what answers cost, for T updates."""
        return self.mechanism.accountant(self.allowance(n_owners, updates))

    def noise_for(
        self, records: npt.NDArray[np.int64], updates: int, xi: float, size: int
    ) -> AnswerNoise:
        """Return the noise on answers of ``size`` numbers of owners with n_i ``records``.

        Raises
        ------
        SpecError
            If ``grid`` is too fine for draws of so large a scale to reach each of its steps.
        """
        influence = Influence(xi, records.astype(float), size)
        allowance = self.allowance(len(records), updates)
        return self.mechanism.noise(influence, allowance, self.noise, self.grid)

    def faults(self, n_owners: int, model: Model) -> list[Fault]:
        """Return what does not fit together, or does not fit the owners."""
        found = self.budget.faults(n_owners)
        found += wrong_length("privacy.epsilon", self.epsilon, n_owners)
        if self.hides:
            found += self._missing()
        if self.learner is not None:
            found += self.learner.faults(n_owners, self.mechanism)
        if self.overlap > n_owners:
            allowed = f"allowed is at most {n_owners}, the number of owners"
            found.append(Fault("privacy.overlap", str(self.overlap), allowed))
        if len(found) == 0:
            found += self._beyond(n_owners)
        if len(found) == 0:
            found += self._unaffordable(n_owners) + self._half_private(n_owners)
        return found + self._unfit(model)

    def _prices(self, n_owners: int) -> tuple[float, ...]:
        """Return ε₀ of an answer where the budget names that, else nothing."""
        return self.budget.prices(n_owners) or ()

    def _missing(self) -> list[Fault]:
        found, needed = [], f"this field is required with mechanism {self.mechanism.kind}"
        if self.epsilon is None:
            found.append(Fault("privacy.epsilon", "nothing", f"{needed}: ε > 0, or inf"))
        if self.sensitivity is None:
            allowed = f"{needed}: declared, clip or domain"
            found.append(Fault("privacy.sensitivity", "nothing", allowed))
        if self.mechanism.needs_delta and self.delta is None:
            allowed = f"{needed}: δ in (0, 1), well below 1/n"
            found.append(Fault("privacy.delta", "nothing", allowed))
        return found

    def _unaffordable(self, n_owners: int) -> list[Fault]:
        """Return a fault where answers have a price, and a budget holds not one or any number."""
        each, key = self._prices(n_owners), "privacy.budget.per_answer"
        if len(each) == 0:
            return []
        budgets = self.epsilons(n_owners).tolist()
        if np.inf in budgets:
            allowed = "allowed is nothing where ε = ∞: no number of answers spends that"
            return [Fault(key, show(self.budget.model_dump()["per_answer"]), allowed)]
        for price, epsilon in zip(each, budgets, strict=True):
            if price * MOST_ANSWERS < epsilon:
                allowed = f"allowed is at least {epsilon / MOST_ANSWERS:g}, for 10^9 answers"
                return [Fault(key, f"{price:g}", allowed)]
            if price > epsilon:
                return [Fault(key, f"{price:g}", f"allowed is at most the budget, ε = {epsilon:g}")]
        if max(self.answers_allowed(n_owners, 1)) > MOST_ANSWERS:  # a Gaussian budget holds more
            allowed = "allowed are prices of which a budget holds at most 10^9"
            return [Fault(key, show(self.budget.model_dump()["per_answer"]), allowed)]
        return []

    def _beyond(self, n_owners: int) -> list[Fault]:
        """Return faults where noise for an ε cannot be worked out to the last digits."""
        given = {
            "privacy.epsilon": self.asked(n_owners).tolist(),
            "privacy.budget.per_answer": self._prices(n_owners),
        }
        least, largest = self.mechanism.calibrated
        allowed = f"allowed is {least:g} to {largest:g} with mechanism {self.mechanism.kind}"
        return [
            Fault(key, f"{epsilon:g}", allowed)
            for key, epsilons in given.items()
            for epsilon in sorted({e for e in epsilons if np.isfinite(e)})
            if not least <= epsilon <= largest
        ]

    def _half_private(self, n_owners: int) -> list[Fault]:
        """Return a fault where several owners, but not all, are without noise."""
        exact = int(np.isinf(self.asked(n_owners)).sum())
        if exact in (0, n_owners) or (exact == 1 and self.overlap == 1):
            return []
        allowed = "allowed is inf for all owners, or for one that plays the learner (as published)"
        if self.overlap > 1:
            allowed = "allowed is inf for all owners or for none, where owners share records"
        return [Fault("privacy.epsilon", f"inf for {exact} of {n_owners} owners", allowed)]

    def _unfit(self, model: Model) -> list[Fault]:
        """Return what does not suit the mechanism, or a bounded domain the model."""
        found, bound, mechanism = [], self.sensitivity, self.mechanism
        if self.noise not in mechanism.shapes:
            allowed = f"allowed is {', '.join(mechanism.shapes)} with mechanism {mechanism.kind}"
            found.append(Fault("privacy.noise", repr(self.noise), allowed))
        if self.grid is not None and not mechanism.gridded:
            allowed = f"allowed is nothing with mechanism {mechanism.kind}, which has no grid"
            found.append(Fault("privacy.grid", show(self.grid), allowed))
        elif self.grid is not None and np.frexp(self.grid)[0] != 0.5:
            allowed = "allowed is a power of two, such as 0.0009765625 = 2^-10"
            found.append(Fault("privacy.grid", show(self.grid), allowed))
        if bound is None:
            return found
        if bound.norm is not None and bound.norm not in mechanism.norms:
            allowed = f"allowed with mechanism {mechanism.kind}: {', '.join(mechanism.norms)}"
            found.append(Fault("privacy.sensitivity.norm", repr(bound.norm), allowed))
        return found + bound.faults(model)
