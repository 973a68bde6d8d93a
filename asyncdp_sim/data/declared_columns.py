"""Tables whose columns are declared by the raw ones they are made of: drawn, encoded, or read.

In this order: the laws by which the rows of a synthetic twin are drawn (:class:`Variable`,
:class:`Twin`, :func:`draw`); columns and their codes (:class:`EncodedColumn` to :func:`encoded`);
and the recipe of a dataset, from a file or from its twin (:class:`DeclaredData`).
"""

import json
import tomllib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.splits import BuildRequest, require_records
from asyncdp_sim.data.tables.read import source_of
from asyncdp_sim.data.tables.rows import Encoded, FileRows, OnDemand, Swap, raw_values
from asyncdp_sim.data.tables.table_recipe import TableRecipe
from asyncdp_sim.data.tables.text_columns import map_text

if TYPE_CHECKING:
    import pandas as pd

Encoding = Literal["plain", "as-published"]
"""How columns become numbers: "plain" learns nothing from private rows; or as the papers did."""

Z_KNOTS: Array = np.linspace(-4.5, 4.5, 151)
"""Where quantile tables are tabulated; beyond the ends a variable keeps its end value."""


@dataclass(frozen=True, eq=False)
class Variable:
    """One latent normal and the encoded columns that it decides.

    Attributes
    ----------
    columns : tuple of str
        One column, or the indicators of a category, two at least.
    cuts : NDArray or None
        Increasing thresholds of z, between the steps of a step function or the categories; None
        for a quantile table.
    values : NDArray
        Without cuts, the column's non-decreasing values at :data:`Z_KNOTS`. With cuts, one more
        than there are cuts: of one column its steps (0 and 1 where it is a single indicator); of
        several the place of the indicator that is 1, from 0, or −1 for none.
    """

    columns: tuple[str, ...]
    cuts: Array | None
    values: Array

    def write(self, z: Array, into: Array) -> None:
        """Write the columns for latent values ``z`` (n,) into the array (n, columns)."""
        if self.cuts is None:
            into[:, 0] = np.interp(z, Z_KNOTS, self.values)
            return
        chosen = self.values[np.searchsorted(self.cuts, z, side="right")]
        if len(self.columns) == 1:
            into[:, 0] = chosen
            return
        for j in range(len(self.columns)):
            into[:, j] = chosen == j


def lower_triangular(rows: Sequence[Sequence[float]]) -> Array:
    """Return the square matrix of which a file holds the rows up to the diagonal."""
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, : i + 1] = row
    return matrix


