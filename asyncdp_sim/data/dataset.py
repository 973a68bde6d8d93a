"""Data sets: one array of features and one of targets per owner, whatever the kind of data.

A private record may lack its target, have a text there, or a value whose square floating point does
not hold. It is not left out, for then every other record would move, nor does the run end, for that
would tell of it: it stays, n_i counts it, and its loss and gradient are 0 at every model. Its
target is NaN and its features are 0; a model is handed rows that are 0 with the constant of an
intercept, and the target 0, where every loss is 0 and flat.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage

if TYPE_CHECKING:
    import pandas as pd

    from asyncdp_sim.data.tables.preprocessing import Projection


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


Rows = npt.NDArray[np.int64]

_E = TypeVar("_E")

SYNTHETIC = "synthetic"
"""A scenario's source for drawn records."""

FROM_PRIVATE = "From private rows: "
"""Stands before exact counts of private cells, which no ε covers."""

PIECE_ROWS = 32_768
"""Rows of a table on demand that are encoded at a time."""


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
class Dataset:
    """The owners' records, ready for learning.

    Attributes
    ----------
    features : tuple of NDArray
        Owner i's features, (n_i, p) float64, read-only. They are stored by columns, whatever the
        order in which they are given: sums over records then have the same bits for every data
        kind, and gradients of tall thin arrays take half the time.
    targets : tuple of NDArray
        Owner i's targets, (n_i,) float64, read-only; NaN where the record contributes nothing,
        whose features are then 0 (:mod:`asyncdp_sim.data.dataset`).
    columns : tuple of str
        Names of the encoded columns that the features were made from.
    public_rows_of_owner : tuple of int
        How many of the public rows are also records of owner i; nonzero only where the scenario
        sets ``public_overlap``. Such records have ε = ∞.
    real : bool
        Whether private records of a real file were read.
    source : Source or None
        The file; None for synthetic data.
    notes : tuple of str
        What was encoded, dropped, imputed or left unused: one sentence each, for the user.
    held_out_features, held_out_targets : tuple of NDArray
        As ``features`` and ``targets``, of the rows that are kept apart; without members where
        none are.
    rows : tuple of NDArray
        For every owner the table rows, from 0, of its ``features``, (n_i,) int64; numbered as in
        :class:`~asyncdp_sim.data.tables.neighbour.Swap`.
    unowned_features, unowned_targets : NDArray, optional
        Rows of no owner, (m, p) and (m,), which count in f, θ* and ψ all the same: nobody trains
        on them. None where ``score_on`` is "participants", or where every row has an owner.
    owner_names : tuple of str
        Owner i's value of the column that the table is split by; without members where none is.
    public_targets : NDArray, optional
        Targets of the public rows, the table's last, (m,), which anybody may look at: NaN where
        there is none; None where no row is public.
    doubts : tuple of str
        Differences that substitute records may have from the records that they replace.
    file_rows : FileRows, optional
        Where the table's rows stand in its files; None where they are of no file.
    table : Encoded or OnDemand, optional
        The encoded columns of all rows, which features were made from; None where features are
        the columns themselves.
    projection : Projection, optional
        What made features of them.
    held_out_rows : tuple of NDArray
        As ``rows``, of the held-out ones.
    persons : NDArray, optional
        Whose each row of the table is, from 0 (``data.person``); None where each stands alone.
    order : NDArray, optional
        Each row's rank in time (``data.order``).
    """

    features: tuple[Array, ...]
    targets: tuple[Array, ...]
    columns: tuple[str, ...]
    public_rows_of_owner: tuple[int, ...]
    real: bool
    source: Source | None = None
    notes: tuple[str, ...] = ()
    held_out_features: tuple[Array, ...] = ()
    held_out_targets: tuple[Array, ...] = ()
    rows: tuple[Ints, ...] = ()
    unowned_features: Array | None = None
    unowned_targets: Array | None = None
    owner_names: tuple[str, ...] = ()
    public_targets: Array | None = None
    doubts: tuple[str, ...] = ()
    file_rows: FileRows | None = None
    table: "Table | None" = None
    projection: "Projection | None" = None
    held_out_rows: tuple[Ints, ...] = ()
    persons: Ints | None = None
    order: Array | None = None

    def __post_init__(self) -> None:
        for name in ("features", "held_out_features"):
            by_columns = tuple(np.asfortranarray(x) for x in getattr(self, name))
            object.__setattr__(self, name, by_columns)
        if self.unowned_features is not None:
            object.__setattr__(self, "unowned_features", np.asfortranarray(self.unowned_features))

    @property
    def records(self) -> tuple[int, ...]:
        """Records per owner that are trained on, n_i."""
        return tuple(len(target) for target in self.targets)

    def row_name(self, row: int) -> str:
        """Return what a table's row (from 0) is called: as its file counts it, from 1."""
        return f"row {row + 1}" if self.file_rows is None else self.file_rows.said(row)

    def of_owners(self, places: Sequence[int], judging: Iterable[int] = ()) -> "Dataset":
        """Return the records of some of the owners, at these places (from 0).

        Parameters
        ----------
        places : sequence of int
        judging : iterable of int
            Places of owners whose records stay for f, θ* and ψ, of others as rows of no owner.
        """
        features, targets = self.unowned_features, self.unowned_targets
        rest = sorted({*judging} - {*places})
        if len(rest) > 0:
            x, y = ([each[i] for i in rest] for each in (self.features, self.targets))
            if features is not None and targets is not None:
                x, y = [*x, features], [*y, targets]
            features, targets = np.concatenate(x), np.concatenate(y)

        def some(each: tuple[_E, ...]) -> tuple[_E, ...]:
            return tuple(each[i] for i in places) if len(each) > 0 else ()

        return replace(
            self,
            features=some(self.features),
            targets=some(self.targets),
            public_rows_of_owner=some(self.public_rows_of_owner),
            held_out_features=some(self.held_out_features),
            held_out_targets=some(self.held_out_targets),
            rows=some(self.rows),
            held_out_rows=some(self.held_out_rows),
            unowned_features=features,
            unowned_targets=targets,
            owner_names=some(self.owner_names),
        )

    def encoded_of(self, owner: int, *, held_out: bool = False) -> Array:
        """Return the encoded columns (n, c) of the training or held-out rows of an owner (from 0).

        Rows stand in the order of ``features``, or of ``held_out_features``.
        """
        if self.table is None:
            return (self.held_out_features if held_out else self.features)[owner]
        rows = (self.held_out_rows if held_out else self.rows)[owner]
        return np.concatenate(list(self.table.pieces(rows)))

    def persons_of(self, rows: Ints) -> Ints:
        """Return whose each of some rows of the table is."""
        return rows if self.persons is None else self.persons[rows]

    @property
    def scored(self) -> tuple[list[Array], list[Array]]:
        """Features and targets that f is of, owner by owner; behind them the rows of no owner."""
        features, targets = list(self.features), list(self.targets)
        if self.unowned_features is not None and self.unowned_targets is not None:
            features.append(self.unowned_features)
            targets.append(self.unowned_targets)
        return features, targets


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
        As in :class:`Dataset`.
    """

    matrix: Array
    target: Array
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

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
    target, columns, notes
        As in :class:`Encoded`.
    """

    encode: Callable[[Rows], Array]
    target: Array
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

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


LARGEST = 1e50
"""Largest number in a record: what is squared twice, and summed, stays a number."""

FAR = 1e3
"""Times the median record's largest number: beyond it a solver may lose sight of the others."""


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


def void(targets: Sequence[Array]) -> list[Bools]:
    """Return which records contribute nothing, owner by owner."""
    return [np.isnan(y) for y in targets]


def outlying(features: Sequence[Array]) -> list[Bools]:
    """Return whose largest number is above :data:`FAR` times the median one, owner by owner."""
    largest = [np.abs(x).max(axis=1, initial=0.0) for x in features]
    usual = float(np.median(np.concatenate(largest)))
    return [sizes > FAR * usual for sizes in largest]


def only_labels(targets: Array, labels: Sequence[float]) -> Array:
    """Return targets of a model that classifies, NaN where they are none of its labels."""
    return np.where(np.isin(targets, labels), targets, np.nan)


def blank(arrays: Sequence[Array], nothing: Sequence[Bools]) -> list[Array]:
    """Return rows or targets, those of void records 0; the same arrays where none is void."""
    blanked = []
    for array, places in zip(arrays, nothing, strict=True):
        if places.any():
            array = array.copy(order="F")
            array[places] = 0.0
        blanked.append(array)
    return blanked
