"""A scenario: everything that decides a run's result, read from and written to TOML."""

from asyncdp_sim.scenario.files import (
    data_files,
    dump,
    jsonable,
    load,
    placed,
    require_new,
    resolved,
    save_new,
    unplaced,
    without_places,
)
from asyncdp_sim.scenario.participants import Participants
from asyncdp_sim.scenario.spec import Scenario
from asyncdp_sim.scenario.variants import spoken
from asyncdp_sim.spec import parse

__all__ = [
    "Participants",
    "Scenario",
    "data_files",
    "dump",
    "jsonable",
    "load",
    "parse",
    "placed",
    "require_new",
    "resolved",
    "save_new",
    "spoken",
    "unplaced",
    "without_places",
]
