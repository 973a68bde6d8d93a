"""Collab's θ* (section IV): Algorithm 1 with ε = ∞, held against the solver's.

The paper finds θ* by the algorithm itself and states neither ρ nor T for it. Without noise each
direction of curvature c of a quadratic f goes on its own: Π_{j=1}^{k} (1 − rc/j), r = ρ/T², is left
of it after k updates, which falls as k^(−rc). So ψ falls as k^(−2rL), L the least curvature, once
the others have gone, and geometrically, by (1 − L/λ)² a step, where steps are 1/λ throughout
(section II allows constant ones where ε = ∞). Nothing was published of it in numbers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis.exact.synchronous import moments
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.figures import convergence
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.claims import Range, result
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import objective_of
from scenarios.papers.problem import scenario as scenario_of

SMOOTH = "ρ/T² = 1/λ"
CLOSE = 1e-6
LOST = 1e-16
"""Below it, ψ is rounding."""
FOUND = 0.01
"""A tenth of the 0.1 within which section I finds private models: what would pass for θ* there."""


def problem(found: Result) -> tuple[Scenario, Quadratic]:
    """Return the scenario of a result, and the fitness of its records, which all cells share."""
    first = Result.read(found.directory.with_name("cell-0000"))
    return scenario_of(found), objective_of(first)


def curvatures(found: Result) -> Array:
    """Return the curvatures of f, the least (L) first and the largest (λ) last."""
    _, objective = problem(found)
    return np.asarray(2 * np.linalg.eigvalsh(objective.hessian))


def steps(scenario: Scenario) -> Schedule:
    """Return the steps that a scenario names."""
    rounds: Any = scenario.algorithm.in_rounds
    found: Schedule = rounds.schedule(rounds.step_length, scenario.run.updates)
    return found


def exact(found: Result) -> Array:
    """Return ψ after k = 0 … T noise-free updates, by the recursion."""
    scenario, objective = problem(found)
    learned = moments(objective.hessian, objective.optimum, steps(scenario)).judged
    away = learned.mean - objective.optimum
    excess = np.einsum("ki,ij,kj->k", away, objective.hessian, away)
    return np.asarray(excess / objective.fitness(objective.optimum))


def psi(found: Result) -> tuple[Ints, Array]:
    """Return k and ψ of a run."""
    k, measured = found.columns("curve", "k", "relative_fitness")
    return k, measured


def off(found: Result) -> float:
    """Return the largest |ψ over the recursion's − 1| at any k where ψ is no rounding."""
    k, measured = psi(found)
    expected = exact(found)[k]
    told = expected > LOST
    return float(np.max(np.abs(measured[told] / expected[told] - 1)))


def end(found: Result) -> float:
    """Return ψ after the last update."""
    return float(psi(found)[1][-1])


def exponent(found: Result) -> float:
    """Return q of ψ ∝ k^q over the last decade of k."""
    k, measured = psi(found)
    late = k >= k[-1] / 10
    return float(np.polyfit(np.log(k[late]), np.log(measured[late]), 1)[0])


def rate(found: Result) -> float:
    """Return ψ over ψ of the update before, over the theory's (1 − L/λ)², λ = 1/step."""
    k, measured = psi(found)
    late = (measured > LOST) & (measured < 1e-6 * measured[0])
    slope = np.polyfit(k[late], np.log(measured[late]), 1)[0]
    scenario, _ = problem(found)
    step: Any = scenario.algorithm
    return float(np.exp(slope) / (1 - step.step * curvatures(found)[0]) ** 2)


def distance(found: Result) -> float:
    """Return ‖θ − θ*‖/‖θ*‖ after the last update, θ* the solver's."""
    (model,) = found.columns("models", "theta_L")
    (solved,) = found.columns("optimum", "theta")
    return float(np.linalg.norm(model - solved) / np.linalg.norm(solved))


def as_slow(sweep: Sweep) -> Range:
    """Return up to ψ after T updates by the recursion."""
    return FOUND, (1 + CLOSE) * float(exact(result(sweep, SMOOTH))[-1])


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw ψ over the updates, a line for each choice of steps."""
    return [
        convergence.by_update(
            [CurveLine(cell.result, cell.label([VARIANT])) for cell in sweep.cells]
        )
    ]


FIGURES = read_figures(Path(__file__).with_suffix(".toml"), globals())
"""No figure of the paper, but what all of them are measured against."""
