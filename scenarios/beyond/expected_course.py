"""Expected course of tasks that are handed out: exact given who answers when.

Orders of the answers and their times are of networks simulated afresh, in which no run has a part.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.exact.turns import orders
from analysis.studies.whom_to_ask import TARGET, reached
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results import Result
from asyncdp_sim.scenario import Scenario
from scenarios.beyond.stale_order import central_map, stale_course
from scenarios.papers.problem import objective_of, once, scenario

NETWORKS = 200
DRAWS, SEED = 200, 22
"""How often networks are drawn again for a standard error, and by which seed."""


@dataclass(frozen=True, eq=False)
class Course:
    """Times and E ψ of simulated networks at recorded k, each (R, J)."""

    times: Array
    psi: Array

    def time_to(self, rows: Any = slice(None)) -> float:
        """Return when mean ψ of some of the networks is the target; ∞ if it never is."""
        return reached(self.times[rows].mean(axis=0), self.psi[rows].mean(axis=0), TARGET)

    @cached_property
    def redrawn(self) -> Array:
        """The same of networks drawn again, (DRAWS,)."""
        draws, count = np.random.default_rng(SEED), len(self.psi)
        return np.array([self.time_to(draws.integers(0, count, count)) for _ in range(DRAWS)])


@once(64)
def course(result: Result) -> Course:
    """Return the expected course of a cell."""
    return expected_course(scenario(result), objective_of(result), NETWORKS)


def expected_course(scene: Scenario, objective: Quadratic, count: int) -> Course:
    """Return the expected course of one model that steps by answers handed out.

    Parameters
    ----------
    scene : Scenario
        With ``fedbuff`` of one answer an update.
    objective : Quadratic
    count : int
        Networks.
    """
    algorithm: Any = scene.algorithm
    if getattr(algorithm, "buffer", None) != 1:
        raise TypeError(f"no moments of {algorithm.kind}")
    found = orders(scene.network, count, scene.run.seed)
    n_owners, ks = scene.owners.count, np.arange(0, scene.run.updates + 1, scene.run.record_every)
    often = n_owners * np.array(scene.protocol.chances(n_owners))  # type: ignore[union-attr]
    divided = often if algorithm.needs_shares else None
    process = central_map(objective, algorithm.step * algorithm.server_step, divided)
    weights = algorithm.weight(found.staleness)
    variance = scene.noise_for(objective.records).variance
    excess = stale_course(
        process, found.owners, found.staleness, ks, weights, variance, initial=algorithm.initial
    )
    return Course(found.times[:, ks], excess / objective.least)
