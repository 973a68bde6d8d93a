"""Whether the exact moments are those of a scenario, and if not, why not."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecast.population import Population
from asyncdp_sim.learning.algorithms import AsyncGossip
from asyncdp_sim.privacy import Clip
from asyncdp_sim.theory.silence import silent_by
from asyncdp_sim.theory.updating import selection

Array = npt.NDArray[np.float64]
RARE = 1e-3
"""Probability of an owner's falling silent before T that is taken for none."""


def broken(population: Population) -> list[str]:
    """Return why exact moments do not apply, a reason each; none where they do."""
    scenario, found = population.scenario, []
    if not isinstance(scenario.algorithm, AsyncGossip):
        found.append(f"algorithm {scenario.algorithm.kind} has no exact moments here")
    if population.objective is None:
        found.append(f"the loss of model {scenario.model.kind} is not quadratic")
    elif not population.objective.interior:
        found.append("the optimum lies on the bound of Θ, where the projection acts")
    if isinstance(scenario.privacy.sensitivity, Clip) and scenario.privacy.mechanism != "none":
        found.append("clipped gradients are not linear in the model")
    if not scenario.protocol.one_on_one:
        found.append(f"answers under protocol {scenario.protocol.kind} may be stale")
    if scenario.adversary is not None or scenario.acceptance is not None:
        found.append("owners that lie, or a learner that bounds answers, are not in the moments")
    if scenario.network.withholds or scenario.network.stops:
        found.append("timing depends on the model")
    chosen = choice(population)
    if isinstance(chosen, str):
        found.append(f"whose update is next depends on the past: {chosen}")
    return found


def choice(population: Population) -> Array | str:
    """Return π, shape (N,), or why it is not known, or not the same for all updates."""
    scenario = population.scenario
    network = scenario.network
    endless = network.model_copy(
        update={"answers_allowed": (10 * network.updates,) * network.n_owners}
    )
    found = selection(endless)
    if isinstance(found, str):
        return found
    share, caps = np.array(found), np.array(network.answers_allowed)
    if silent_by(share, caps, network.updates) >= RARE:
        return "budgets may end before T, and the owners that are left take turns"
    return share
