"""Protocols between owners and learner, one file each."""

from asyncdp_sim.network.protocols.request import Request

Protocol = Request
"""Every protocol; a new one joins the union here."""

__all__ = ["Protocol", "Request"]
