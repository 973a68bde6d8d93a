"""Uplink channels, one file each."""

from typing import Annotated

from asyncdp_sim.families import FAMILY
from asyncdp_sim.network.channels.aloha import Aloha
from asyncdp_sim.network.channels.csma import Csma
from asyncdp_sim.network.channels.ideal import Ideal
from asyncdp_sim.network.channels.parallel import Parallel
from asyncdp_sim.network.channels.slotted_aloha import SlottedAloha
from asyncdp_sim.network.channels.tdma import Tdma

Channel = Annotated[Ideal | Aloha | SlottedAloha | Csma | Tdma | Parallel, FAMILY]
"""Every channel; a new one joins by its line here."""

__all__ = ["Aloha", "Channel", "Csma", "Ideal", "Parallel", "SlottedAloha", "Tdma"]
