"""Joules, bytes and what owners are at, against renewal rewards: x_i E[stage] of the time.

An owner is in one stage of one exchange at a time.

A score is of a sum over all owners and a whole run, over its updates: so many of each, T, that runs
which begin with nothing under way are off by less than the standard error stated.
"""

import numpy as np
import pytest

from asyncdp_sim.measures.energy import Energy, expected, used
from asyncdp_sim.theory.predict.all import occupation
from asyncdp_sim.trace.vocabulary import State
from tests.tables import composed, table

from .networks import network, runs
from .zscores import Score, fresh_seeds, require, score, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("energy, and time spent computing, sending, receiving and idle"),
]

RUNS, UPDATES = 30, 1500
TABLE = table(__file__, "energy.toml")
ENERGY = Energy(**TABLE["energy"])
CASES = TABLE["cases"]
EDGE = 8 / UPDATES
"""What is under way at the end was heard or sent: a sum of messages may vary by this share."""
STATES = (State.sending, State.computing, State.receiving, State.idle)


def network_of(name, **parts):
    own = composed(TABLE["parts"], CASES[name]["network"])
    return network(3, UPDATES, numbers=3, occupation=True, **(own | parts))


def measure(name, *, seed=None, count=RUNS):
    """Return scores of joules, of bytes, and of the time in each state, per update."""
    net, usual = network_of(name), CASES[name]["seed"]
    known, cost = occupation(net), expected(ENERGY, net)
    every = [used(trace, ENERGY, net) for trace in runs(net, seed or usual, count)]
    found = [score("joules", [each.joules.sum() / UPDATES for each in every], cost.per_update)]
    for way in ("sent", "received"):
        moved = np.array([getattr(each, way).sum() / UPDATES for each in every])
        found += scored(way, moved, getattr(cost, way), None, edge=EDGE)
    for state in STATES:
        exact = float(known.times[:, state].sum()) / known.updates
        spent = np.array([each.times[:, state].sum() / UPDATES for each in every])
        scale = None if state is not State.idle else 3 / known.updates
        found += scored(state.name, spent, exact, scale)
    return found


def scored(name, samples, exact, scale, edge=1e-9):
    """Return the score of a sum; none of one that never varies, if it is right, or is none."""
    if exact <= 1e-9:
        return []
    if np.ptp(samples) >= edge * exact:
        return [score(name, samples, exact, scale)]
    if abs(samples[0] - exact) <= edge * exact:
        return []
    return [Score(name, samples[0], exact, np.inf, 0.0)]


sound = shared(measure)


@pytest.mark.parametrize("name", CASES)
def test_joules_and_times_are_those_of_renewal_rewards(name):
    require(sound(name), error=0.01)


@pytest.mark.parametrize("name", CASES)
def test_shares_of_time_are_those_of_every_owner(name):
    """Each owner's mean power, not the sum alone; 0.1 % is for the start."""
    net = network_of(name)
    exact = expected(ENERGY, net).watts
    every = [used(trace, ENERGY, net) for trace in runs(net, CASES[name]["seed"] + 100, 20)]
    watts = np.array([each.joules / each.times.sum(axis=1) / ENERGY.seconds for each in every])
    error = watts.std(axis=0, ddof=1) / np.sqrt(len(watts))
    assert (abs(watts.mean(axis=0) - exact) <= 4 * error + 1e-3 * exact).all()
    assert (error <= 0.02 * exact).all()


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
