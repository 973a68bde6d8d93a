"""Networks for the checks."""

from zlib import crc32

import numpy as np

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.trace import ExchangeOutcome


def network(n_owners, updates, *, answers_allowed=None, **parts):
    """Return a network whose budgets outlast the run unless told otherwise."""
    allowed = (updates,) * n_owners if answers_allowed is None else answers_allowed
    return Network(answers_allowed=allowed, updates=updates, **parts)


def own_seed(*words):
    """Return a seed that no other case has, so that no two share random numbers."""
    return crc32(repr(words).encode())


def runs(network, seed, count, *, events=False):
    """Yield the traces of independent replicates 1, 2, …"""
    streams = Streams(seed)
    for number in range(1, count + 1):
        yield simulate(network, streams.within("replicate", number), events=events)


def in_windows(trace, length, number):
    """Return how many updates fall into each of the first windows of a length, in time units."""
    place = trace.updates["tick"] // to_ticks(length)
    return np.bincount(place[place < number], minlength=number)


def begun(trace, start, end):
    """Return the answers whose first transmission began in [start, end), and which survived.

    Times are in time units. Without losses and retransmissions an answer that is applied is one
    that survived.
    """
    rows, first = trace.exchanges, trace.exchanges["release_tick"]
    within = (first >= to_ticks(start)) & (first < to_ticks(end)) & (rows["transmissions"] > 0)
    sent = rows[within]
    assert not np.any(sent["outcome"] == ExchangeOutcome.in_flight), "the run ended too early"
    return sent, sent["outcome"] == ExchangeOutcome.applied
