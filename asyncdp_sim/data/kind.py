"""The family of data: what the rest of the house asks of a member."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Self

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import Variant, trait
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm
from asyncdp_sim.data.tables.neighbour import Swap

if TYPE_CHECKING:
    from asyncdp_sim.data.surrogates import PublicTable
    from asyncdp_sim.data.tables.encoded_columns import TableEncoder


class DataKind(Variant):
    """A source of the owners' records."""

    needed_fields: ClassVar[tuple[str, ...]] = ("features", "held_out")
    has_columns: ClassVar[bool] = False
    """Features come of a table's columns, so that one of ones may join them."""
    target_unit: ClassVar[str | None] = None
    """The unit of an error in the target, in words; None where none is known."""
    file: ClassVar[str | None] = None
    """The file that records are read from; None where they are drawn."""
    form: ClassVar[FileForm] = PLAIN
    """How that file is written, if it is a CSV."""
    synthetic: ClassVar[bool]
    """Whether records are drawn, and no private one is read."""
    origin: ClassVar[str]
    """Where the records come from, in words."""
    split_column: ClassVar[str | None] = None
    """The column whose values are the owners, who have as many records as it says, if any."""

    def owner_names(self) -> tuple[str, ...]:
        """Read which values of that column are the owners, in their order; nothing without a file.

        Raises
        ------
        DataError
            If the file cannot be read, or has no such column.
        """
        return ()

    says_records: ClassVar[bool] = trait(lambda self: self.split_column is not None)
    """Whether the data, and not the scenario, say how many records each owner has."""
    draws_fresh: ClassVar[bool] = False
    """Whether :meth:`fresh` draws rows of the law of each owner."""
    holds_out: ClassVar[bool] = False
    """Whether some of every owner's rows are kept apart from training."""
    target_labels: ClassVar[tuple[float, ...] | None] = None
    """The labels that all targets are, before any is there: () for numbers, None if unknown."""
    uncentred: ClassVar[str | None] = None
    """The preprocessing that makes features of columns together without centring them."""
    classes: ClassVar[tuple[str, ...]] = ()
    """The declared classes of the target, in their order; without members where none are."""

    def read_for(self, labels: int, *, intercept: bool) -> Self:
        """Return the data as a model reads them.

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

    def says_whose(self, column: str) -> bool:
        """Return whether a column of the file names each row's owner, which is public."""
        return column == self.split_column

    unsound: ClassVar[str | None] = None
    """Why one private record has a say in what becomes of others; None where it has none."""
    twin_words: ClassVar[str] = "the table's synthetic twin"
    """What is drawn in place of a table that is not read."""

    def twin(self) -> Self | None:
        """Return data that are drawn in place of these; None where there is nothing to use."""
        return self if self.synthetic else None

    uncertain: ClassVar[str | None] = None
    """What may be drawn again of these data to see how far they may be off, in words."""

    def redraws(
        self,
        count: int,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams,
    ) -> Iterator[Dataset]:
        """Yield the records with that drawn again, ``count`` times; none where nothing is."""
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

        They are independent of all records, and of the law of each owner as these are.
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
