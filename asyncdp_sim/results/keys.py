"""Keys of a result's tables: which row is of which replicate, owner and update.

A reader counts by them, and would ask for as much memory as a damaged one is large.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.results.columns import COUNT, NUMBER, column, from_arrow
from asyncdp_sim.results.manifest import not_a_result

UNIQUE: Mapping[str, tuple[str, ...]] = {
    "alone": ("owner", "coordinate"),
    "cells": ("cell",),
    "curve": ("replicate", "k"),
    "events": ("replicate", "seq"),
    "models": ("replicate", "coordinate"),
    "optimum": ("coordinate",),
    "owners": ("replicate", "owner"),
}
"""Columns of which no two rows of a table have the same values."""
_COUNTED = ("replicate", "owner", "k", "tick")
"""Read with any other columns of a table that has them."""
_LEAST = {COUNT: 0, NUMBER: 1, "≥ 0": 0}


def with_keys(name: str, wanted: Sequence[str]) -> list[str]:
    """Return the columns to read of a table for these: they themselves, and the table's keys."""
    return list(dict.fromkeys([*wanted, *UNIQUE.get(name, ()), *_COUNTED]))


def require_keys(directory: Path, name: str, read: Any, most: Mapping[str, int]) -> None:
    """Refuse a table whose rows are of nothing in the result, or twice of the same.

    Parameters
    ----------
    directory : Path
    name : str
        The table's.
    read : pyarrow.Table
        Some of its columns.
    most : mapping
        The largest value of some columns.

    Raises
    ------
    ResultError
        With the column, a wrong value and what is allowed.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for key in read.column_names:
        about = column(name, key)
        least = None if about is None else _LEAST.get(about.domain)
        if least is None or not pa.types.is_primitive(read[key].type):
            continue
        ends = pc.min_max(read[key]).as_py()
        if ends["min"] is None:
            continue
        wrong = ends["min"] if ends["min"] < least else ends["max"]
        if wrong < least or wrong > most.get(key, wrong):
            rule = f"at least {least}" if key not in most else f"{least} to {most[key]}"
            raise not_a_result(directory, f"{key} {wrong} in {name}.parquet", f"allowed is {rule}")
    _require_unique(directory, name, read)


def _require_unique(directory: Path, name: str, read: Any) -> None:
    keys = UNIQUE.get(name, ())
    if len(keys) == 0 or not {*keys} <= {*read.column_names}:
        return
    columns = [from_arrow(read[key]) for key in keys]
    order = np.lexsort(columns[::-1])
    twice = np.ones(max(len(order) - 1, 0), dtype=bool)
    for each in columns:
        twice &= each[order][1:] == each[order][:-1]
    if np.any(twice):
        row = order[np.argmax(twice)]
        place = ", ".join(f"{key} {each[row]}" for key, each in zip(keys, columns, strict=True))
        problem = f"{place} twice in {name}.parquet"
        raise not_a_result(directory, problem, "allowed is one row")
