"""Choices of whom a learner asks, how many at a time, with which step, until a ψ is reached.

Expected ψ is exact given who answers when, and averaged, as times are, over the same few simulated
networks for all choices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.evidence.exact_moments import ENDLESS
from asyncdp_sim.forecasts.exact.simulated_orders import Orders, orders
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.privacy.budgets import AsAsked
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.moments.stale_order import StaleCourse, central_map, stale_course
from asyncdp_sim.theory.predict.table import facts_of

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
ORDERS, SETTLED = 24, 200
"""Simulated networks of each choice that is tried; and other ones, of those that are left."""
LENGTHS = 12
"""T at which expected ψ is worked out, in equal ratios up to the scenario's,"""
SHORTEST = 16
"""from so many times less on."""
COARSE, FINE = np.geomspace(0.35, 1.4, 5), np.geomspace(0.35, 1.4, 13)
"""Steps that are tried first, over the scenario's; and of the choices that are left."""


@dataclass(frozen=True)
class Handing:
    """A choice, and what it is expected to come to.

    Attributes
    ----------
    tasks : int
        m.
    chances : tuple of float
        p_i, which sum to 1.
    step : float
        Of the algorithm.
    updates : int
        T, after which the target is expected to be reached.
    time : float
        Expected time until then, and
    error : float
        the standard error of that, over simulated networks: of times and of ψ.
    """

    tasks: int
    chances: tuple[float, ...]
    step: float
    updates: int
    time: float
    error: float


@dataclass(frozen=True, eq=False)
class HandingOut:
    """The time that choices take to a ψ.

    Attributes
    ----------
    known : Population
    target : float
        ψ.
    groups : tuple of tuple of int
        Owners (from 0) that are alike, and have the same p_i.
    """

    known: Population
    target: float
    groups: tuple[tuple[int, ...], ...]

    def chances(self, logs: Array) -> tuple[float, ...]:
        """Return p_i, given ln p_i of groups but for a constant."""
        each = np.empty(self.known.scenario.owners.count)
        for group, one in zip(self.groups, np.exp(logs - logs.max()).tolist(), strict=True):
            each[list(group)] = one
        return tuple((each / each.sum()).tolist())

    def soonest(self, tasks: int, chances: tuple[float, ...]) -> Handing | None:
        """Return the step and the T with which the target is reached first; None if with none."""
        given = self.known.scenario.run
        return self._first(tasks, chances, given.updates, ORDERS, given.seed, COARSE)

    def settled(self, choice: Handing) -> Handing | None:
        """Return the same choice by other networks and more of them, its step and T chosen anew.

        What is the best of many by few networks was also lucky there.
        """
        given = self.known.scenario.run
        longest = min(given.updates, 2 * choice.updates)
        return self._first(choice.tasks, choice.chances, longest, SETTLED, given.seed + 1, FINE)

    def _first(
        self,
        tasks: int,
        chances: tuple[float, ...],
        longest: int,
        count: int,
        seed: int,
        steps: Array,
    ) -> Handing | None:
        given = self.known.scenario
        scene = handed_out(given, tasks, chances, given.algorithm.step_length, longest)
        network = scene.network
        network = network.model_copy(update={"answers_allowed": (ENDLESS,) * network.n_owners})
        found = orders(network, count, seed)
        lengths = _lengths(longest)
        variance = np.stack([self._variance(scene, int(k)) for k in lengths])
        tried = dict[float, Handing]()

        def best_of(more: Sequence[float]) -> float | None:
            for factor in more:
                reached = self._reached(scene, chances, factor, found, lengths, variance)
                if reached is not None:
                    step = factor * given.algorithm.step_length
                    tried[factor] = Handing(tasks, chances, step, *reached)
            return min(tried, key=lambda factor: tried[factor].time, default=None)

        least, second, *_, most = steps.tolist()
        edges = {least: least / second, most: second / least}
        best = best_of(steps.tolist())
        while best in edges:
            ratio = edges.pop(best)
            edges[ratio * best] = ratio
            best = best_of([ratio * best])
        return None if best is None else tried[best]

    def _variance(self, scene: Scenario, updates: int) -> Array:
        """Return the variance of owners' noise where a run has so many updates, (N,)."""
        objective = _objective(self.known)
        shorter = scene.model_copy(update={"run": with_length(scene, updates)})
        return shorter.noise_for(objective.records).variance

    def _reached(
        self,
        scene: Scenario,
        chances: tuple[float, ...],
        factor: float,
        found: Orders,
        lengths: Indices,
        variance: Array,
    ) -> tuple[int, float, float] | None:
        """Return T, the expected time until then and its error, with a step; None if never."""
        psi = self._psi(scene, chances, factor, found, lengths).excess(variance)
        psi = psi / (_objective(self.known) if self.known.judge is None else self.known.judge).least
        mean = np.where(np.isfinite(psi), psi, np.inf).mean(axis=0)
        below = np.flatnonzero(mean <= self.target)
        if len(below) == 0:
            return None
        at = int(below[0])
        updates, steep = float(lengths[at]), 1.0
        if at > 0 and np.isfinite(mean[at - 1]):
            steep = log(mean[at - 1] / mean[at]) / log(lengths[at] / lengths[at - 1])
            updates = float(lengths[at]) * (mean[at] / self.target) ** (1 / steep)
        length = min(ceil(updates), found.owners.shape[1])
        times = found.times[:, length]
        # a ψ that is off by a share moves T, and time with it, by that share over the slope
        off = psi[:, at] / mean[at] / steep + times / times.mean()
        return length, float(times.mean()), float(times.mean() * off.std(ddof=1) / sqrt(len(off)))

    def _psi(
        self,
        scene: Scenario,
        chances: tuple[float, ...],
        factor: float,
        found: Orders,
        lengths: Indices,
    ) -> StaleCourse:
        algorithm = scene.algorithm.one_central
        if algorithm is None:
            raise TypeError(f"no moments of {scene.algorithm.kind}")
        often = len(chances) * np.array(chances) if scene.algorithm.needs_shares else None
        return stale_course(
            central_map(_objective(self.known), factor * algorithm.step, often),
            found.owners,
            found.staleness,
            lengths,
            algorithm.weight(found.staleness),
            initial=algorithm.initial,
        )


