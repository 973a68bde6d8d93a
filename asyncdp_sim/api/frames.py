"""Pandas frames that know their units: ``frame.attrs["units"]`` and ``["meanings"]`` by column."""

from collections.abc import Mapping
from typing import Any

from asyncdp_sim.columns import column
from asyncdp_sim.sweeps.summary_table import flat


def with_units(frame: Any, table: str) -> Any:
    """Return a frame whose ``attrs`` hold the unit and the meaning of each column that is known.

    Parameters
    ----------
    frame : pandas.DataFrame
    table : str
        Its name in the dictionary of columns.
    """
    known = {str(name): column(table, str(name)) for name in frame.columns}
    entries = {name: entry for name, entry in known.items() if entry is not None}
    frame.attrs["units"] = {name: entry.unit for name, entry in entries.items()}
    frame.attrs["meanings"] = {name: entry.meaning for name, entry in entries.items()}
    return frame


def from_columns(columns: Mapping[str, Any], table: str) -> Any:
    """Return NumPy and Arrow columns as a frame, as one that is read from disk would be."""
    import numpy as np
    import pyarrow as pa

    arrays = {
        name: pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else values
        for name, values in columns.items()
    }
    return with_units(pa.table(arrays).to_pandas(), table)


def summary_frame(summary: Mapping[str, Any]) -> Any:
    """Return a summary as a frame: a row per figure, with its interval, unit and meaning."""
    import pandas as pd

    intervals = summary.get("intervals", {})
    figures = flat({name: value for name, value in summary.items() if name != "intervals"})
    rows = []
    for name, value in figures.items():
        low, high = intervals.get(name) or (None, None)
        entry = column("summary", name)
        unit, meaning = ("", "") if entry is None else (entry.unit, entry.meaning)
        rows.append([_infinite(value), low, high, unit, meaning])
    heads = ["value", "low", "high", "unit", "meaning"]
    frame = pd.DataFrame(rows, columns=heads, index=pd.Index(list(figures), name="figure"))
    frame[["low", "high"]] = frame[["low", "high"]].astype(float)
    frame.attrs["units"] = dict(frame["unit"])
    frame.attrs["meanings"] = dict(frame["meaning"])
    return frame


def _infinite(value: Any) -> Any:
    """Return infinities as numbers, which a manifest holds as texts."""
    return float(value) if value in ("inf", "-inf") else value
