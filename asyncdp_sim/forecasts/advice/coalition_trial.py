"""A coalition on trial: simulated runs of its members alone, judged on everybody's rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
    scenario, data = known.scenario, known.dataset
    chosen = [member - 1 for member in coalition.members]
    rest = sorted(set(range(len(data.targets))) - set(chosen))
    features, targets = [data.features[i] for i in rest], [data.targets[i] for i in rest]
    if data.unowned_features is not None and data.unowned_targets is not None:
        features.append(data.unowned_features)
        targets.append(data.unowned_targets)
    budget = scenario.privacy.budget.sized(coalition.answers)
    epsilon = tuple(scenario.privacy.epsilons(scenario.owners.count)[chosen].tolist())
    sizes, length = tuple(len(data.targets[i]) for i in chosen), coalition.updates
    changes: dict[str, dict[str, Any]] = {
        "owners": {"count": len(chosen), "records": sizes},
        "run": {"updates": length},
        "algorithm": {scenario.algorithm.step_field: coalition.rho},
        "privacy": {"epsilon": epsilon, "budget": budget, "learner": None},
    }
    alone = scenario.model_copy(
        update={
            name: getattr(scenario, name).model_copy(update=change)
            for name, change in changes.items()
        }
    )
    dataset = replace(
        data,
        features=tuple(data.features[i] for i in chosen),
        targets=tuple(data.targets[i] for i in chosen),
        public_rows_of_owner=tuple(data.public_rows_of_owner[i] for i in chosen),
        rows=tuple(data.rows[i] for i in chosen) if len(data.rows) > 0 else (),
        owner_names=tuple(data.owner_names[i] for i in chosen) if len(data.owner_names) > 0 else (),
        held_out_features=(),
        held_out_targets=(),
        unowned_features=np.concatenate(features) if len(features) > 0 else None,
        unowned_targets=np.concatenate(targets) if len(targets) > 0 else None,
    )
    return alone, dataset
