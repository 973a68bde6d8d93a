"""Small networks and their traces: what most tests of the network begin with."""

from typing import Any

from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.trace import Trace

SYNCHRONOUS = ("rounds", "gossip", "servers")
"""Protocols that say themselves what makes an update."""


def scope(seed: int = 1) -> Scope:
    """Return where the random numbers of a run are from."""
    return Streams(seed).within("replicate", 1)


def traced(network: Network, seed: int = 1, *, events: bool = True, **how: Any) -> Trace:
    """Return what happens in a network, with all events unless they are not wanted."""
    return simulate(network, scope(seed), events=events, **how)


def network(owners: int, answers: int, **parts: Any) -> Network:
    """Return a network of owners that may send so many answers each; parts may be tables."""
    protocol = parts.get("protocol", {"kind": "request"})
    kind = protocol["kind"] if isinstance(protocol, dict) else protocol.kind
    parts.setdefault("answers_per_update", None if kind in SYNCHRONOUS else 1)
    return Network(**{"answers_allowed": (answers,) * owners, **parts})
