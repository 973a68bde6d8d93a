"""Simulation of locked exchanges on an ideal channel by a compiled loop: the same bits, faster."""

from asyncdp_sim.network.compiled.play import play
from asyncdp_sim.network.compiled.reach import covers, worthwhile

__all__ = ["covers", "play", "worthwhile"]
