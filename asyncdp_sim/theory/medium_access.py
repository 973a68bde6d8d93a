"""Owners that share one radio channel, all in one place: see the modules imported here."""

from asyncdp_sim.theory.aloha import (
    aloha,
    aloha_capture,
    aloha_infinite,
    aloha_infinite_capture,
    capture_probability,
    slotted_aloha,
    slotted_aloha_infinite,
)
from asyncdp_sim.theory.csma import (
    csma,
    csma_detecting,
    csma_detecting_infinite,
    csma_infinite,
    csma_one_persistent_infinite,
)
from asyncdp_sim.theory.random_access import (
    RandomAccess,
)
from asyncdp_sim.theory.tdma import (
    TimeDivision,
    tdma,
)

__all__ = [
    "RandomAccess",
    "TimeDivision",
    "aloha",
    "aloha_capture",
    "aloha_infinite",
    "aloha_infinite_capture",
    "capture_probability",
    "csma",
    "csma_detecting",
    "csma_detecting_infinite",
    "csma_infinite",
    "csma_one_persistent_infinite",
    "slotted_aloha",
    "slotted_aloha_infinite",
    "tdma",
]
