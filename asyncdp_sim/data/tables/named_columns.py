"""Columns of a raw table by their names."""

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from asyncdp_sim.errors import DataError, Fault

if TYPE_CHECKING:
    import pandas as pd


def raw_values(frame: "pd.DataFrame", column: str, key: str = "data.split") -> Sequence[object]:
    """Return a raw column's values, None where empty.

    Raises
    ------
    DataError
        On ``key``, naming the nearest column, when there is none of that name.
    """
    require_column(column, list(frame.columns), key)
    values = frame[column].astype(object)
    result: list[object] = values.where(frame[column].notna(), None).tolist()
    return result


def require_column(column: str, columns: Sequence[str], key: str = "data.split") -> None:
    """Refuse a column that is not there.

    Raises
    ------
    DataError
        On ``key``, naming the nearest column.
    """
    if column not in columns:
        raise DataError([Fault(key, f"a column {column!r}", nearest(column, columns))])


def nearest(name: str, columns: Sequence[str]) -> str:
    """Return the text of an error about a column that is not there.

    Names are quoted if they are nearly what was asked for: of a wrong file, which may have no
    header at all, nothing is.
    """
    near = difflib.get_close_matches(name, [str(c) for c in columns], n=3, cutoff=0.5)
    if len(near) > 0:
        return f"nearest columns: {', '.join(near)}"
    return f"nothing is near it among its {len(columns)} columns (asyncdp data shows them)"
