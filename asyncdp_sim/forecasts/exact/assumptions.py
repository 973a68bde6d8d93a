"""Assumptions of the exact moments, and which of them a scenario breaks."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.absent_answers import absent
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.network import Network
from asyncdp_sim.network.facts import Facts
from asyncdp_sim.theory.moments.releases import Releases
from asyncdp_sim.theory.predict.staleness import never_stale
from asyncdp_sim.theory.predict.update_order import releases, surely_until
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
RARE = 1e-3
"""Probability of an owner's falling silent before T that is taken for none."""
ENDLESS = 10**9
"""Answers that no run releases."""
ENDS_EARLY = "the run may end at run.until, before T"
BUDGETS_END = "budgets may end before T, and updates are then of the owners that are left"


def broken(population: Population) -> list[str]:
    """Return why exact moments do not apply, a reason each; none where they do."""
    network, found = population.scenario.network, nonlinear(population)
    if network.until is not None and not surely_until(network, network.updates):
        found.append(ENDS_EARLY)
    if population.scenario.algorithm.in_rounds is not None:
        found += absent(population.scenario)
    elif not network.protocol.makes_updates and never_stale(Facts(network)):
        law = answering(population)
        if isinstance(law, Unknown):
            found.append(f"no law is known here of whose update is next: {law}")
    return found


def nonlinear(population: Population) -> list[str]:
    """Return why there are none even if it is known who updates when, a reason each."""
    scenario, found = population.scenario, []
    if scenario.algorithm.no_moments is not None:
        found.append(scenario.algorithm.no_moments)
    if population.objective is None:
        found.append(f"the loss of model {scenario.model.kind} is not quadratic")
    elif not population.objective.interior:
        found.append("the optimum lies on the bound of Θ, where the projection acts")
    if scenario.privacy.clip_bound is not None:
        found.append("clipped gradients are not linear in the model")
    if scenario.algorithm.looks_at_models and not never_stale(Facts(scenario.network)):
        found.append(f"answers under protocol {scenario.protocol.kind} may be stale")
    if scenario.adversary is not None or scenario.acceptance is not None:
        found.append("owners that lie, or a learner that bounds answers, are not in the moments")
    if scenario.network.withholds or scenario.network.stops:
        found.append("timing depends on the model")
    return found


def choice(population: Population) -> Array | Unknown:
    """Return π, shape (N,), or why it is not known, or not the same for all updates."""
    law = answering(population)
    return law if isinstance(law, Unknown) else law.chosen


def answering(population: Population) -> Releases | Unknown:
    """Return how owners release answers until update T, none of them silent before, or why not."""
    network = population.scenario.network
    law = releases(_endless(network))
    if isinstance(law, Unknown):
        return law
    if law.silent_by(np.array(network.answers_allowed), network.updates) >= RARE:
        return Unknown(BUDGETS_END)
    return law


def ending(population: Population) -> Releases | None:
    """Return the same where owners do fall silent, each after K_i updates of its own.

    None where it is not known, where answers that are lost use budgets up too, or where a run may
    end for another reason.
    """
    network = population.scenario.network
    law = releases(_endless(network))
    lasting = isinstance(law, Unknown) or np.any(law.loss > 0) or network.until is not None
    return None if lasting or isinstance(law, Unknown) else law


def _endless(network: Network) -> Network:
    return network.model_copy(update={"answers_allowed": (ENDLESS,) * network.n_owners})
