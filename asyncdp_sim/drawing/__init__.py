"""Drawing by other processes, which read what draws while this one has its result still to make."""

from asyncdp_sim.drawing.processes import Artists, DrawnFiles, artists

__all__ = ["Artists", "DrawnFiles", "artists"]
