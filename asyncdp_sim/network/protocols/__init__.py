"""Protocols between owners and learner, one file each."""

from typing import Annotated

from asyncdp_sim.faults import lone
from asyncdp_sim.network.protocols.request import Request

Protocol = Annotated[Request, lone(Request)]
"""Every protocol; a new one joins the union here."""

__all__ = ["Protocol", "Request"]
