"""Data sets: one array of features and one of targets per owner, whatever the kind of data.

A private record may lack its target, have a text there, or a value whose square floating point does
not hold. Leaving it out would change n_i and the places of other records, and ending the run would
reveal the record: both would tell neighbouring tables apart. So it stays, n_i counts it, and its
loss and gradient are 0 at every model. Its target is NaN and its features are 0. A model receives
such rows as 0, with the constant of an intercept, and the target 0: there every loss is 0 and flat.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import Variant, trait
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.rows import FileRows, Source, Swap, Table, frozen

if TYPE_CHECKING:
    from asyncdp_sim.data.surrogates import PublicTable
    from asyncdp_sim.data.tables.encoded_columns import TableEncoder

SYNTHETIC = "synthetic"
"""A scenario's source for drawn records."""
OF_EACH_OWNER = (
    "features", "targets", "held_out_features", "held_out_targets", "rows", "held_out_rows",
    "public_rows_of_owner", "owner_names",
)  # fmt: skip
"""Fields of a data set that have one value per owner, or no value at all."""


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
        :class:`~asyncdp_sim.data.tables.rows.Swap`.
    unowned_features, unowned_targets : NDArray, optional
        Rows of no owner, (m, p) and (m,), which count in f, θ* and ψ all the same: nobody trains
        on them. None where ``score_on`` is "participants", or where every row has an owner.
    owner_names : tuple of str
        Owner i's value of the column that the table is split by; without members where none is.
    public_targets : NDArray, optional
        Targets of the public rows, which are the table's last, (m,): NaN where one is missing.
        None where no row is public.
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

    # What every data set has.
    features: tuple[Array, ...]
    targets: tuple[Array, ...]
    columns: tuple[str, ...]
    public_rows_of_owner: tuple[int, ...]
    real: bool
    source: Source | None = None
    notes: tuple[str, ...] = ()
    # Rows that are held out or of no owner, and further facts of a table and its rows.
    held_out_features: tuple[Array, ...] = ()
    held_out_targets: tuple[Array, ...] = ()
    rows: tuple[Ints, ...] = ()
    unowned_features: Array | None = None
    unowned_targets: Array | None = None
    owner_names: tuple[str, ...] = ()
    public_targets: Array | None = None
    file_rows: FileRows | None = None
    table: Table | None = None
    projection: Projection | None = None
    held_out_rows: tuple[Ints, ...] = ()
    persons: Ints | None = None
    order: Array | None = None

    def __post_init__(self) -> None:
        for name in ("features", "targets", "held_out_features", "held_out_targets"):
            by_columns = tuple(frozen(x) for x in getattr(self, name))
            object.__setattr__(self, name, by_columns)
        if self.unowned_features is not None:
            object.__setattr__(self, "unowned_features", frozen(self.unowned_features))

    @property
    def records(self) -> tuple[int, ...]:
        """Records per owner that are trained on, n_i."""
        return tuple(len(target) for target in self.targets)

    def row_name(self, row: int) -> str:
        """Return what a table's row (from 0) is called: as its file counts it, from 1."""
        return f"row {row + 1}" if self.file_rows is None else self.file_rows.name_of(row)

    def of_owners(self, places: Sequence[int], judging: Iterable[int] = ()) -> "Dataset":
        """Return the records of some of the owners, at these places (from 0).

        Parameters
        ----------
        places : sequence of int
        judging : iterable of int
            Places of owners whose records count in f, θ* and ψ. Training records of those that are
            not in ``places`` become rows of no owner; their held-out rows are dropped.
        """
        features, targets = self.unowned_features, self.unowned_targets
        rest = sorted({*judging} - {*places})
        if len(rest) > 0:
            x, y = ([arrays[i] for i in rest] for arrays in (self.features, self.targets))
            if features is not None and targets is not None:
                x, y = [*x, features], [*y, targets]
            features, targets = np.concatenate(x), np.concatenate(y)

        def some(values: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(values[i] for i in places) if len(values) > 0 else ()

        own: dict[str, Any] = {name: some(getattr(self, name)) for name in OF_EACH_OWNER}
        return replace(self, unowned_features=features, unowned_targets=targets, **own)

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


class DataKind(Variant):
    """A source of the owners' records."""

    needed_fields: ClassVar[tuple[str, ...]] = ("features", "held_out")
    """Fields that every kind of data has: the number of features, and the held-out share."""

    # Where the records come from.
    file: ClassVar[str | None] = None
    """The file that records are read from; None where they are drawn."""
    form: ClassVar[FileForm] = PLAIN
    """How that file is written, if it is a CSV."""
    synthetic: ClassVar[bool]
    """Whether records are drawn, and no private one is read."""
    origin: ClassVar[str]
    """Where the records come from, in words."""
    unsound: ClassVar[str | None] = None
    """Why one private record affects what becomes of others; None where it does not.

    A result is then not private, and its label says why. ``hospital`` with the encoding
    ``as-published`` is such a kind: it drops rows with missing cells.
    """

    # What they hold.
    has_columns: ClassVar[bool] = False
    """Whether features come of a table's columns, so that one of ones may join them."""
    uncentred: ClassVar[str | None] = None
    """The preprocessing that makes features of columns jointly, without centring them.

    A run of a model that classifies warns of it. ``eigen-uncentred`` is one; None where there is
    none.
    """
    target_unit: ClassVar[str | None] = None
    """The unit of an error in the target, in words; None where none is known."""
    target_labels: ClassVar[tuple[float, ...] | None] = None
    """The labels that all targets are, before any is there: () for numbers, None if unknown."""
    classes: ClassVar[tuple[str, ...]] = ()
    """The declared classes of the target, in their order; without members where none are."""

    # Whose they are.
    split_column: ClassVar[str | None] = None
    """The column whose values are the owners, who have as many records as it says, if any."""
    says_records: ClassVar[bool] = trait(lambda self: self.split_column is not None)
    """Whether the data, and not the scenario, say how many records each owner has."""

    # What can be drawn in place of them.
    draws_fresh: ClassVar[bool] = False
    """Whether :meth:`fresh` draws rows of the law of each owner."""
    draws_again: ClassVar[bool] = False
    """Whether :meth:`redraws` draws these data again, to see how far they may be off."""
    twin_words: ClassVar[str] = "the table's synthetic twin"
    """What is drawn in place of a table that is not read."""

    def owner_names(self) -> tuple[str, ...]:
        """Read the values of ``split_column``, which are the owners, in their order.

        Returns
        -------
        tuple of str
            Without members where no column of a file says who they are.

        Raises
        ------
        DataError
            If the file cannot be read, or has no such column.
        """
        return ()

    def says_whose(self, column: str) -> bool:
        """Return whether a column of the file names each row's owner, which is public."""
        return column == self.split_column

    def read_for(self, labels: int, *, intercept: bool) -> Self:
        """Return the data as a model reads them; by default as they are.

        Kinds with columns append a column of 1 for an intercept, and a table without declared
        classes reads the target of a model that classifies as classes.

        Parameters
        ----------
        labels : int
            Classes that the model tells apart; 0 where it predicts numbers.
        intercept : bool
            Whether the last feature is 1 in every row.
        """
        return self

    def encoder(self) -> "TableEncoder":
        """Return what makes features of a table's raw rows, as :meth:`build` makes them.

        Raises
        ------
        DataError
            If the table cannot be read.
        SpecError
            If the data are none whose columns are encoded one by one.
        """
        raise SpecError([Fault("data.kind", repr(self.kind), "allowed is 'table'")])

    def twin(self) -> Self | None:
        """Return data that are drawn in place of these; None where there is nothing to use."""
        return self if self.synthetic else None

    def redraws(
        self, count: int, n_owners: int, records: tuple[int, ...] | None, streams: Streams
    ) -> Iterator[Dataset]:
        """Yield the records with their substitutes drawn again, ``count`` times, or nothing."""
        return iter(())

    def public_table(
        self, n_owners: int, records: tuple[int, ...] | None, streams: Streams
    ) -> "PublicTable | None":
        """Return the public rows, and what is public about the owners; None where none are."""
        return None

    def own_rows(self, streams: Streams) -> Dataset | None:
        """Return the rows of ``data.own_path`` as those of one owner; None where there is none."""
        return None

    def fresh(
        self, n_owners: int, count: int, streams: Streams | Scope
    ) -> Iterator[tuple[Array, Array]] | None:
        """Yield so many fresh features and targets of each owner's law; None where none are drawn.

        They are independent of the records, and follow the same law as the records of their owner.
        """
        return None

    @abstractmethod
    def build(
        self,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        swap: Swap | None = None,
    ) -> Dataset:
        """Read or draw the records, encode, project and split them.

        Parameters
        ----------
        n_owners : int
            N ≥ 1.
        records : tuple of int, optional
            n_i ≥ 1, one per owner; absent only where a column splits the table.
        streams : Streams or Scope
            The run's random streams.
        swap : Swap, optional
            A record to replace before anything is made of the table.

        Raises
        ------
        DataError
            With keys below ``data.`` and ``owners.``.
        ValueError
            If ``swap`` names a row that is not there.
        """


FAR = 1e3
"""Times the median record's largest number: beyond it a solver may lose sight of the others."""


def void(targets: Sequence[Array]) -> list[Bools]:
    """Return which records contribute nothing, owner by owner."""
    return [np.isnan(y) for y in targets]


def outlying(features: Sequence[Array]) -> list[Bools]:
    """Return which records' largest number is above :data:`FAR` times the median one, by owner.

    Where an optimum is not found, the search is repeated without these records. Records of 0 alone
    do not count in the median.
    """
    largest = [np.abs(x).max(axis=1, initial=0.0) for x in features]
    sizes = np.concatenate(largest)
    filled = sizes[sizes > 0]  # with many void records, 0 would be usual and all others outlying
    usual = float(np.median(filled)) if len(filled) > 0 else 0.0
    return [rows > FAR * usual for rows in largest]


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
