"""Uplink channels, one file each."""

from typing import Annotated

from asyncdp_sim.faults import lone
from asyncdp_sim.network.channels.ideal import Ideal

Channel = Annotated[Ideal, lone(Ideal)]
"""Every channel; a new one joins the union here."""

__all__ = ["Channel", "Ideal"]
