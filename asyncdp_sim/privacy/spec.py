"""The privacy part of a scenario."""

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import show
from asyncdp_sim.learning.objectives import Model, Norm
from asyncdp_sim.privacy.accounting import (
    Gaussian,
    Pure,
    gaussian_epsilon,
    gaussian_multiplier,
)
from asyncdp_sim.privacy.budget import (
    Budget,
    Horizon,
    UntilSpent,
    gaussian_answers,
    pure_answers,
    pure_part,
    pure_total,
)
from asyncdp_sim.privacy.copies import OwnLearner
from asyncdp_sim.privacy.mechanisms import (
    FINEST,
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    Mechanism,
    NoNoise,
    Shape,
    grid_steps,
    laplace_scale,
)
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.spec import Count, PerOwner, Spec, per_owner, wrong_length

Array = npt.NDArray[np.float64]
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=True)]
GAUSSIAN = (1e-5, 1e6)
"""Finite ε for which Gaussian noise is worked out; beyond, roots are not exact to 10⁻⁹."""


MOST_ANSWERS = 10**9
"""That a budget may hold, at a price per answer."""


class Privacy(Spec):
    """Budgets and mechanism.

    Attributes
    ----------
    epsilon : float or list, optional
        ε_i > 0 per owner over the whole run. ``inf`` is no privacy: of all owners, or, as published
        (Collab), of one that plays the learner. Required unless the mechanism is none.
    delta : float, optional
        δ in (0, 1), required with Gaussian noise; the other mechanisms are pure and do not use it.
    mechanism : str
        "laplace", "gaussian", "discrete-laplace" or "none".
    noise : str
        "vector" (each coordinate its own draw) or "scalar-as-published" (Laplace noise only; not
        private).
    sensitivity : table
        ``declared``, ``clip`` or ``domain``. Required unless the mechanism is none.
    budget : table
        ``horizon``, ``per-owner-cap`` or ``until-spent``.
    overlap : int
        κ ≥ 1, datasets that may hold one record. With κ > 1 every owner spends at most the least
        ε_i divided by κ, so that any κ of them together spend at most any one's ε_i; under
        Gaussian noise it is ρ, of zero-concentrated differential privacy, that is divided.
    grid : float, optional
        γ > 0, a power of two, in units of the gradient: the grid of discrete Laplace noise. Absent,
        :func:`~asyncdp_sim.privacy.mechanisms.grid_steps`.
    learner : table, optional
        Where every owner learns a model of its own, in N copies of the algorithm: ``owner``, whose
        copy this run is. ε_i is then for all copies together, and is divided among them.
    """

    epsilon: PerOwner[Epsilon] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    mechanism: Literal["laplace", "gaussian", "discrete-laplace", "none"] = "laplace"
    noise: Shape = "vector"
    sensitivity: Sensitivity | None = None
    budget: Budget = Horizon()
    overlap: Count = 1
    grid: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    learner: OwnLearner | None = None

    @property
    def norm(self) -> Norm:
        """The norm in which a record's gradient is bounded."""
        needed: Norm = "l2" if self.mechanism == "gaussian" else "l1"
        return needed if self.sensitivity is None else self.sensitivity.measured(needed)

    def epsilons(self, n_owners: int) -> Array:
        """Return what each owner may spend, ε_i or its part of it; infinite without noise."""
        asked = self.asked(n_owners)
        if self.overlap == 1:
            return asked
        least = float(asked.min())
        if self.mechanism == "gaussian" and self.delta is not None:
            part = gaussian_multiplier(least, self.delta) * self.overlap**0.5
            return np.full(n_owners, gaussian_epsilon(part, self.delta))
        return np.full(n_owners, pure_part(least, self.overlap))

    def asked(self, n_owners: int) -> Array:
        """Return ε_i as the scenario promises it, shape (N,); infinite where no noise is added.

        Where it is one of N copies, what is promised of this one.
        """
        if self.mechanism == "none" or self.epsilon is None:
            return np.full(n_owners, np.inf)
        budgets = np.array(per_owner(self.epsilon, n_owners), dtype=float)
        return budgets if self.learner is None else self.learner.share(budgets)

    @property
    def copy_number(self) -> int:
        """Which of N copies this is, by its learner; 0 where there is but one run."""
        return 0 if self.learner is None else self.learner.owner

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return K_i, distinct answers that each owner may release, for T updates."""
        each = self._each(n_owners)
        if each is None:
            return self.budget.answers_allowed(n_owners, updates)
        budgets = zip(each, self.epsilons(n_owners).tolist(), strict=True)
        if self.mechanism == "gaussian" and self.delta is not None:
            delta = self.delta
            return tuple(
                gaussian_answers(gaussian_multiplier(price, delta), epsilon, delta)
                for price, epsilon in budgets
            )
        return tuple(pure_answers(price, epsilon) for price, epsilon in budgets)

    def accountant(self, n_owners: int, updates: int) -> Pure | Gaussian:
        """Return what answers cost, for T updates."""
        epsilon, each = self.epsilons(n_owners), self._each(n_owners)
        allowed = self.answers_allowed(n_owners, updates)
        answers = np.array(allowed, dtype=np.int64)
        if self.mechanism == "gaussian" and self.delta is not None:
            one = epsilon if each is None else np.array(each)
            multiplier = np.array([gaussian_multiplier(e, self.delta) for e in one.tolist()])
            if each is None:
                multiplier *= np.sqrt(answers)
            return Gaussian(answers, epsilon, multiplier, self.delta)
        total = epsilon
        if each is not None:
            total = np.array([pure_total(e, k) for e, k in zip(each, allowed, strict=True)])
        return Pure(answers, epsilon, total)

    def noise_for(
        self, records: npt.NDArray[np.int64], updates: int, xi: float, size: int
    ) -> Mechanism:
        """Return the noise on answers of ``size`` numbers of owners with n_i ``records``.

        Raises
        ------
        SpecError
            If ``grid`` is too fine for draws of so large a scale to reach each of its steps.
        """
        n_owners, held = len(records), records.astype(float)
        if self.mechanism == "none":
            return NoNoise(np.zeros(n_owners))
        accountant = self.accountant(n_owners, updates)
        if isinstance(accountant, Gaussian):
            return GaussianNoise(2 * xi * accountant.multiplier / held)
        answers, total = accountant.answers.astype(float), accountant.total
        scale = laplace_scale(xi, answers, held, total)
        if self.mechanism == "laplace":
            return LaplaceNoise(scale, self.noise)
        steps = grid_steps(xi, held, size, scale)
        grid = steps if self.grid is None else np.full(n_owners, self.grid)
        noise = DiscreteLaplaceNoise(scale + size * grid * answers / total, grid)
        steepest = float((noise.scale / grid).max())
        if steepest > FINEST:
            given = f"{steepest:.3g} steps in the noise's scale"
            allowed = "allowed are at most 2^44: take a coarser grid, fewer answers or a larger ε"
            raise SpecError([Fault("privacy.grid", given, allowed)])
        return noise

    def faults(self, n_owners: int, model: Model) -> list[Fault]:
        """Return what does not fit together, or does not fit the owners."""
        found = self.budget.faults(n_owners)
        found += wrong_length("privacy.epsilon", self.epsilon, n_owners)
        if self.mechanism != "none":
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

    def _each(self, n_owners: int) -> tuple[float, ...] | None:
        """Return ε₀ of an answer where the budget names that."""
        budget = self.budget
        if not isinstance(budget, UntilSpent) or budget.per_answer is None:
            return None
        return per_owner(budget.per_answer, n_owners)

    def _missing(self) -> list[Fault]:
        found, needed = [], f"this field is required with mechanism {self.mechanism}"
        if self.epsilon is None:
            found.append(Fault("privacy.epsilon", "nothing", f"{needed}: ε > 0, or inf"))
        if self.sensitivity is None:
            allowed = f"{needed}: declared, clip or domain"
            found.append(Fault("privacy.sensitivity", "nothing", allowed))
        if self.mechanism == "gaussian" and self.delta is None:
            allowed = f"{needed}: δ in (0, 1), well below 1/n"
            found.append(Fault("privacy.delta", "nothing", allowed))
        return found

    def _unaffordable(self, n_owners: int) -> list[Fault]:
        """Return a fault where answers have a price, and a budget holds not one or any number."""
        each, key = self._each(n_owners), "privacy.budget.per_answer"
        if each is None:
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
        """Return faults where Gaussian noise for an ε cannot be worked out to the last digits."""
        if self.mechanism != "gaussian":
            return []
        each = self._each(n_owners)
        given = {
            "privacy.epsilon": self.asked(n_owners).tolist(),
            "privacy.budget.per_answer": [] if each is None else list(each),
        }
        least, largest = GAUSSIAN
        allowed = f"allowed is {least:g} to {largest:g} with mechanism gaussian"
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
        found, bound = [], self.sensitivity
        if self.noise != "vector" and self.mechanism not in ("laplace", "none"):
            allowed = f"allowed is vector with mechanism {self.mechanism}"
            found.append(Fault("privacy.noise", repr(self.noise), allowed))
        if self.grid is not None and self.mechanism != "discrete-laplace":
            allowed = f"allowed is nothing with mechanism {self.mechanism}, which has no grid"
            found.append(Fault("privacy.grid", show(self.grid), allowed))
        elif self.grid is not None and np.frexp(self.grid)[0] != 0.5:
            allowed = "allowed is a power of two, such as 0.0009765625 = 2^-10"
            found.append(Fault("privacy.grid", show(self.grid), allowed))
        if bound is None:
            return found
        fitting = ("l2",) if self.mechanism == "gaussian" else ("l1", "l2-as-published")
        if bound.norm is not None and self.mechanism != "none" and bound.norm not in fitting:
            allowed = f"allowed with mechanism {self.mechanism}: {', '.join(fitting)}"
            found.append(Fault("privacy.sensitivity.norm", repr(bound.norm), allowed))
        if bound.kind == "domain":
            if model.gradient_bound(bound.row_norm, bound.target_max, 1, "l1") is None:
                allowed = "a domain bound needs model.theta_max"
                found.append(Fault("model.theta_max", "nothing", allowed))
            if model.classifies and bound.target_max < 1:
                given, allowed = f"{bound.target_max:g}", "allowed is ≥ 1 with labels ±1"
                found.append(Fault("privacy.sensitivity.target_max", given, allowed))
        return found
