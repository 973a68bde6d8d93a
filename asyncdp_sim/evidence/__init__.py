"""Evidence: which tests check which statistics of which kinds, and what a run rests on."""

from asyncdp_sim.evidence.validated_by import (
    Basis,
    Oracle,
    basis_of,
    named,
    oracles,
    oracles_of,
    rests_on,
)

__all__ = ["Basis", "Oracle", "basis_of", "named", "oracles", "oracles_of", "rests_on"]
