"""A scenario: everything that decides a run's result, read from and written to TOML."""

from asyncdp_sim.core.specification import parse
from asyncdp_sim.scenario.files import (
    SCHEMA_LINE,
    data_files,
    dump,
    from_tables,
    load,
    read_tables,
    resolved,
    save_new,
    scenario_of,
    toml_value,
    unplaced,
    with_files,
    without_places,
)
from asyncdp_sim.scenario.owners import Participants
from asyncdp_sim.scenario.paths import Raw, jsonable, leaves, spoken, with_short_digest
from asyncdp_sim.scenario.spec import Scenario
