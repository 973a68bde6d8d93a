"""Results on disk: written whole, read back whole or refused in one line, and in words."""

from asyncdp_sim.results.manifest import SCHEMA, not_a_result, read_manifest
from asyncdp_sim.results.read import (
    Cell,
    Result,
    Sweep,
    column_names,
    open_directory,
    read_columns,
    read_parquet,
    read_table,
)
