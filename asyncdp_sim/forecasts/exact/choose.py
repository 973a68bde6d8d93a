"""The exact moments that fit a scenario, one-on-one or in rounds, or the reason for none."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.assumptions import broken, choice
from asyncdp_sim.forecasts.exact.in_rounds import InRounds
from asyncdp_sim.forecasts.exact.one_on_one import Recursions
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]


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
