"""Occupation of owners in the long run: shares of time in each state, and rates of messages.

An owner whose exchanges do not overlap, and all end with an answer used, is in a stage for
x_i E[stage] of the time, with x_i its answers per time unit and any law of the stage (renewal
reward theorem). Where they overlap the protocol may know how often several stages hold at a time.

References
----------
Asmussen, Applied Probability and Queues (2003), section VI.1.
"""

from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import law
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import no_formula_if, required
from asyncdp_sim.trace.vocabulary import State


@dataclass(frozen=True, eq=False)
class Occupied:
    """The occupation of owners.

    Attributes
    ----------
    times : array (N, 6)
        Shares of the time in the states of :class:`~asyncdp_sim.trace.vocabulary.State`.
    requests, answers : array (N,)
        Messages of each kind per time unit; there are as many queries as answers.
    updates : float
        Per time unit.
    """

    times: Array
    requests: Array
    answers: Array
    updates: float


@law
def occupation(facts: Facts) -> Occupied:
    """Return what owners are at in the long run."""
    no_formula_if(_doubt(facts))
    updates = required(predicted(facts.network, "throughput"))
    flows = _answers(facts, updates)
    times = np.zeros((facts.n_owners, len(State)))
    times[:, [State.sending, State.computing, State.receiving]] = _stages(facts, flows)
    times[:, State.idle] = 1 - times.sum(axis=1)
    return Occupied(times, _requests(facts, flows), flows, updates)


def _stages(facts: Facts, flows: Array) -> Array:
    """Return the shares of time that each owner sends, computes and receives, (N, 3)."""
    sending, receiving = _air(facts, "answer"), _air(facts, "query")
    own = facts.occupied(sending, receiving)
    lasts = (sending, np.array(facts.network.mean_times("compute")), receiving)
    return flows[:, None] * np.stack(lasts, axis=1) if own is None else own


def _doubt(facts: Facts) -> str:
    """Return why stages of an owner's exchanges do not follow each other undisturbed, if not."""
    network = facts.network
    if network.availability.comes_and_goes or facts.wires_fail:
        return "owners come and go, at work or not"
    if network.aggregation is not None:
        return "sums are opened by trips of their own"
    if facts.entangled:
        return facts.entangled
    lost = facts.can_time_out if facts.lost_alike else facts.can_lose_messages
    return lost or facts.shared or facts.slow_requests


def _answers(facts: Facts, updates: float) -> Array:
    """Return the answers of each owner that are used per time unit."""
    own = facts.answers(updates)
    return updates * np.array(required(shares(facts.network))) if own is None else np.array(own)


def _requests(facts: Facts, flows: Array) -> Array:
    """Return the requests of each owner per time unit: a tick while it is served is none."""
    if not facts.network.protocol.sends_requests:
        return np.zeros(facts.n_owners)
    rates = np.array(facts.rates)
    if facts.network.protocol.queues:
        return rates
    return np.asarray(rates * (1 - flows * np.array(facts.services)))


def _air(facts: Facts, message: str) -> Array:
    """Return how long each owner sends, or receives, a message, in the mean."""
    network, rate = facts.network, facts.network.latency.rate_bytes
    airtime = network.airtime
    if message == "answer" and airtime is not None:
        return np.full(facts.n_owners, airtime)
    if rate is not None:
        return np.array(network.transfer_times(message))
    return np.array(network.mean_times(message))
