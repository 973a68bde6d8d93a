"""Every scenario file of the catalogue; in the installed package ``asyncdp_sim.catalogue``."""

from asyncdp_sim.scenario.catalogue import Entry, catalogue, entry

__all__ = ["Entry", "catalogue", "entry"]
