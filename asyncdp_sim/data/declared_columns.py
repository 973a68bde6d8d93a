"""Tables whose columns are declared by the raw ones they are made of: read, encoded, or drawn.

A synthetic twin's table is drawn by laws of rows: variables are functions of normals.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.splits import ValuesOf, require_records
from asyncdp_sim.data.tables.read import source_of
from asyncdp_sim.data.tables.rows import Encoded, FileRows, OnDemand, Swap, consecutive, raw_values
from asyncdp_sim.data.tables.table_recipe import BuildRequest, TableRecipe
from asyncdp_sim.data.tables.text_columns import map_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EncodedColumn:
    """An encoded column.

    Attributes
    ----------
    name : str
        Its name in the encoded table; of two columns of one name the first that a table has the
        raw columns for is used.
    raw : tuple of str
        The raw columns that it is made of.
    code : callable
        From these columns of some rows to their numbers, NaN where missing. A row's number does
        not depend on which others there are.
    """

    name: str
    raw: tuple[str, ...]
    code: Callable[..., Array]

    def encode(self, frame: "pd.DataFrame") -> Array:
        """Return the numbers of a raw table's rows."""
        return self.code(*(frame[name] for name in self.raw))


def some_rows(frame: "pd.DataFrame", rows: Ints) -> "pd.DataFrame":
    """Return the rows of these numbers, without a copy where they are consecutive."""
    if consecutive(rows):
        return frame.iloc[rows[0] : rows[-1] + 1]
    return frame.take(rows)


def coded_texts(column: "pd.Series", codes: Mapping[str, float], other: float) -> Array:
    """Return the code of every text by a fixed dictionary (case-blind), ``other`` for the rest."""
    code_of = {text.lower(): code for text, code in codes.items()}
    coded = map_text(column, lambda text: code_of.get(text.strip().lower(), other))
    return np.where(np.isnan(coded), other, coded)


def same_name(
    names: Iterable[str], code: Callable[["pd.Series"], Array]
) -> tuple[EncodedColumn, ...]:
    """Declare columns that are each made of the raw column of its name, all in one way."""
    return tuple(EncodedColumn(name, (name,), code) for name in names)


def indicators(
    raw: str, texts: Sequence[str] | Mapping[str, Sequence[str]]
) -> tuple[EncodedColumn, ...]:
    """Declare a column ``raw=name`` of 1 for a text, or for a named group of them; else 0."""
    groups = texts if isinstance(texts, Mapping) else {text: (text,) for text in texts}
    return tuple(
        EncodedColumn(
            f"{raw}={name}",
            (raw,),
            partial(coded_texts, codes=dict.fromkeys(members, 1.0), other=0.0),
        )
        for name, members in groups.items()
    )


def place_in(texts: Sequence[str], column: "pd.Series") -> Array:
    """Return a text's place in a list, from 1; any other text, and none, has the next number."""
    codes = {text: float(place) for place, text in enumerate(texts, start=1)}
    return coded_texts(column, codes, len(codes) + 1.0)


def available(
    declared: Iterable[EncodedColumn], columns: Collection[str]
) -> tuple[EncodedColumn, ...]:
    """Return the columns that a table with these raw columns has."""
    columns_by_name: dict[str, EncodedColumn] = {}
    for column in declared:
        if all(name in columns for name in column.raw):
            columns_by_name.setdefault(column.name, column)
    return tuple(columns_by_name.values())


def stacked(columns: Iterable[Array], n_rows: int, n_columns: int) -> Array:
    """Return columns side by side, in Fortran order, NaN as 0."""
    matrix = np.empty((n_rows, n_columns), order="F")
    for j, values in enumerate(columns):
        matrix[:, j] = np.where(np.isnan(values), 0.0, values)
    return matrix


def encoded(
    frame: "pd.DataFrame", used: Sequence[EncodedColumn], target: Array, notes: Iterable[str]
) -> OnDemand:
    """Return a raw table in these columns, missing values as 0."""

    def encode(rows: Ints) -> Array:
        part = some_rows(frame, rows)
        return stacked((column.encode(part) for column in used), len(rows), len(used))

    return OnDemand(encode, target, tuple(column.name for column in used), tuple(notes))


def lacking(heading: str, names: Iterable[str], columns: Collection[str]) -> tuple[str, ...]:
    """Return a note with the names that are not among the columns, if any."""
    absent = [name for name in names if name not in columns]
    return (f"{heading}: {', '.join(absent)}.",) if absent else ()


