"""Protocols between owners and learner."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.network.protocols.dispatch import Dispatch
from asyncdp_sim.network.protocols.gossip import Gossip
from asyncdp_sim.network.protocols.servers import Servers
from asyncdp_sim.network.protocols.star import Broadcast, Push, Request, Rounds

Protocol = Annotated[Request | Push | Broadcast | Rounds | Dispatch | Gossip | Servers, FAMILY]
"""Every protocol; a new one joins by its line here."""
