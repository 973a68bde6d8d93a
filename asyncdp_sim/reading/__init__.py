"""Results, read back: their tables and manifests, whole or refused in one line."""

from asyncdp_sim.reading.manifests import read_manifest
from asyncdp_sim.reading.refusal import not_a_result
from asyncdp_sim.reading.shapes import SCHEMA
from asyncdp_sim.reading.tables import column_names, read_columns, read_parquet, read_table

__all__ = [
    "SCHEMA",
    "column_names",
    "not_a_result",
    "read_columns",
    "read_manifest",
    "read_parquet",
    "read_table",
]