Encode = Callable[["pd.DataFrame"], OnDemand]
"""From a raw table to its encoded rows."""

NO_COLUMNS: ValuesOf = dict[str, Sequence[object]]().__getitem__
"""The raw columns of a twin that has encoded columns alone: there is none."""


class DeclaredData(TableRecipe):
    """A table whose columns are declared, or its synthetic twin."""

    table_rows: ClassVar[int]
    """Of the table that the twin is made from: with ``public_overlap`` the twin's least number."""

    @abstractmethod
    def _read(self, path: str) -> tuple["pd.DataFrame", Encode, tuple[str, ...]]:
        """Return the raw table as it is used, what encodes it, and notes.

        Its index says where its rows stand in the file.
        """

    @abstractmethod
    def _twin(self, request: BuildRequest) -> tuple[Encoded, ValuesOf]:
        """Return the synthetic twin and its raw columns.

        Raises
        ------
        DataError
            On ``data.split``, when the twin has no such column.
        """

    def _name_of(self, column: str) -> str:
        """Return what a column is called in the raw table as it is used."""
        return column

    def _no_split(self) -> str | None:
        """Return why a twin cannot be split by the column that is named; None where it can."""
        if self.split.of_column is None:
            return None
        return 'the synthetic twin has no raw columns; set data.path or split = "in-order"'

    @override
    def own_faults(self) -> Iterator[Fault]:
        yield from super().own_faults()
        rule = self._no_split() if self.synthetic else None
        if rule is not None:
            yield Fault("split", f"a column {self.split.of_column!r}", rule)

    def _require_split(self) -> None:
        """Refuse a column that a twin cannot be split by: one drawn in place of a table, too."""
        rule = self._no_split()
        if rule is not None:
            raise DataError([Fault("data.split", f"a column {self.split.of_column!r}", rule)])

    @override
    def says_whose(self, column: str) -> bool:
        asked = self.target_column if self.split.by_target else self.split_column
        return asked is not None and self._name_of(column) == self._name_of(asked)

    @override
    def _column(self, name: str) -> Sequence[object]:
        frame, _, _ = self._read(str(self.path))
        return raw_values(frame, self._name_of(name))

    def _renamed(self) -> Self:
        """Return the recipe with the split's column called as in the raw table as it is used."""
        column = self.split_column
        if column is None or self._name_of(column) == column:
            return self
        split = self.split.model_copy(update={"column": self._name_of(column)})
        return self.model_copy(update={"split": split})

    @override
    def build(
        self,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        swap: Swap | None = None,
    ) -> Dataset:
        request = BuildRequest(n_owners, records, streams, swap)
        if self.path is None:
            drawn, values_of = self._twin(request)
            table = drawn if swap is None else swap.in_table(drawn)
            return self._dataset(table, values_of, request)
        frame, encode, notes = self._read(self.path)
        places = FileRows.from_frame(self.path, frame)
        frame.index = range(len(frame))
        spec = self._renamed()
        frame = spec._replaced(frame, swap)
        encoded = encode(frame)
        encoded = replace(encoded, notes=(*notes, *encoded.notes))
        return spec._dataset(
            encoded if swap is None else swap.scaled(encoded),
            partial(raw_values, frame),
            request,
            source_of(self.path),
            places,
        )

    def _rows_in_turn(self, request: BuildRequest) -> int:
        """Return how many rows a twin without raw columns has before the public ones.

        Raises
        ------
        DataError
            On ``data.split`` or ``owners.records``, when it names a column, or nothing says so.
        """
        self._require_split()
        if request.records is not None or not self.split.by_target:
            return self._body_rows(sum(require_records(request.records)))
        if self.split.shared_rows is None:
            rule = "allowed is a number ≥ 1: the number of rows of the synthetic twin"
            raise DataError([Fault("data.split.rows", "nothing", rule)])
        return self._body_rows(self.split.shared_rows)

    def _body_rows(self, owned: int) -> int:
        """Return how many rows the twin has before the public ones."""
        if not self.public_overlap:
            return owned
        # As in the real table: owners reach the public rows only when they need so many rows.
        return max(max(owned, self.table_rows) - self.public_records, 0)


Encoding = Literal["plain", "as-published"]
