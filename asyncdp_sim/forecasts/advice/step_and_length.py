"""Choices of ρ and T by their moments, and the best ρ of each T."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.advice.coalition_cost import enough_answers, steps
from asyncdp_sim.forecasts.advice.invitations.costs import spread_of
from asyncdp_sim.forecasts.exact.assumptions import choice
from asyncdp_sim.forecasts.exact.equal_sizes import one_size
from asyncdp_sim.forecasts.exact.many_groups import Course
from asyncdp_sim.forecasts.exact.one_on_one import Recursions
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.runs.problem import prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.moments.clipped import ClippedCourse
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
LENGTHS = 16
"""T that are tried from N to twice the scenario's, in equal ratios; half as many near the best."""
BOLDER = np.geomspace(1.5, 100.0, 12)
"""ρ that are tried beyond the boldest, over it, where gradients are clipped."""
REFINED = 9
"""Values of ρ between the two neighbours of the best so far, twice."""


@dataclass(frozen=True, eq=False)
class StepAndLength:
    """A choice of ρ and T, and what it comes to.

    Attributes
    ----------
    rho : float
    updates : int
        T.
    answers : int
        K, answers that share each budget.
    moments : float or None
        E ψ(θ_L,T) by moments, or about that; None where they do not apply.
    """

    rho: float
    updates: int
    answers: int
    moments: float | None

    def __str__(self) -> str:
        """Return the choice."""
        return f"ρ = {self.rho:.4g}, T = {self.updates}, K = {self.answers}"

    @property
    def by_moments(self) -> str:
        """What moments say of it."""
        return "by moments " + ("not known" if self.moments is None else f"{self.moments:.4g}")


@dataclass(frozen=True, eq=False)
class Search:
    """Expected ψ of choices of ρ and T, by moments.

    Attributes
    ----------
    known : Population
    clipped : ClippedCourse or None
        Where gradients are clipped.
    """

    known: Population
    clipped: ClippedCourse | None

    def lengths(self) -> list[StepAndLength]:
        """Return the best ρ of each T from N to twice the scenario's."""
        n, updates = self.known.scenario.owners.count, self.known.scenario.run.updates
        tried = self._over(np.geomspace(n, max(2 * updates, n + 1), LENGTHS))
        least = min(tried, key=cost_of).updates
        near = [each.updates for each in tried if least / 2 <= each.updates <= 2 * least]
        tried += self._over(np.geomspace(min(near), max(near), LENGTHS // 2))
        return sorted({each.updates: each for each in tried}.values(), key=lambda t: t.updates)

    def best_rho(self, updates: int) -> StepAndLength:
        """Return the best ρ for a T, owners being taken to be of one size."""
        scenario = self.known.scenario
        answers = _answers(scenario, updates)
        scan = np.array([each[-1] for each in steps(self._course(updates), scenario.owners.count)])
        if self.clipped is not None:  # whose pull is weaker than the curvature says
            scan = np.concatenate([scan, scan[-1] * BOLDER])
        for _ in range(3):
            psi = self.one_size(scan, updates, answers)
            at = int(np.argmin(psi))
            found = StepAndLength(float(scan[at]), updates, answers, _finite(psi[at]))
            scan = np.geomspace(scan[max(at - 1, 0)], scan[min(at + 1, len(scan) - 1)], REFINED)
        return found

    def one_size(self, rho: Array, updates: int, answers: int) -> Array:
        """Return E ψ at values of ρ, owners being of one size, with the mean of their noise."""
        known, n = self.known, self.known.scenario.owners.count
        total, members = float(sum(map(len, known.dataset.targets))), np.full(len(rho), n)
        noise = n * answers**2 * float(spread_of(known).sum()) / total**2
        if self.clipped is not None:
            each = np.full(len(rho), noise)
            return self.clipped.expected_psi(rho, members, updates, each)
        free, gain = one_size(self._course(updates), rho, members)
        return np.asarray(free + gain * noise if noise > 0 else free)

    def moments(self, setting: StepAndLength, scenario: Scenario) -> float | None:
        """Return E ψ of a choice, exactly where nothing is clipped; None where it is not known."""
        if self.clipped is not None:
            if setting.answers < _answers(scenario, setting.updates):
                return None  # budgets may end before T
            rho = np.array([setting.rho])
            return _finite(self.one_size(rho, setting.updates, setting.answers)[0])
        problem = prepare(scenario, self.known.dataset)
        here = replace(self.known, scenario=scenario, problem=problem)
        chosen, objective = choice(here), here.objective
        if isinstance(chosen, Unknown) or objective is None:
            return None
        exact = Recursions().expect(here, objective, chosen)
        return None if exact.refuted(objective.theta_max) else _finite(exact.psi[-1])

    def _over(self, lengths: Array) -> list[StepAndLength]:
        return [self.best_rho(length) for length in sorted({round(t) for t in lengths.tolist()})]

    def _course(self, updates: int) -> Course:
        algorithm, objective = self.known.scenario.algorithm.one_on_one, self.known.objective
        if algorithm is None or objective is None:
            raise TypeError("unlike() lets no such scenario pass")
        return Course.of(
            objective,
            updates=updates,
            central_step=algorithm.central_step,
            noise=self.known.scenario.privacy.noise,
            initial=algorithm.initial,
        )


def cost_of(setting: StepAndLength) -> float:
    """Return E ψ by moments, infinite where it is not known."""
    return np.inf if setting.moments is None else setting.moments


def _finite(psi: float) -> float | None:
    return float(psi) if np.isfinite(psi) else None


def _answers(scenario: Scenario, updates: int) -> int:
    """Return K that share a budget."""
    follows = scenario.privacy.budget.follows_updates
    return updates if follows else enough_answers(scenario.owners.count, updates)


def with_choice(scenario: Scenario, setting: StepAndLength) -> Scenario:
    """Return the scenario with another ρ, T and K."""
    changed: dict[str, Any] = {
        "algorithm": scenario.algorithm.with_step(setting.rho),
        "run": scenario.run.model_copy(update={"updates": setting.updates}),
    }
    budget = scenario.privacy.budget.sized(setting.answers)
    if budget is not scenario.privacy.budget:
        changed["privacy"] = scenario.privacy.model_copy(update={"budget": budget})
    return scenario.model_copy(update=changed)
