"""Uplink channels, one file each.

A shared one joins by its name in :mod:`~asyncdp_sim.network.channels.parallel`.
"""

from typing import Annotated

from asyncdp_sim.network.channels.aloha import Aloha
from asyncdp_sim.network.channels.csma import Csma
from asyncdp_sim.network.channels.kind import ChannelKind, Ideal
from asyncdp_sim.network.channels.parallel import Parallel, SharedChannel
from asyncdp_sim.network.channels.slotted import SlottedAloha, Tdma
from asyncdp_sim.spec.base import kind_of, members
from asyncdp_sim.spec.registry import FAMILY

Channel = Annotated[Ideal | SharedChannel | Parallel, FAMILY]
"""Every channel."""


def label_of(kind: str) -> str:
    """Return the name in figures of a kind of channel; of one unknown here, the kind itself."""
    kinds = (member for member in members(Channel) if issubclass(member, ChannelKind))
    return {kind_of(member): member.label for member in kinds}.get(kind, kind)


__all__ = ["Aloha", "Channel", "Csma", "Ideal", "Parallel", "SlottedAloha", "Tdma", "label_of"]
