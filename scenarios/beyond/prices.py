"""Prices of a ψ: time, or joules by what owners draw; as measured, and as expected.

What is expected is exact given who answers when: orders of the answers and their times are of
networks simulated afresh, in which no run has a part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.exact.assumptions import ENDLESS
from analysis.exact.turns import orders
from analysis.studies.whom_to_ask import TARGET, reached, time_to
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.measures.energy import Energy, expected
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace.vocabulary import State
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


Powers = Callable[[Scenario], Energy]


@dataclass(frozen=True)
class Price:
    """What is paid until mean ψ is the target.

    Attributes
    ----------
    powers : callable, optional
        From a scenario to what its owners draw; None where time is the price.
    """

    powers: Powers | None = None

    def paid(self, cell: Cell) -> float:
        """Return the price as it was measured: mean power times the time; ∞ if never reached."""
        time = time_to(cell.result)
        return time if self.powers is None else time * drawn(cell.result, self.powers)

    def expected(self, cell: Cell) -> tuple[float, Array]:
        """Return the price that is expected, and of networks drawn again."""
        found = course(cell.result)
        power = _power(cell.result, self)
        return power * found.time_to(), power * found.redrawn

    def best(self, sweep: Sweep) -> Cell:
        """Return the choice that is expected to be the cheapest of those that surely get there."""
        sure = [cell for cell in sweep.cells if np.isfinite(self.expected(cell)[1]).all()]
        return min(sure, key=lambda cell: self.expected(cell)[0])

    def saved(self, best: Cell, usual: Cell) -> tuple[float, float]:
        """Return the share that is expected to be saved, and its standard error."""
        (one, ones), (other, others) = self.expected(best), self.expected(usual)
        return 1 - one / other, float(np.std(ones / others, ddof=1))


@once(256)
def _power(result: Result, price: Price) -> float:
    """Return the watts that all owners are expected to draw; 1 where time is the price."""
    if price.powers is None:
        return 1.0
    said = scenario(result)
    roomy = {"answers_allowed": (ENDLESS,) * said.owners.count}  # what is kept in reserve suffices
    found = expected(price.powers(said), said.network.model_copy(update=roomy))
    if isinstance(found, Unknown):
        raise TypeError(found.reason)
    return float(found.watts.sum())


def drawn(result: Result, powers: Powers) -> float:
    """Return the mean watts of all owners, from the times that they were in each state."""
    watts = powers(scenario(result)).watts(scenario(result).owners.count)
    names = [f"time_{state.name}" for state in State]
    owner, *times = result.columns("owners", "owner", *names)
    spent = np.stack(times, axis=1)
    joules = float((spent * watts[owner - 1]).sum())
    return joules * len(watts) / float(spent.sum())


def _board(said: Scenario) -> Energy:
    if said.energy is None:
        raise TypeError(f"{said.id} has no [energy]")
    return said.energy


def _work(said: Scenario) -> Energy:
    """Return the board's watts at work, and nothing else."""
    none = {state.name: 0.0 for state in State}
    return _board(said).model_copy(update=none | {"computing": _board(said).computing})


def _even(said: Scenario) -> Energy:
    """Return watts at work in inverse proportion to the time that an answer takes."""
    times = np.array(said.network.mean_times("compute"))
    watts = _work(said).watts(len(times))[:, State.computing]
    each = watts * times.mean() / times
    return _work(said).model_copy(update={"computing": tuple(each.tolist())})


TIME = Price()
BOARD, WORK, EVEN = Price(_board), Price(_work), Price(_even)
"""The entry's boards; without watts while idle; and with as many joules for each answer."""
