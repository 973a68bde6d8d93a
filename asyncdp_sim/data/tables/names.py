"""Rows and columns of a raw table by their names, as they stand in its files."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Self

from asyncdp_sim.core.errors import DataError, Fault

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FileRows:
    """The place of each row of a table, in one file or in several.

    Attributes
    ----------
    parts : tuple of (str, sequence of int)
        A file's name and the places, from 0 behind its header, of rows that come from it.
    """

    parts: tuple[tuple[str, Sequence[int]], ...]

    @classmethod
    def from_frame(cls, path: str, frame: "pd.DataFrame") -> Self:
        """Return those of a frame whose index says where its rows stood in the file."""
        index = frame.index
        complete = len(index) == 0 or (index[0] == 0 and index[-1] == len(index) - 1)
        return cls(((Path(path).name, range(len(index)) if complete else index.to_numpy()),))

    @property
    def count(self) -> int:
        """How many rows the table has."""
        return self._ends[-1]

    def after(self, count: int) -> "FileRows":
        """Return those of the rows behind the first ones."""
        starts = (
            end - len(places) for end, (_, places) in zip(self._ends, self.parts, strict=True)
        )
        left = [
            (name, places[max(0, count - start) :])
            for start, (name, places) in zip(starts, self.parts, strict=True)
        ]
        return FileRows(tuple((name, places) for name, places in left if len(places) > 0))

    def place(self, row: int) -> tuple[str, int]:
        """Return the file of a table's row (from 0), and its place there, from 0."""
        for end, (name, places) in zip(self._ends, self.parts, strict=True):
            if row < end:
                return name, int(places[row - end + len(places)])
        raise IndexError(f"row {row} of {self._ends[-1]}")

    def said(self, row: int) -> str:
        """Return what a table's row (from 0) is called, such as ``row 7 of t.csv``, from 1."""
        name, place = self.place(row)
        return f"row {place + 1} of {name}"

    @property
    def _ends(self) -> list[int]:
        return list(accumulate(len(places) for _, places in self.parts))


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
