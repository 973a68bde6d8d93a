"""Algorithms that learn in rounds: their steps, and whether all owners are in every round."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms import Algorithm, Collab1, Collab2, ParameterServer
from asyncdp_sim.network.facts import Facts
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.moments.synchronous import Schedule

Array = npt.NDArray[np.float64]
Synchronous = Collab1 | Collab2 | ParameterServer
"""Algorithms that step along the mean of a round's answers."""
RETURNING = ("always", "on-off", "outages")
"""Kinds of availability under which whoever is asked answers, if late."""


def synchronous(algorithm: Algorithm) -> bool:
    """Return whether an algorithm steps along the mean of a round's answers."""
    return isinstance(algorithm, Synchronous)


def scheduled(algorithm: Synchronous) -> Callable[[float | Array, int], Schedule]:
    """Return what makes a schedule of ρ, c_1 or α, and of T."""
    if isinstance(algorithm, Collab1):
        return Schedule.collab_1
    if isinstance(algorithm, Collab2):
        return Schedule.collab_2
    return partial(Schedule.server, exponent=algorithm.exponent)


def step_of(algorithm: Synchronous) -> float:
    """Return ρ, c_1 or α."""
    return algorithm.rho if isinstance(algorithm, Collab1) else algorithm.step


def absent(scenario: Scenario) -> list[str]:
    """Return why rounds are not linear in the answers of all owners, a reason each."""
    network, algorithm, found = scenario.network, scenario.algorithm, []
    facts, least = Facts(network), min(network.answers_allowed)
    if algorithm.sample is not None:
        found.append("answers are over some of an owner's records, drawn anew for each")
    if getattr(algorithm, "trim", 0) > 0:
        found.append("a trimmed mean is not linear in the answers")
    deadline = getattr(scenario.protocol, "deadline", None)
    if deadline is not None and not facts.within(deadline):
        found.append("answers that miss the deadline are not in their round")
    lacking = facts.unreliable
    if lacking:
        found.append(f"rounds may lack answers: {lacking}")
    if facts.shared and network.channel.kind != "tdma":  # there everybody has slots of its own
        found.append(f"rounds may lack answers: {facts.shared}")
    online = scenario.availability.online_share(scenario.owners.count)
    surely = online is not None and min(online) == 1
    if scenario.availability.kind not in RETURNING and not surely:
        found.append(f"rounds may lack owners: availability is {scenario.availability.kind}")
    if least < network.updates:
        found.append(f"a budget of {least} answers is spent before round {network.updates}")
    return found
