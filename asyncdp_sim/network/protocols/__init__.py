"""Protocols between owners and learner, one file each."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.network.protocols.dispatch import Dispatch
from asyncdp_sim.network.protocols.gossip import Gossip
from asyncdp_sim.network.protocols.learner_initiated import Broadcast, Rounds
from asyncdp_sim.network.protocols.owner_initiated import Push, Request
from asyncdp_sim.network.protocols.servers import Servers

Protocol = Annotated[Request | Push | Broadcast | Rounds | Dispatch | Gossip | Servers, FAMILY]
"""Every protocol; a new one joins by its line here."""
