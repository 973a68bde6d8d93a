"""Protocols between owners and learner, one file each."""

from typing import Annotated

from asyncdp_sim.families import FAMILY
from asyncdp_sim.network.protocols.broadcast import Broadcast
from asyncdp_sim.network.protocols.gossip import Gossip
from asyncdp_sim.network.protocols.push import Push
from asyncdp_sim.network.protocols.request import Request
from asyncdp_sim.network.protocols.rounds import Rounds
from asyncdp_sim.network.protocols.servers import Servers

Protocol = Annotated[Request | Push | Broadcast | Rounds | Gossip | Servers, FAMILY]
"""Every protocol; a new one joins by its line here."""

__all__ = ["Broadcast", "Gossip", "Protocol", "Push", "Request", "Rounds", "Servers"]
