"""Data sets: one array of features and one of targets per owner, whatever the kind of data."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data.tables.names import FileRows

Array = npt.NDArray[np.float64]
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
        whose features are then 0 (:mod:`asyncdp_sim.data.invalid_rows`).
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
    rows: tuple[npt.NDArray[np.int64], ...] = ()
    unowned_features: Array | None = None
    unowned_targets: Array | None = None
    owner_names: tuple[str, ...] = ()
    public_targets: Array | None = None
    doubts: tuple[str, ...] = ()
    file_rows: FileRows | None = None

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
            unowned_features=features,
            unowned_targets=targets,
            owner_names=some(self.owner_names),
        )

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


def frozen(array: Array, *, order: str = "F") -> Array:
    """Return the array as read-only float64 in the given memory order, copied only if needed."""
    held = np.asarray(array, dtype=np.float64, order="F" if order == "F" else "C")
    held.flags.writeable = False
    return held
