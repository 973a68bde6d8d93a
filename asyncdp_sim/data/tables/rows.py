"""Rows of a table: their places in files, their encoded columns, and one of them replaced.

Two datasets are neighbours when one record is replaced; every n_i is public. What learns from
records (a dictionary, an imputed value, a projection) must see the replaced one, hence it is
replaced in the raw table, not in an owner's features.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage, if_any

if TYPE_CHECKING:
    import pandas as pd


NOTES: dict[str, str] = tomllib.loads(files(__package__).joinpath("notes.toml").read_text("utf-8"))
"""Notes for a user on how records were made, by name."""
FROM_PRIVATE = "From private rows: "
"""Stands before exact counts of private cells, which no ε covers."""


PIECE_ROWS = 32_768
"""Rows of a table on demand that are encoded at a time."""


def note(name: str, **fields: object) -> FormattedMessage:
    """Return a message of :data:`NOTES` with these fields."""
    return FormattedMessage(NOTES[name], **fields)


def note_if_any(name: str, **fields: object) -> tuple[str, ...]:
    """Return a message of :data:`NOTES` whose first field is a count, unless this is 0."""
    return if_any(NOTES[name], **fields)


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
        """Return those of a frame whose index says where its rows stood in the file, each once."""
        index = frame.index
        ends = len(index) == 0 or (index[0] == 0 and index[-1] == len(index) - 1)
        complete = ends and index.is_monotonic_increasing  # public rows drawn by a seed are last
        return cls(((Path(path).name, range(len(index)) if complete else index.to_numpy()),))

    @property
    def count(self) -> int:
        """How many rows the table has."""
        return sum(len(places) for _, places in self.parts)

    def after(self, count: int) -> "FileRows":
        """Return those of the rows behind the first ones."""
        left = list[tuple[str, Sequence[int]]]()
        for name, places in self.parts:
            left.append((name, places[count:]))
            count = max(count - len(places), 0)
        return FileRows(tuple((name, places) for name, places in left if len(places) > 0))

    def place(self, row: int) -> tuple[str, int]:
        """Return the file of a table's row (from 0), and its place there, from 0.

        Raises
        ------
        IndexError
            If the table has no such row; none is counted from the end.
        """
        place = row
        for name, places in self.parts:
            if 0 <= place < len(places):
                return name, int(places[place])
            place -= len(places)
        raise IndexError(f"row {row} of {self.count}")

    def name_of(self, row: int) -> str:
        """Return what a table's row (from 0) is called, such as ``row 7 of t.csv``, from 1."""
        name, place = self.place(row)
        return f"row {place + 1} of {name}"


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

    It quotes up to three columns whose names are similar to ``name``, or have it as a word; case
    does not matter. Without such columns it quotes none: the first line of a wrong file may hold
    private cells instead of names.
    """
    folded, asked = {str(column).casefold(): str(column) for column in columns}, name.casefold()
    near = difflib.get_close_matches(asked, folded, n=3, cutoff=0.5)
    near += [each for each in folded if asked in re.split("[ ._]+", each) and each not in near]
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

    def pieces(self, rows: Ints) -> Iterator[Array]:
        """Give the rows asked for in order, all at once."""
        yield take(self.matrix, rows)

    def changed(self, change: Callable[[Array, Ints], None]) -> "Encoded":
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

    encode: Callable[[Ints], Array]
    target: Array
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    @property
    def matrix(self) -> Array:
        """The whole table, encoded again."""
        return self.encode(np.arange(len(self.target)))

    def pieces(self, rows: Ints) -> Iterator[Array]:
        """Give the rows asked for in order, :data:`PIECE_ROWS` at a time."""
        for start in range(0, max(len(rows), 1), PIECE_ROWS):  # one, empty, if there is no row
            yield self.encode(rows[start : start + PIECE_ROWS])

    def changed(self, change: Callable[[Array, Ints], None]) -> "OnDemand":
        """Return the table with encoded rows changed in place, given them and their numbers."""

        def encode(rows: Ints) -> Array:
            block = self.encode(rows)
            change(block, rows)
            return block

        return replace(self, encode=encode)


Table = Encoded | OnDemand


Numbers = TypeVar("Numbers", Array, Ints)


def take(array: Numbers, rows: Ints) -> Numbers:
    """Return the given rows, as a view where they are consecutive (a large table is not copied)."""
    n = len(rows)
    if n > 0 and rows[-1] - rows[0] == n - 1 and np.all(np.diff(rows) == 1):
        return array[rows[0] : rows[-1] + 1]
    return array[rows]


def frozen(array: Array) -> Array:
    """Return the array as read-only float64, stored by columns, copied only if needed.

    Where it is not copied it is a view: the caller's array stays writable.
    """
    held = np.asarray(array, dtype=np.float64, order="F").view()
    held.flags.writeable = False
    return held


@dataclass(frozen=True)
class Swap:
    """The record of one table row becomes a copy of another's, its features scaled.

    Rows count from 0 in the table as used: without the rows that a loader always leaves out. Of
    ``gaussian`` data they count owner after owner, owner 1's n_1 rows first.

    Attributes
    ----------
    row : int
        The row that is replaced. Who owns it stays: membership is public.
    by : int
        The row whose record takes its place.
    factor : float
        Finite; what the record's encoded features are multiplied by. Its target is not.

    Raises
    ------
    ValueError
        If ``factor`` is not finite; from the methods, if the table has no such row.
    """

    row: int
    by: int
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.factor):
            raise ValueError(f"a swap's factor must be finite, not {self.factor}")

    def sources(self, n_rows: int) -> Ints:
        """Return, for each of ``n_rows`` rows, the row that its record comes from."""
        for name, row in (("row", self.row), ("by", self.by)):
            if not 0 <= row < n_rows:
                raise ValueError(f"a swap's {name} must lie in [0, {n_rows}), not be {row}")
        source = np.arange(n_rows)
        source[self.row] = self.by
        return source

    def in_frame(self, frame: "pd.DataFrame", owner_column: str | None) -> "pd.DataFrame":
        """Return a raw table with the record replaced, all but its ``owner_column``, unscaled."""
        copied = frame.take(self.sources(len(frame))).reset_index(drop=True)
        if owner_column in frame.columns:
            copied[owner_column] = frame[owner_column].array
        return copied

    def in_table(self, table: Encoded) -> Table:
        """Return an encoded table, of which there are no raw rows, with the record replaced."""
        source = self.sources(len(table.target))
        return self.scaled(replace(table, matrix=table.matrix[source], target=table.target[source]))

    def scaled(self, table: Table) -> Table:
        """Return an encoded table with the row's features multiplied by ``factor``."""

        def scale(block: Array, rows: Ints) -> None:
            block[rows == self.row] *= self.factor

        return table.changed(scale)