def _objective(known: Population) -> Quadratic:
    if known.objective is None:
        raise TypeError(f"no second moments of model {known.scenario.model.kind}")
    return known.objective


def _lengths(longest: int) -> Indices:
    tried = np.geomspace(max(1.0, longest / SHORTEST), longest, LENGTHS)
    return np.unique(np.rint(tried).astype(np.int64))


def with_length(scenario: Scenario, updates: int) -> Any:
    """Return the run of a scenario with another T."""
    every = min(scenario.run.record_every, updates)
    return scenario.run.model_copy(update={"updates": updates, "record_every": every})


def handed_out(
    scenario: Scenario, tasks: int, chances: tuple[float, ...], step: float, updates: int
) -> Scenario:
    """Return the scenario with another m, p_i, step and T; K_i follow p_i and T."""
    changed: dict[str, Any] = {
        "protocol": scenario.protocol.model_copy(
            update={"tasks": tasks, "probabilities": chances, "to": "drawn", "policy": None}
        ),
        "algorithm": scenario.algorithm.with_step(step),
        "run": with_length(scenario, updates),
    }
    if not scenario.privacy.budget.follows_updates:
        changed["privacy"] = scenario.privacy.model_copy(update={"budget": AsAsked()})
    return scenario.model_copy(update=changed)


def alike(scenario: Scenario, objective: Quadratic) -> tuple[tuple[int, ...], ...]:
    """Return owners (from 0) that take as long in the mean, and have as many records and as much ε.

    In order of their times.
    """
    epsilon = scenario.privacy.epsilons(scenario.owners.count).tolist()
    same = list(
        zip(facts_of(scenario.network).services, objective.records.tolist(), epsilon, strict=True)
    )
    kinds = sorted(set(same))
    return tuple(tuple(i for i, own in enumerate(same) if own == kind) for kind in kinds)


def ladder(n_owners: int) -> list[int]:
    """Return m that are tried first: powers of two to N, and N and 2N."""
    tried = {2**power for power in range(n_owners.bit_length())} | {n_owners, 2 * n_owners}
    return sorted(tried)


__all__ = ["Handing", "HandingOut", "alike", "handed_out", "ladder"]
