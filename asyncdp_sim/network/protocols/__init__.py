"""Protocols between owners and learner, one file each."""

from typing import Annotated

from pydantic import Field

from asyncdp_sim.network.protocols.broadcast import Broadcast
from asyncdp_sim.network.protocols.push import Push
from asyncdp_sim.network.protocols.request import Request

Protocol = Annotated[Request | Push | Broadcast, Field(discriminator="kind")]
"""Every protocol; a new one joins by its line here."""

__all__ = ["Broadcast", "Protocol", "Push", "Request"]
