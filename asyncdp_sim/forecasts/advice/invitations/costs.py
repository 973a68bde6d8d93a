"""Costs of all coalitions of a scenario's owners, and what is taken for granted of them."""

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecasts.advice.coalition_cost import (
    EqualSizeCost,
    enough_answers,
    steps,
    strides,
)
from asyncdp_sim.forecasts.exact.assumptions import broken
from asyncdp_sim.forecasts.exact.clipping import clips
from asyncdp_sim.forecasts.exact.many_groups import Course
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.privacy.budgets import Horizon
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.update_order import releases, selection
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
SHARES_OF_T = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""T that are tried, over the scenario's, with ``tuned``."""


def prepared(
    known: Population, *, tuned: bool
) -> tuple[EqualSizeCost, Array, Array, tuple[str, ...]]:
    """Return the costs of coalitions, n_i and w_i of every owner, and what is taken for granted."""
    scenario, objective = known.scenario, known.objective
    if scenario.privacy.overlap > 1:
        said = "allowed is 1: who shares records changes with the coalition"
        raise SpecError([Fault("privacy.overlap", str(scenario.privacy.overlap), said)])
    doubts = unlike(known)
    if clips(known):
        linear = "no record's gradient is clipped, so that answers are linear in the model"
        doubts = (*doubts, linear)
    if objective is None:
        raise TypeError("unlike() lets no such scenario pass")
    updates, lengths = scenario.run.updates, [scenario.run.updates]
    if tuned:
        lengths = sorted({max(1, round(share * updates)) for share in SHARES_OF_T})
    costs = _in_rounds if scenario.algorithm.in_rounds is not None else _one_on_one
    alike = costs(scenario, objective, lengths, tuned=tuned)
    return alike, objective.records.astype(float), spread_of(known), doubts


def _in_rounds(
    scenario: Scenario, objective: Quadratic, lengths: list[int], *, tuned: bool
) -> EqualSizeCost:
    """Return the costs of coalitions that learn in rounds, for these T."""
    algorithm, total = scenario.algorithm.in_rounds, float(objective.records.sum())
    if algorithm is None:
        raise TypeError("unlike() lets no such scenario pass")
    noise, initial, schedule = scenario.privacy.noise, algorithm.initial, algorithm.schedule
    courses = [Course.of(objective, updates=t, noise=noise, initial=initial) for t in lengths]
    choices = [(courses[-1], algorithm.step)]
    if tuned:
        choices += [(each, c) for each in courses for c in strides(each, schedule)]
    return EqualSizeCost.in_rounds(choices, objective.n_owners, total, schedule)


def _one_on_one(
    scenario: Scenario, objective: Quadratic, lengths: list[int], *, tuned: bool
) -> EqualSizeCost:
    """Return the costs of coalitions that learn one-on-one, for these T."""
    algorithm, privacy, n = scenario.algorithm.one_on_one, scenario.privacy, objective.n_owners
    if algorithm is None:
        raise TypeError("unlike() lets no such scenario pass")
    central_step, initial = algorithm.central_step, algorithm.initial
    course = partial(Course.of, objective, noise=privacy.noise, initial=initial)
    courses = [course(updates=length, central_step=central_step) for length in lengths]
    updates, sigma = scenario.run.updates, objective.sigma
    given = [algorithm.rho(members, updates, sigma) for members in range(1, n + 1)]
    choices = [(courses[-1], np.array(given))]
    if tuned:
        choices += [(each, rho) for each in courses for rho in steps(each, n)]
    follows = privacy.budget.follows_updates
    allowed = (lambda _, length: length) if follows else enough_answers
    return EqualSizeCost.one_on_one(choices, allowed, float(objective.records.sum()))


def spread_of(known: Population) -> Array:
    """Return w_i = n_i² v_i = 2 (2Ξ/ε_i)², v_i the variance if one answer had all of ε_i, (N,)."""
    xi = known.problem.xi
    epsilon = known.scenario.privacy.epsilons(known.scenario.owners.count)
    return np.asarray(2 * np.square(2 * (0.0 if xi is None else xi) / epsilon))


def unlike(known: Population) -> tuple[str, ...]:
    """Return what a forecast of coalitions takes for granted of a scenario.

    Raises
    ------
    SpecError
        If it cannot be made.
    """
    privacy = known.scenario.privacy
    granted = ["records are spread over owners as if by chance: one truth for all of them"]
    endless = privacy.model_copy(update={"budget": Horizon()})
    # budgets are made to fit each coalition, so that those of the scenario's do not matter here
    free = known.scenario.model_copy(update={"privacy": endless})
    doubts = broken(replace(known, scenario=free))
    if clips(known):
        doubts = [doubt for doubt in doubts if not doubt.startswith("clipped")]
    if known.objective is not None and known.objective.theta_max is not None:
        granted.append("the projection onto Θ never acts")
    if not privacy.budget.even:
        doubts.append(f"budgets {privacy.budget.kind}, of unequal parts, are not worked out here")
    elif privacy.hides and not privacy.laplace_variance:
        doubts.append(
            f"noise {privacy.mechanism.kind} of other answer counts is not worked out here"
        )
    if not privacy.budget.named_answers:
        doubts.append(f"budgets {privacy.budget.kind} are not worked out for coalitions")
    doubts += [f"{part} is of all owners by their numbers" for part in free.of_everybody]
    chosen = selection(free.network)
    if not isinstance(chosen, Unknown) and not np.allclose(chosen, 1 / len(chosen), rtol=1e-9):
        doubts.append("owners come unequally often")
    law = releases(free.network)
    if not isinstance(law, Unknown) and np.any(law.loss > 0):
        doubts.append("answers are lost, and use up budgets that are made to fit a coalition")
    if len(doubts) > 0:
        raise SpecError([Fault("", doubt, "no forecast of coalitions") for doubt in doubts])
    return tuple(granted)
