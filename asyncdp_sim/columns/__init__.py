"""The columns of tables, made from runs, and described in one dictionary."""

from asyncdp_sim.columns.arrow import arrow_array, arrow_table, arrow_texts, from_arrow
from asyncdp_sim.columns.dictionary import (
    README,
    Column,
    column,
    flat,
    is_exact,
    readme,
    summary,
    tables,
)
from asyncdp_sim.columns.from_runs import (
    ROW_GROUP,
    Columns,
    alone_columns,
    event_groups,
    model_columns,
    optimum_columns,
    summary_column,
    swept_column,
    update_columns,
)

__all__ = [
    "README",
    "ROW_GROUP",
    "Column",
    "Columns",
    "alone_columns",
    "arrow_array",
    "arrow_table",
    "arrow_texts",
    "column",
    "event_groups",
    "flat",
    "from_arrow",
    "is_exact",
    "model_columns",
    "optimum_columns",
    "readme",
    "summary",
    "summary_column",
    "swept_column",
    "tables",
    "update_columns",
]
