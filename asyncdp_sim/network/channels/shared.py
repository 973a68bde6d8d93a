"""The union of channels that transmissions share."""

from asyncdp_sim.network.channels.aloha import Aloha
from asyncdp_sim.network.channels.csma import Csma
from asyncdp_sim.network.channels.dcf import Dcf
from asyncdp_sim.network.channels.slotted_access.slotted_aloha import SlottedAloha
from asyncdp_sim.network.channels.slotted_access.tdma import Tdma

SharedChannel = Aloha | SlottedAloha | Csma | Dcf | Tdma
"""Every shared channel; a new one joins by its name here, and may then be one of several too."""
