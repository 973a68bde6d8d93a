"""Uplink channels, one file each."""

from asyncdp_sim.network.channels.ideal import Ideal

Channel = Ideal
"""Every channel; a new one joins the union here."""

__all__ = ["Channel", "Ideal"]
