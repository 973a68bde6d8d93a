"""A coalition on trial: simulated runs of its members alone, judged on everybody's rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts.advice.coalition import Coalition
from asyncdp_sim.forecasts.advice.contest import ends
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.runs.workers import Map
from asyncdp_sim.scenario import Scenario

Array = npt.NDArray[np.float64]


def trial(
    known: Population,
    coalition: Coalition,
    numbers: Sequence[int],
    *,
    workers: int = 1,
    run_map: Map | None = None,
) -> Array:
    """Return ψ at the end of simulated runs of a coalition, shape (R,).

    The members learn by themselves, from their own records and with their own moments, at the ρ, T
    and K that the coalition was forecast with; gradients are clipped where the scenario says so.
    f and θ* are those of all owners' records.

    Parameters
    ----------
    known : Population
        All owners.
    coalition : Coalition
    numbers : sequence of int
        Of the replicates.
    workers : int
        Processes.
    run_map : callable, optional
        A ``map`` over so many processes that are there already.
    """
    scenario, dataset = by_themselves(known, coalition)
    return ends(scenario, numbers, dataset=dataset, workers=workers, run_map=run_map)


def by_themselves(known: Population, coalition: Coalition) -> tuple[Scenario, Dataset]:
    """Return the scenario of a coalition's members alone, and its records.

    Those of all others stay, as rows of nobody, for f and θ*.
    """
    places = [member - 1 for member in coalition.members]
    dataset = known.dataset.of_owners(places, range(len(known.dataset.targets)))
    dataset = replace(dataset, held_out_features=(), held_out_targets=())
    return invited(known.scenario, coalition).base(), dataset


def invited(
    scenario: Scenario, coalition: Coalition, called: Sequence[int | str] | None = None
) -> Scenario:
    """Return a scenario with the members of a coalition alone, at its ρ, T and K.

    It is judged by the records that the given one is judged by.

    Parameters
    ----------
    scenario : Scenario
    coalition : Coalition
    called : sequence of int or str, optional
        What its owners are called in ``owners.only``; their numbers, where absent.
    """
    each = scenario.owners.participants if called is None else called
    only = tuple(each[member - 1] for member in coalition.members)
    return scenario.replace(
        owners={"only": only, "score_on": scenario.owners.judging_beside(each)},
        run={"updates": coalition.updates},
        algorithm=scenario.algorithm.with_step(coalition.rho),
        privacy={"budget": scenario.privacy.budget.sized(coalition.answers), "learner": None},
    )
