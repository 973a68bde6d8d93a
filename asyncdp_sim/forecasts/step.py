"""The step of a scenario in words: its length, and how far it takes the model in T updates."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.words import extent, number
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.convergence import contraction

MOST = 2e7
"""Numbers in owners' records up to which these are drawn to say how far a step takes the model."""
LEAST = 1e-6
"""What is left of the distance is printed down to this."""
MOVES = 0.99
"""What is left at most of the distance to the optimum, in one direction, where a model moves."""


def step_lines(scenario: Scenario) -> Iterator[str]:
    """Yield the length of the step, its effect over T updates, and a warning if needed.

    Computed from data that may be published: drawn records, and substitutes for a real table.
    """
    owners, updates, sigma = scenario.owners.count, scenario.run.updates, scenario.model.sigma
    algorithm = scenario.algorithm
    step = algorithm.step_of(owners, updates, sigma)
    if step is not None:
        text = f"step: {number(step)} per update, ρ = {number(step * updates**2 * sigma / owners)}"
    elif hasattr(algorithm, algorithm.step_field):
        text = f"step: {algorithm.step_field} = {number(algorithm.step_length)}"
    else:
        return
    left_along = _left_along(scenario)
    if left_along is None:
        yield f"{text}; its effect over T updates is not computed for {algorithm.kind}"
        return
    left = [left_along(curvature) for curvature in _curvatures(scenario)]
    if len(left) == 0:
        yield text
        return
    direction = "least" if len(left) > 1 else "largest"
    share = f"{left[0]:.2g}" if left[0] >= LEAST else f"less than {LEAST:g}"
    fresh = "" if algorithm.mean_step is None else ", for staleness 0"
    yield (
        f"{text}; after T updates, {share} of the initial distance to the optimum remains on "
        f"average (direction of {direction} curvature, without noise and clipping{fresh})"
    )
    if not max(left) <= 1:
        yield "step: too long, learning diverges: take a shorter step"
    elif min(left) > MOVES:
        yield "step: too short, T updates hardly move the model: take a longer step"


def _curvatures(scenario: Scenario) -> list[float]:
    """Return f's least curvature, if known, and its largest; none where records are too many."""
    size = sum(scenario.all_records or ()) * scenario.data.features
    if size > MOST:
        return []
    try:
        data = population(scenario, private=False)
    except DataError:
        return []
    if data.objective is not None:
        return [2 * float(value) for value in np.linalg.eigvalsh(data.objective.hessian)[[0, -1]]]
    largest = data.problem.task.objective.smoothness
    return [] if largest is None else [largest]


def _left_along(scenario: Scenario) -> Callable[[float], float] | None:
    """Return what is left of the distance along a curvature; None where that is not computed."""
    algorithm, updates = scenario.algorithm, scenario.run.updates
    gossip, rounds, move = algorithm.one_on_one, algorithm.in_rounds, algorithm.mean_step
    if gossip is not None:
        owners, sigma = scenario.owners.count, scenario.model.sigma
        return partial(
            contraction,
            n_owners=owners,
            step=algorithm.step_of(owners, updates, sigma) or 0.0,
            sigma=sigma,
            updates=updates,
            central_step=gossip.central_step,
        )
    if rounds is not None:
        return partial(_left_in_rounds, rounds.schedule(rounds.step_length, updates))
    if move is not None:
        return partial(_left_in_rounds, Schedule(np.full(updates, move)))
    return None


def _left_in_rounds(schedule: Schedule, curvature: float) -> float:
    """Return what is left of the distance of the model that is judged, θ itself or an average."""
    with np.errstate(over="ignore", invalid="ignore"):
        factors = 1 - schedule.sizes * curvature
        if schedule.kept is None:
            return abs(float(np.prod(factors)))
        model, judged = 1.0, 1.0
        for factor, kept in zip(factors.tolist(), schedule.kept.tolist(), strict=True):
            judged = kept * judged + (1 - kept) * model
            model *= factor
        return abs(judged)


def swept_step(cells: Sequence[Scenario]) -> Iterator[str]:
    """Yield what a sweep over N, T or σ does to the step."""
    sizes = [(cell.owners.count, cell.run.updates, cell.model.sigma) for cell in cells]
    steps = [cell.algorithm.step_of(*size) for cell, size in zip(cells, sizes, strict=True)]
    lengths = [step for step in steps if step is not None]
    if len(lengths) == 0 or len(set(sizes)) == 1:
        return
    if steps == [cell.algorithm.step_of(*sizes[0]) for cell in cells]:
        yield f"sweep: the step, {extent(lengths)} per update, does not change with N, T and σ"
    else:
        yield (
            f"sweep: ρ as given makes the step Nρ/(T²σ) {extent(lengths)} per update in the cells; "
            "algorithm.step in its place does not change with N, T and σ"
        )
