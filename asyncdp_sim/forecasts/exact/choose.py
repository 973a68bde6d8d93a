"""The exact moments that fit a scenario with its data, or the reasons for none."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from asyncdp_sim.evidence import exact_moments
from asyncdp_sim.evidence.exact_moments import endless
from asyncdp_sim.forecasts.exact.in_rounds import InRounds
from asyncdp_sim.forecasts.exact.one_on_one import Recursions
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.theory.moments.releases import Releases
from asyncdp_sim.theory.predict.update_order import releases
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]


def broken(population: Population) -> list[str]:
    """Return why exact moments do not apply, a reason each; none where they do."""
    return nonlinear(population) + exact_moments.out_of_order(population.scenario)


def nonlinear(population: Population) -> list[str]:
    """Return why there are none even if it is known who updates when, a reason each."""
    objective = population.objective
    interior = objective is None or objective.interior
    return exact_moments.nonlinear(population.scenario, interior=interior)


def choice(population: Population) -> Array | Unknown:
    """Return π, shape (N,), or why it is not known, or not the same for all updates."""
    law = answering(population)
    return law if isinstance(law, Unknown) else law.chosen


def answering(population: Population) -> Releases | Unknown:
    """Return how owners release answers until update T, none of them silent before, or why not."""
    return exact_moments.answering(population.scenario.network)


def ending(population: Population) -> Releases | None:
    """Return the same where owners do fall silent, each after K_i updates of its own.

    None where it is not known, where answers that are lost use budgets up too, or where a run may
    end for another reason.
    """
    network = population.scenario.network
    law = releases(endless(network))
    lasting = isinstance(law, Unknown) or np.any(law.loss > 0) or network.until is not None
    return None if lasting or isinstance(law, Unknown) else law


class Exact(Protocol):
    """The exact moments of a learning."""

    @property
    def psi(self) -> Array:
        """E ψ, k = 0 … T."""

    @property
    def noise_free(self) -> Array:
        """E ψ without noise, k = 0 … T."""

    def refuted(self, theta_max: float | None) -> str:
        """Return why these moments are not those of learning in Θ; empty where they are."""


def exact(known: Population, shared: Recursions) -> Exact | tuple[str, ...]:
    """Return the exact moments of a scenario, or why they do not apply.

    Parameters
    ----------
    known : Population
    shared : Recursions
        Moments that several scenarios share.
    """
    doubts, objective = broken(known), known.objective
    if len(doubts) > 0 or objective is None:
        return tuple(doubts)
    found: Exact
    rounds = known.scenario.algorithm.in_rounds
    if rounds is not None:
        found = InRounds(known, objective, rounds)
    else:
        chosen = choice(known)
        if isinstance(chosen, Unknown):
            raise TypeError("broken() lets no such scenario pass")
        found = shared.expect(known, objective, chosen)
    why = found.refuted(objective.theta_max)
    return (why,) if why else found
