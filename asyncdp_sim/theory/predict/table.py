"""The table of protocols: the formulas that hold for each, and the network as they see it."""

from collections.abc import Mapping

from asyncdp_sim.network import Network
from asyncdp_sim.network.protocols import (
    Broadcast,
    Dispatch,
    Gossip,
    Push,
    Request,
    Rounds,
    Servers,
)
from asyncdp_sim.theory.predict.broadcast import BroadcastFacts
from asyncdp_sim.theory.predict.dispatch import DispatchFacts
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.gossip import GossipFacts
from asyncdp_sim.theory.predict.on_ticks import PushFacts, RequestFacts
from asyncdp_sim.theory.predict.synchronous import RoundsFacts, ServersFacts

PROTOCOLS: Mapping[type, type[Facts]] = {
    Request: RequestFacts,
    Push: PushFacts,
    Broadcast: BroadcastFacts,
    Rounds: RoundsFacts,
    Dispatch: DispatchFacts,
    Gossip: GossipFacts,
    Servers: ServersFacts,
}
"""What is known of protocols, by exact class: one that derives from another may do other things."""


def facts_of(network: Network) -> Facts:
    """Return the network as theory sees it, worked out once."""
    known = PROTOCOLS.get(type(network.protocol), Facts)
    found: Facts = network.remembered.setdefault("facts", known(network))
    return found
