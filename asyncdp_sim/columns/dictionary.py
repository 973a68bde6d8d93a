"""The dictionary of columns: every column of every table, and every key of a summary."""

from collections.abc import Mapping
from functools import cache

from asyncdp_sim.columns.entry import NEVER, Column, Table
from asyncdp_sim.columns.of_results import OF_RESULTS
from asyncdp_sim.columns.of_summary import SUMMARY
from asyncdp_sim.columns.of_sweeps import OF_SWEEPS
from asyncdp_sim.measures.summary import RATIOS

SUMMARY_NAME = "summary"
"""What the figures of a manifest are called where tables are."""


@cache
def tables() -> Mapping[str, Table]:
    """Return every table by its name: ``updates``, ``cells``, ``traces/exchanges``."""
    return {table.name: table for table in (*OF_RESULTS, *OF_SWEEPS)}


@cache
def summary() -> Mapping[str, Column]:
    """Return every figure of a summary by its name, with the ends of the intervals."""
    found = {column.name: column for column in SUMMARY}
    for name in RATIOS:
        for end, word in (("low", "Lower"), ("high", "Upper")):
            said = f"{word} end of the 95 % confidence interval of {name}, over replicates"
            null = f"there is one replicate, or {name} is null"
            found[f"{name}_{end}"] = Column(f"{name}_{end}", said, found[name].unit, null=null)
    return found


def column(table: str, name: str) -> Column | None:
    """Return the entry of a table's column; None where it has none of this name.

    Parameters
    ----------
    table : str
        "summary" is that of a manifest; ``cells`` has its figures as columns.
    name : str
    """
    if table == SUMMARY_NAME:
        return summary().get(name)
    own = {each.name: each for each in tables()[table].columns} if table in tables() else {}
    return own.get(name) or (_in_cells(name) if table == "cells" else None)


def _in_cells(name: str) -> Column | None:
    """Return a figure of the cells' summaries, which a failed cell does not have."""
    found = summary().get(name)
    if found is None:
        return None
    null = "the cell has failed" if found.null == NEVER else f"{found.null}; or the cell has failed"
    return Column(found.name, found.meaning, found.unit, found.domain, null)
