"""The dictionary of columns: every column of every table, and every key of a summary."""

from collections.abc import Mapping
from functools import cache

from asyncdp_sim.columns.entry import NEVER, TEXT, UNITLESS, Column, Table
from asyncdp_sim.columns.of_results import OF_RESULTS
from asyncdp_sim.columns.of_summary import SUMMARY
from asyncdp_sim.columns.of_sweeps import OF_SWEEPS
from asyncdp_sim.measures.energy import ENERGY_RATIOS
from asyncdp_sim.measures.summary import RATIOS
from asyncdp_sim.scenario.fields import field_at
from asyncdp_sim.scenario.paths import VARIANT

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
    for name in (*RATIOS, *ENERGY_RATIOS):
        for end, word in (("low", "Lower"), ("high", "Upper")):
            said = f"{word} end of the 95 % confidence interval of {name}, over replicates"
            null = f"there is one replicate, or {name} is null"
            own = found[name]
            found[f"{name}_{end}"] = Column(f"{name}_{end}", said, own.unit, own.domain, null)
    return found


def is_exact(name: str) -> bool:
    """Return whether a column is computed from the owners' records without noise: no ε covers it.

    ψ, losses and scores on held-out rows, and optima; the private models are ``theta_L``.
    """
    return name in ("theta", "fitness", "relative_fitness") or name.startswith(
        ("psi_", "held_out_")
    )


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
    known = tables().get(table) or tables().get(table.rpartition("/")[2])
    own = {} if known is None else {each.name: each for each in known.columns}
    return own.get(name) or (_in_cells(name) if table == "cells" else None)


def _in_cells(name: str) -> Column | None:
    """Return a figure of the cells' summaries, which a failed cell does not have, or a swept path.

    What is swept may be a field of a kind from outside, of which nothing is known.
    """
    found = summary().get(name)
    if found is None:
        return _swept(name) if "." in name or name == VARIANT or field_at(name) else None
    null = "the cell has failed" if found.null == NEVER else f"{found.null}; or the cell has failed"
    return Column(found.name, found.meaning, found.unit, found.domain, null)


def _swept(path: str) -> Column:
    """Return the column of a swept path; tables, and values of several types, are JSON texts."""
    if path == VARIANT:
        return Column(path, "Swept: the variant, a table of paths that go together", domain=TEXT)
    said = list(dict.fromkeys(each.meaning for each in field_at(path)))
    units = {each.unit for each in field_at(path)}
    meaning = f"Swept: {'; or: '.join(said)}" if len(said) > 0 else "Swept"
    return Column(path, meaning, units.pop() if len(units) == 1 else UNITLESS, "as in the scenario")
