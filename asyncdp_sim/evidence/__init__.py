"""Evidence: which tests check which statistics of which kinds, and what a run rests on."""

from asyncdp_sim.evidence.oracle import Basis, Oracle
from asyncdp_sim.evidence.register import NOT_OF_A_KIND, ORACLES, basis_of, named, oracles_of
from asyncdp_sim.evidence.rests_on import rests_on

__all__ = [
    "NOT_OF_A_KIND",
    "ORACLES",
    "Basis",
    "Oracle",
    "basis_of",
    "named",
    "oracles_of",
    "rests_on",
]
