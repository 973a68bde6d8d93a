"""Rows of a table: their places in files, and their encoded columns; which contribute nothing."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage

if TYPE_CHECKING:
    import pandas as pd


Rows = npt.NDArray[np.int64]


FROM_PRIVATE = "From private rows: "
"""Stands before exact counts of private cells, which no ε covers."""


PIECE_ROWS = 32_768
"""Rows of a table on demand that are encoded at a time."""


LARGEST = 1e50
"""Largest number in a record: what is squared twice, and summed, stays a number."""


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

    Names are quoted if they are nearly what was asked for, or have it as a word, in any case: of
    a wrong file, which may have no header at all, nothing is.
    """
    folded, asked = {str(column).casefold(): str(column) for column in columns}, name.casefold()
    near = difflib.get_close_matches(asked, folded, n=3, cutoff=0.5)
    near += [name for name in folded if asked in re.split("[ ._]+", name) and name not in near]
    if len(near) > 0:
        return f"nearest columns: {', '.join(folded[column] for column in near[:3])}"
    return f"allowed is one of its {len(columns)} columns, which asyncdp data FILE prints"


@dataclass(frozen=True)
class Source:
    """The file that the records came from.

    Attributes
    ----------
    name : str
        File name without its folder.
    sha256 : str
        Hexadecimal SHA-256 digest of the file's bytes.
    """

    name: str
    sha256: str


@dataclass(frozen=True, eq=False)
class Encoded:
    """A whole table as numbers, in file order, before it is projected and split.

    Attributes
    ----------
    matrix : NDArray
        (rows, columns) float64, Fortran order, finite.
    target : NDArray
        (rows,) float64, NaN where it is absent.
    columns : tuple of str
        Names of the matrix's columns.
    notes : tuple of str
        As in :class:`~asyncdp_sim.data.dataset.Dataset`.
    unlike : tuple of str
        Which owners write a column differently than public rows, for the owners alone.
    """

    matrix: Array
    target: Array
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def pieces(self, rows: Rows) -> Iterator[Array]:
        """Give the rows asked for in order, all at once."""
        yield take(self.matrix, rows)

    def changed(self, change: Callable[[Array, Rows], None]) -> "Encoded":
        """Return the table with encoded rows changed in place, given them and their numbers."""
        matrix = self.matrix.copy(order="F")
        change(matrix, np.arange(len(matrix)))
        return replace(self, matrix=matrix)


@dataclass(frozen=True, eq=False)
class OnDemand:
    """A table whose rows are numbers when they are asked for: all at once may be too many.

    Attributes
    ----------
    encode : callable
        Row numbers (m,) to a fresh (m, columns) float64 array, finite. A row's numbers do not
        depend on which others are asked for.
    target, columns, notes, unlike
        As in :class:`Encoded`.
    """

    encode: Callable[[Rows], Array]
    target: Array
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    @property
    def matrix(self) -> Array:
        """The whole table, encoded again."""
        return self.encode(np.arange(len(self.target)))

    def pieces(self, rows: Rows) -> Iterator[Array]:
        """Give the rows asked for in order, :data:`PIECE_ROWS` at a time."""
        for span in spans(len(rows)):
            yield self.encode(rows[span])

    def changed(self, change: Callable[[Array, Rows], None]) -> "OnDemand":
        """Return the table with encoded rows changed in place, given them and their numbers."""

        def encode(rows: Rows) -> Array:
            block = self.encode(rows)
            change(block, rows)
            return block

        return replace(self, encode=encode)


Table = Encoded | OnDemand


def spans(n_rows: int) -> Iterator[slice]:
    """Give places 0…n_rows−1 as slices of :data:`PIECE_ROWS`; one, empty, if there is none."""
    for start in range(0, max(n_rows, 1), PIECE_ROWS):
        yield slice(start, start + PIECE_ROWS)


Numbers = TypeVar("Numbers", Array, Rows)


def take(array: Numbers, rows: Rows) -> Numbers:
    """Return the given rows, as a view where they are consecutive (a large table is not copied)."""
    if consecutive(rows):
        return array[rows[0] : rows[-1] + 1]
    return array[rows]


def consecutive(rows: Rows) -> bool:
    """Tell whether row numbers are one or more in a row."""
    return len(rows) > 0 and bool(
        rows[-1] - rows[0] == len(rows) - 1 and np.all(np.diff(rows) == 1)
    )


def stacked(columns: Iterable[Array], n_rows: int, n_columns: int) -> Array:
    """Return columns side by side, in Fortran order, NaN as 0."""
    matrix = np.empty((n_rows, n_columns), order="F")
    for j, values in enumerate(columns):
        matrix[:, j] = np.where(np.isnan(values), 0.0, values)
    return matrix


def frozen(array: Array) -> Array:
    """Return the array as read-only float64, stored by columns, copied only if needed."""
    held = np.asarray(array, dtype=np.float64, order="F")
    held.flags.writeable = False
    return held


def beyond(rows: Array) -> Bools:
    """Return which rows (n, p) hold a number above :data:`LARGEST`, or none at all."""
    too_large = np.zeros(len(rows), dtype=np.bool_)
    for column in rows.T:  # Fortran order: a column is at hand
        too_large |= ~(np.abs(column) <= LARGEST)
    return too_large


def set_aside(features: Array, targets: Array) -> Bools:
    """Void records in place where a number is too large or a target absent; return the former."""
    large = (beyond(features) | (np.abs(targets) > LARGEST)) & ~np.isnan(targets)
    targets[large] = np.nan
    features[np.isnan(targets)] = 0.0
    return large


def said(absent: int, large: int, *, real: bool) -> tuple[str, ...]:
    """Return how many private records contribute nothing, and why; nothing where all do."""
    reasons = ["without a target: {absent}"] if absent > 0 else []
    reasons += [f"with a number above {LARGEST:g}: {{large}}"] if large > 0 else []
    if len(reasons) == 0:
        return ()
    nothing = "Their loss and gradient are 0, and n_i counts them."
    heading = FROM_PRIVATE if real else ""
    told_of = f"{heading}Records {'; '.join(reasons)}. {nothing}"
    return (FormattedMessage(told_of, absent=absent, large=large),)
