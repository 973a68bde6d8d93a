"""The columns of tables: made from what runs gave, and told in one dictionary."""

from asyncdp_sim.columns.dictionary import column, summary, tables
from asyncdp_sim.columns.entry import Column, Table
from asyncdp_sim.columns.from_runs import (
    Columns,
    alone_columns,
    event_columns,
    model_columns,
    optimum_columns,
    summary_column,
    swept_column,
    update_columns,
)

__all__ = [
    "Column",
    "Columns",
    "Table",
    "alone_columns",
    "column",
    "event_columns",
    "model_columns",
    "optimum_columns",
    "summary",
    "summary_column",
    "swept_column",
    "tables",
    "update_columns",
]
