"""The step of a scenario in words: its length, and how far it takes the model in T updates."""

from collections.abc import Iterator, Sequence

import numpy as np

from asyncdp_sim.errors import DataError
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.moments.gossip_map import contraction
from asyncdp_sim.words import extent

MOST = 2e7
"""Numbers in owners' records up to which these are drawn to say how far a step takes the model."""
LEAST = 1e-6
"""What is left of the distance is printed down to this."""
MOVES = 0.99
"""What is left at most of the distance to the optimum, in one direction, where a model moves."""


def step_lines(scenario: Scenario) -> Iterator[str]:
    """Yield how long the step is, what T updates make of it, and what is wrong with it.

    Of data that may be seen: drawn ones, and those that stand in for a real table.
    """
    owners, updates, sigma = scenario.owners.count, scenario.run.updates, scenario.model.sigma
    step = scenario.algorithm.step_of(owners, updates, sigma)
    if step is None:
        return
    said = f"step: {step:.4g} per update, ρ = {step * updates**2 * sigma / owners:.4g}"
    left = _left(scenario, step)
    if len(left) == 0:
        yield said
        return
    direction = "least" if len(left) > 1 else "largest"
    share = f"{left[0]:.2g} of it" if left[0] >= LEAST else f"less than {LEAST:g} of it"
    yield (
        f"{said}; T updates bring the distance to the optimum to {share} in the direction of "
        f"{direction} curvature, in the mean, without noise and clipping"
    )
    if not max(left) <= 1:
        yield "step: too long, learning diverges: take a shorter step"
    elif min(left) > MOVES:
        yield "step: too short, T updates hardly move the model: take a longer step"


def _left(scenario: Scenario, step: float) -> list[float]:
    """Return what is left of the distance, along the least curvature if known, and the largest."""
    algorithm = scenario.algorithm.one_on_one
    size = sum(scenario.all_records or ()) * scenario.data.features
    if algorithm is None or size > MOST:
        return []
    try:
        known = population(scenario, "own", private=False)
    except DataError:
        return []
    objective = known.problem.task.objective
    curvatures = [objective.smoothness]
    if known.objective is not None:
        curvatures = (2 * np.linalg.eigvalsh(known.objective.hessian)[[0, -1]]).tolist()
    return [
        contraction(
            each,
            scenario.owners.count,
            step=step,
            sigma=scenario.model.sigma,
            updates=scenario.run.updates,
            central_step=algorithm.central_step,
        )
        for each in curvatures
        if each is not None
    ]


def swept_step(cells: Sequence[Scenario]) -> Iterator[str]:
    """Yield what a sweep over N, T or σ does to the step."""
    sizes = [(each.owners.count, each.run.updates, each.model.sigma) for each in cells]
    steps = [each.algorithm.step_of(*size) for each, size in zip(cells, sizes, strict=True)]
    known = [step for step in steps if step is not None]
    if len(known) == 0 or len(set(sizes)) == 1:
        return
    if steps == [each.algorithm.step_of(*sizes[0]) for each in cells]:
        yield f"sweep: the step, {extent(known)} per update, does not change with N, T and σ"
    else:
        yield (
            f"sweep: ρ as given makes the step Nρ/(T²σ) {extent(known)} per update in the cells; "
            "algorithm.step in its place does not change with N, T and σ"
        )
