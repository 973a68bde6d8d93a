"""Data sets: one array of features and one of targets per owner, whatever the kind of data.

A private record may lack its target, have a text there, or a value whose square floating point does
not hold. Leaving it out would change n_i and the places of other records, and ending the run would
reveal the record: both would tell neighbouring tables apart. So it stays, n_i counts it, and its
loss and gradient are 0 at every model. Its target is NaN and its features are 0. A model receives
such rows as 0, with the constant of an intercept, and the target 0: there every loss is 0 and flat.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.rows import FileRows, Source, Table

_E = TypeVar("_E")

SYNTHETIC = "synthetic"
"""A scenario's source for drawn records."""


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
        Owner i's targets, (n_i,) float64, read-only. A record that contributes nothing has the
        target NaN and features of 0 (:mod:`asyncdp_sim.data.dataset`).
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
        As ``features`` and ``targets``, of the rows that are kept apart; empty where none are.
    rows : tuple of NDArray
        For every owner the table rows, from 0, of its ``features``, (n_i,) int64; numbered as in
        :class:`~asyncdp_sim.data.tables.neighbour.Swap`.
    unowned_features, unowned_targets : NDArray, optional
        Rows of no owner, (m, p) and (m,), which count in f, θ* and ψ all the same: nobody trains
        on them. None where ``score_on`` is "participants", or where every row has an owner.
    owner_names : tuple of str
        Owner i's value of the column that the table is split by; without members where none is.
    public_targets : NDArray, optional
        Targets of the public rows, which are the table's last, (m,): NaN where one is missing.
        None where no row is public.
    doubts : tuple of str
        Differences that substitute records may have from the records that they replace.
    file_rows : FileRows, optional
        Where the table's rows stand in its files; None where they are of no file.
    table : Encoded or OnDemand, optional
        The encoded columns of all rows, which features were made from; None where features are
        the columns themselves.
    projection : Projection, optional
        The transformation of the encoded columns to features.
    held_out_rows : tuple of NDArray
        As ``rows``, of the held-out ones.
    persons : NDArray, optional
        The person of each row of the table, from 0 (``data.person``); None where every row is a
        person of its own.
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
    table: Table | None = None
    projection: Projection | None = None
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
            Places of owners whose records count in f, θ* and ψ. Those that are not in ``places``
            become rows of no owner.
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

    @property
    def unlike(self) -> tuple[str, ...]:
        """Which owners write a column differently from public rows; not for release."""
        return () if self.table is None else self.table.unlike

    def persons_of(self, rows: Ints) -> Ints:
        """Return the person of each of some rows of the table."""
        return rows if self.persons is None else self.persons[rows]

    @property
    def scored(self) -> tuple[list[Array], list[Array]]:
        """Features and targets in f, owner by owner; the rows of no owner are last."""
        features, targets = list(self.features), list(self.targets)
        if self.unowned_features is not None and self.unowned_targets is not None:
            features.append(self.unowned_features)
            targets.append(self.unowned_targets)
        return features, targets


FAR = 1e3
"""Times the median record's largest number: beyond it a solver may lose sight of the others."""


def void(targets: Sequence[Array]) -> list[Bools]:
    """Return which records contribute nothing, owner by owner."""
    return [np.isnan(y) for y in targets]


def outlying(features: Sequence[Array]) -> list[Bools]:
    """Return which records' largest number is above :data:`FAR` times the median one, by owner."""
    largest = [np.abs(x).max(axis=1, initial=0.0) for x in features]
    usual = float(np.median(np.concatenate(largest)))
    return [sizes > FAR * usual for sizes in largest]


def only_labels(targets: Array, labels: Sequence[float]) -> Array:
    """Return targets of a model that classifies; those that are none of its labels are NaN."""
    return np.where(np.isin(targets, labels), targets, np.nan)


def blank(arrays: Sequence[Array], nothing: Sequence[Bools]) -> list[Array]:
    """Return rows or targets, with 0 for void records; the same arrays where none is void."""
    blanked = []
    for array, places in zip(arrays, nothing, strict=True):
        if places.any():
            array = array.copy(order="F")
            array[places] = 0.0
        blanked.append(array)
    return blanked
