"""The family of splits: the assignment of a table's rows to owners."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Array, Rows
from asyncdp_sim.spec.base import Variant

ValuesOf = Callable[[str], Sequence[object]]
"""From a column of a table to its raw values, None where empty."""


@dataclass(frozen=True, eq=False)
class TableToSplit:
    """A table whose rows are to be given to owners.

    Attributes
    ----------
    values_of : callable
        From a column to its raw values, None where empty.
    available : int
        Rows 0…available−1 may be given to owners.
    public : int
        Public rows held back from the owners; for the error's text.
    n_owners : int
    records : sequence of int, optional
    streams : Streams or Scope
    target, known : array
        Targets of all rows, NaN where there is none, and of the public ones.
    """

    values_of: ValuesOf
    available: int
    public: int
    n_owners: int
    records: Sequence[int] | None
    streams: Streams | Scope
    target: Array
    known: Array

    def require_rows(self, needed: int) -> None:
        """Refuse more records than there are rows for owners, besides those that are public.

        Raises
        ------
        DataError
            On ``owners.records``.
        """
        if needed > self.available:
            held = change = ""
            if self.public > 0:
                held = f", and {self.public} more are public"
                change = ", or data.public_records, or set data.public_overlap = true"
            rule = (
                f"more records than the table has: owners can share {self.available} rows{held}; "
                f"lower owners.records or owners.count{change}"
            )
            raise DataError([Fault("owners.records", f"{needed} in all", rule)])


@dataclass(frozen=True)
class OwnerSplit:
    """The rows of a table, by owner.

    Attributes
    ----------
    rows : list of NDArray
        Row numbers, owner by owner.
    names : tuple of str
        What the table calls the owners; without members where it does not.
    notes : tuple of str
        For the user.
    """

    rows: list[Rows]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SplitKind(Variant):
    """A way to give the rows of a table to owners."""

    @property
    def of_column(self) -> str | None:
        """The column whose values are the owners; None where no column names the owners."""
        return None

    @property
    def by_target(self) -> bool:
        """Whether a row's own target has a say in whose it is."""
        return False

    @property
    def says_records(self) -> bool:
        """Whether it decides how many records each owner has."""
        return self.of_column is not None or self.by_target

    @property
    def shared_rows(self) -> int | None:
        """How many rows it shares out; None where the scenario or the table says so."""
        return None

    def repeated(self, times: int) -> Self:  # noqa: ARG002
        """Return how a table is split in which each row is there so many times."""
        return self

    def likened(
        self,
        owned: OwnerSplit,  # noqa: ARG002
        values_of: ValuesOf,  # noqa: ARG002
        first: int,  # noqa: ARG002
        public: int,
        apart: bool,  # noqa: ARG002
    ) -> Rows:
        """Return whose rows the public ones are like, from 0; −1 where nobody's more than others'.

        Parameters
        ----------
        owned : OwnerSplit
            Whose rows are whose.
        values_of : callable
            From a column to its raw values over all rows, public ones last.
        first, public : int
            The first public row, from 0, and how many there are.
        apart : bool
            Whether they are in a file of their own, and not the last of the table.
        """
        return np.full(public, -1, dtype=np.int64)

    @abstractmethod
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        """Return the owners' names by a column's values over the rows that owners may hold."""

    @abstractmethod
    def owned(self, asked: TableToSplit) -> OwnerSplit:
        """Return which rows are whose.

        Raises
        ------
        DataError
            On ``owners.records`` or ``owners.count``, where the table does not have them.
        """


def require_records(records: Sequence[int] | None, n_owners: int) -> Sequence[int]:
    """Return the records per owner, refusing their absence.

    Raises
    ------
    DataError
        On ``owners.records``, when absent or not one number ≥ 1 per owner.
    """
    if records is None:
        rule = "this field is required unless data.split names a column"
        raise DataError([Fault("owners.records", "nothing", rule)])
    if len(records) != n_owners:
        rule = f"allowed is one number, or {n_owners} (one per owner)"
        raise DataError([Fault("owners.records", f"{len(records)} numbers", rule)])
    if min(records) < 1:
        raise DataError([Fault("owners.records", str(min(records)), "allowed is a number ≥ 1")])
    return records


class InTurn(SplitKind):
    """Owners take as many rows as they have records, one after the other."""

    @abstractmethod
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        """Return the order in which rows are taken."""

    @override
    def named(self, values: Sequence[object]) -> tuple[str, ...]:
        return ()

    @override
    def owned(self, asked: TableToSplit) -> OwnerSplit:
        wanted = require_records(asked.records, asked.n_owners)
        asked.require_rows(sum(wanted))
        order, ends = self.order(asked.available, asked.streams), np.cumsum(wanted)
        return OwnerSplit([order[end - n : end] for end, n in zip(ends, wanted, strict=True)])


class InOrder(InTurn):
    """Consecutive blocks in file order: owner i has rows (i−1)n to in − 1, where all have n."""

    kind: Literal["in-order"] = "in-order"

    @override
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        return np.arange(available)

    @override
    def likened(
        self, owned: OwnerSplit, values_of: ValuesOf, first: int, public: int, apart: bool
    ) -> Rows:
        """Take a file of public rows to stand in the order of the table: each has its place there.

        The last rows of the table itself have none among the owners'.
        """
        like = np.full(public, -1, dtype=np.int64)
        if not apart:
            return like
        place = (np.arange(public) + 0.5) * first / public
        for owner, rows in enumerate(owned.rows):
            like[(rows[0] <= place) & (place < rows[-1] + 1)] = owner
        return like


class Shuffled(InTurn):
    """Blocks of a permutation that is drawn from the stream ``("data", "split")``."""

    kind: Literal["shuffled"] = "shuffled"

    @override
    def order(self, available: int, streams: Streams | Scope) -> Rows:
        return streams.generator("data", "split").permutation(available)