@cache
def shipped(name: str) -> Any:
    """Return what a file of JSON or TOML holds that ships with this package."""
    text = resources.files("asyncdp_sim.data").joinpath(name).read_text("utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


CHUNK_ROWS = 8192
"""Rows made at a time. Fixed: the last bits of a matrix product depend on its shape."""


def chunks(n_rows: int, chunk_rows: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield the rows 0…n_rows−1 of a table in chunks."""
    for first in range(0, n_rows, chunk_rows):
        yield slice(first, min(first + chunk_rows, n_rows))


@dataclass(frozen=True, eq=False)
class Twin:
    """The calibrated law of a row: variables as functions of correlated normals.

    A row's latent values are z = m + W g, g iid standard normal, and m = 0 where rows are not
    grouped. Where they are, as by hospital, m = B h, h iid standard normal: drawn once for a group
    (:meth:`of_one_group`), or anew for every row, as if each were a group of its own.

    Attributes
    ----------
    columns : tuple of str
        Names of the encoded columns in the encoding's order, without the target.
    variables : tuple of Variable
        In that order; the last is the target.
    sums : mapping of str to tuple of str
        Columns that are no variables but the exact sums of others (payments and their parts).
    within, between : NDArray
        W and B, one row and column per variable, lower triangular; the rows of both together have
        unit length. Without groups there is no B.
    shift : NDArray, optional
        m, (variables, 1), where all rows are of one group.
    chunk_rows : int
        Rows made at a time (:data:`CHUNK_ROWS`); fewer where rows are grouped, because each group
        draws whole chunks.
    """

    columns: tuple[str, ...]
    variables: tuple[Variable, ...]
    sums: Mapping[str, tuple[str, ...]]
    within: Array
    between: Array | None = None
    shift: Array | None = None
    chunk_rows: int = CHUNK_ROWS

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Twin":
        """Return a law from its stored form, of which rounding changes no variance of z."""
        variables = list[Variable]()
        for law in stored["variables"]:
            cuts = np.array(law["cuts"], dtype=float) if "cuts" in law else None
            values = np.array(law["values"], dtype=float)
            variables.append(Variable(tuple(law["columns"]), cuts, values))
        sums = {name: tuple(parts) for name, parts in stored.get("sums", {}).items()}
        marginals = tuple(stored["columns"]), tuple(variables), sums
        if "factor" in stored:
            factor = lower_triangular(stored["factor"])
            factor /= np.sqrt(np.einsum("ij,ij->i", factor, factor))[:, None]
            return cls(*marginals, factor)
        between, within = lower_triangular(stored["between"]), lower_triangular(stored["within"])
        deviation = np.sqrt(np.sum(between**2 + within**2, axis=1))[:, None]
        return cls(*marginals, within / deviation, between / deviation, chunk_rows=1024)

    def write(self, matrix: Array, target: Array, generator: np.random.Generator) -> None:
        """Draw rows (:data:`Write`)."""
        for rows in chunks(len(target), self.chunk_rows):
            latent = self.latent(self.normals(generator))
            self.place(latent[:, : rows.stop - rows.start], matrix[rows], target[rows])

    def normals(self, generator: np.random.Generator) -> list[Array]:
        """Draw g of a chunk's rows, and h where each row is of a group of its own, a row to a row.

        Each is (chunk_rows, variables).
        """
        own = self.between is not None and self.shift is None
        shape = (self.chunk_rows, len(self.variables))
        return [generator.standard_normal(shape) for _ in range(2 if own else 1)]

    def latent(self, normals: list[Array]) -> Array:
        """Return the latent values of a chunk's rows, (variables, chunk_rows)."""
        latent = self.within @ normals[0].T
        if self.between is not None:
            latent += self.between @ normals[1].T if self.shift is None else self.shift
        return latent

    def place(self, latent: Array, matrix: Array, target: Array) -> None:
        """Write rows, (rows, columns) zeroed and (rows,), from their latent values."""
        place = {name: j for j, name in enumerate(self.columns)}
        for variable, z in zip(self.variables[:-1], latent[:-1], strict=True):
            start = place[variable.columns[0]]
            variable.write(z, matrix[:, start : start + len(variable.columns)])
        for name, parts in self.sums.items():
            for part in parts:
                matrix[:, place[name]] += matrix[:, place[part]]
        self.variables[-1].write(latent[-1], target[:, None])

    def of_one_group(self, generator: np.random.Generator) -> "Twin":
        """Return the law of rows of one group, which is drawn."""
        if self.between is None:
            return self
        shift = self.between @ generator.standard_normal((len(self.variables), 1))
        return replace(self, shift=shift)


Write = Callable[[Array, Array, np.random.Generator], None]
"""Draws rows into zeroed arrays, (rows, columns) and (rows,).

The first rows are the same however many are drawn: a generator is consumed in whole chunks.
"""


def draw(
    columns: tuple[str, ...],
    parts: Sequence[tuple[int, Write, tuple[str | int, ...]]],
    streams: Streams | Scope,
    note: str,
) -> Encoded:
    """Draw a table, part after part.

    Every row depends on the seed, its part and its number there alone, so that adding owners
    changes neither the others' records nor the projection.

    Parameters
    ----------
    columns : tuple of str
        Names of the encoded columns.
    parts : sequence of tuple
        Of each part how many rows it has, ≥ 0, what draws them, and the name of its stream below
        ``("data", "twin")``.
    streams : Streams or Scope
        The run's random streams.
    note : str
        For the user: what the rows are drawn from.
    """
    n_rows = sum(n for n, _, _ in parts)
    matrix, target, start = np.zeros((n_rows, len(columns)), order="F"), np.zeros(n_rows), 0
    for n, write, name in parts:
        rows = slice(start, start + n)
        write(matrix[rows], target[rows], streams.generator("data", "twin", *name))
        start = rows.stop
    return Encoded(matrix, target, columns, (note,))


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


Declared = tuple[EncodedColumn, ...]


def coded_texts(column: "pd.Series", codes: Mapping[str, float], other: float) -> Array:
    """Return the code of every text by a fixed dictionary (case-blind), ``other`` for the rest."""
    code_of = {text.lower(): code for text, code in codes.items()}
    coded = map_text(column, lambda text: code_of.get(text.strip().lower(), other))
    return np.where(np.isnan(coded), other, coded)


def same_name(names: Iterable[str], code: Callable[["pd.Series"], Array]) -> Declared:
    """Declare columns that are each made of the raw column of its name, all in one way."""
    return tuple(EncodedColumn(name, (name,), code) for name in names)


def indicators(raw: str, texts: Sequence[str] | Mapping[str, Sequence[str]]) -> Declared:
    """Declare a column ``raw=name`` of 1 for a text, or for a named group of them; else 0."""
    groups = texts if isinstance(texts, Mapping) else {text: (text,) for text in texts}
    columns = list[EncodedColumn]()
    for name, members in groups.items():
        code = partial(coded_texts, codes=dict.fromkeys(members, 1.0), other=0.0)
        columns.append(EncodedColumn(f"{raw}={name}", (raw,), code))
    return tuple(columns)


def place_in(texts: Sequence[str], column: "pd.Series") -> Array:
    """Return a text's place in a list, from 1; any other text, and none, has the next number."""
    codes = {text: float(place) for place, text in enumerate(texts, start=1)}
    return coded_texts(column, codes, len(codes) + 1.0)


def available(declared: Iterable[EncodedColumn], columns: Collection[str]) -> Declared:
    """Return the columns that a table with these raw columns has."""
    columns_by_name: dict[str, EncodedColumn] = {}
    for column in declared:
        if all(name in columns for name in column.raw):
            columns_by_name.setdefault(column.name, column)
    return tuple(columns_by_name.values())


def encoded(
    frame: "pd.DataFrame", used: Sequence[EncodedColumn], target: Array, notes: Iterable[str]
) -> OnDemand:
    """Return a raw table in these columns, missing values as 0."""

    def encode(rows: Ints) -> Array:
        part, matrix = frame.take(rows), np.empty((len(rows), len(used)), order="F")
        for j, column in enumerate(used):
            values = column.encode(part)
            matrix[:, j] = np.where(np.isnan(values), 0.0, values)
        return matrix

    return OnDemand(encode, target, tuple(column.name for column in used), tuple(notes))


def lacking(heading: str, names: Iterable[str], columns: Collection[str]) -> tuple[str, ...]:
    """Return a note with the names that are not among the columns, if any."""
    absent = [name for name in names if name not in columns]
    return (f"{heading}: {', '.join(absent)}.",) if absent else ()


Encode = Callable[["pd.DataFrame"], OnDemand]
"""From a raw table to its encoded rows."""


class DeclaredData(TableRecipe):
    """A table whose columns are declared, or its synthetic twin."""

    table_rows: ClassVar[int]
    """Rows of the real table. With ``public_overlap`` the twin has at least as many."""

    @abstractmethod
    def _read(self, path: str) -> tuple["pd.DataFrame", Encode, tuple[str, ...]]:
        """Return the raw table as it is used, what encodes it, and notes.

        Its index says where its rows stand in the file.
        """

    @abstractmethod
    def _twin(self, request: BuildRequest) -> tuple[Encoded, Sequence[object]]:
        """Return the synthetic twin, and the owner of each row where the twin knows it.

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
        """Raise where the twin cannot be split by its column; a substitute of a table is one, too.

        :meth:`own_faults` has seen only recipes without a file.
        """
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
            drawn, owners = self._twin(request)
            twin = drawn if swap is None else swap.in_table(drawn)
            return self._dataset(twin, lambda _: owners, request)
        frame, encode, notes = self._read(self.path)
        places = FileRows.from_frame(self.path, frame)
        frame = frame.set_axis(range(len(frame)))
        spec = self._renamed()
        if swap is not None:
            frame = swap.in_frame(frame, spec.split_column)
        encoded = encode(frame)
        encoded = replace(encoded, notes=(*notes, *encoded.notes))
        table = encoded if swap is None else swap.scaled(encoded)
        values_of = partial(raw_values, frame)
        return spec._dataset(table, values_of, request, source_of(self.path), places)

    def _body_rows_for(self, request: BuildRequest) -> int:
        """Return how many rows a twin without raw columns has before its public ones.

        Raises
        ------
        DataError
            On ``data.split`` where it names a column, or where rows are divided by target and
            ``data.split.rows`` is absent; on ``owners.records`` where that is absent otherwise.
        """
        self._require_split()
        if request.records is not None or not self.split.by_target:
            return self._body_rows(sum(require_records(request.records)))
        if self.split.shared_rows is None:
            rule = "allowed is a number ≥ 1: the number of rows of the synthetic twin"
            raise DataError([Fault("data.split.rows", "nothing", rule)])
        return self._body_rows(self.split.shared_rows)

    def _body_rows(self, owned: int) -> int:
        """Return how many rows the twin has before its public ones where owners hold so many."""
        if not self.public_overlap:
            return owned
        # As in the real table, whose last rows are public: owners hold some of them only if they
        # need more rows than stand before them.
        return max(max(owned, self.table_rows) - self.public_records, 0)
