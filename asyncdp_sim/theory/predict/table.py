"""The table of kinds: what is known of each protocol and channel, by exact class.

A class that derives from another may do other things, and so has no row that it does not write.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

from asyncdp_sim.network import Network
from asyncdp_sim.network.channels import Aloha, Channel, Csma, Parallel, SlottedAloha, Tdma
from asyncdp_sim.network.channels.dcf import Dcf
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
from asyncdp_sim.theory.predict.channels import (
    AlohaTheory,
    ChannelTheory,
    CsmaTheory,
    DcfTheory,
    ParallelTheory,
    SlottedAlohaTheory,
    TdmaTheory,
)
from asyncdp_sim.theory.predict.dispatch import DispatchFacts
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.gossip import GossipFacts
from asyncdp_sim.theory.predict.on_ticks import PushFacts, RequestFacts
from asyncdp_sim.theory.predict.synchronous import RoundsFacts, ServersFacts
from asyncdp_sim.theory.prediction import Unknown

_T = TypeVar("_T")

PROTOCOLS: Mapping[type, type[Facts]] = {
    Request: RequestFacts,
    Push: PushFacts,
    Broadcast: BroadcastFacts,
    Rounds: RoundsFacts,
    Dispatch: DispatchFacts,
    Gossip: GossipFacts,
    Servers: ServersFacts,
}
"""What is known of protocols."""

CHANNELS: Mapping[type, type[ChannelTheory]] = {
    Aloha: AlohaTheory,
    SlottedAloha: SlottedAlohaTheory,
    Csma: CsmaTheory,
    Dcf: DcfTheory,
    Tdma: TdmaTheory,
    Parallel: ParallelTheory,
}
"""What is known of channels that owners share."""


def facts_of(network: Network) -> Facts:
    """Return the network as theory sees it, worked out once."""
    known = PROTOCOLS.get(type(network.protocol), Facts)
    found: Facts = network.remembered.setdefault("facts", known(network))
    return found


def law(of: Callable[[Facts], _T]) -> Callable[[Network], _T | Unknown]:
    """Return a law of networks, which counts where the package knows every kind of them."""

    @wraps(of)
    def read(network: Network) -> _T | Unknown:
        facts = facts_of(network)
        return Unknown(facts.unknown) if facts.unknown else of(facts)

    return read


def theory_of(channel: Channel) -> ChannelTheory:
    """Return what is known of a channel."""
    return CHANNELS.get(type(channel), ChannelTheory)(channel, theory_of)
