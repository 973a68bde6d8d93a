"""Any table: each column by an encoding, as declared or by what its public cells hold.

A private cell that does not fit is its own matter: its encoding says what stands in its place, and
public cells alone decide what that is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, Strict, model_validator
from typing_extensions import override

from asyncdp_sim.data.dataset import Dataset, Encoded
from asyncdp_sim.data.splits import ByColumn, InOrder, SplitKind
from asyncdp_sim.data.tables.encoded_columns import encoded, target_of
from asyncdp_sim.data.tables.encodings import Encoding, Ordinal
from asyncdp_sim.data.tables.file_form import FileForm
from asyncdp_sim.data.tables.file_rows import FileRows
from asyncdp_sim.data.tables.gathering import Gathering
from asyncdp_sim.data.tables.neighbour import Swap
from asyncdp_sim.data.tables.preprocessing import AsTheyAre
from asyncdp_sim.data.tables.read import column_names, found_form, read_table, source_of
from asyncdp_sim.data.tables.resampling import resampled
from asyncdp_sim.data.tables.table_recipe import TableRecipe, nearest, raw_values, require_column
from asyncdp_sim.data.tables.with_public import public_form, with_public_rows
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.streams import Scope, Streams

if TYPE_CHECKING:
    import pandas as pd


class TableData(TableRecipe):
    """A table from a file.

    Attributes
    ----------
    path : str
        CSV, gzipped CSV or Parquet.
    public_path : str, optional
        A file of public rows alone, with the same columns, whose last ``public_records`` are used;
        absent, public rows are the last of ``path``.
    target : str
        The column of numbers to predict. A private row without one stays, and contributes nothing.
    owner_column : str, optional
        Each distinct value is one owner; the same as ``split = { column = … }``. The column is
        not a feature.
    unit : str, optional
        The target's unit ("days"), in which errors on held-out rows are told.
    drop : list of str
        Columns that are no features; the same as ``columns = { NAME = "drop" }``.
    columns : table
        From a column to its encoding. Others are numbers, or of texts a dictionary, as their public
        cells show.
    separator : {",", ";", tab, "|"}, optional
        What stands between the cells of a CSV; absent, as its header and public rows show.
    decimal : {".", ","}, optional
        What stands before fractions in a CSV; absent, as its public rows show.
    charset : {"utf-8", "utf-16", "cp1252"}, optional
        By which bytes of a CSV are text; absent, as its header and public rows show.
    resampled : bool
        Whether every private row is one that is drawn from the public rows, with replacement, from
        the stream ``("data", "resampled")``: of the private rows no more is used than whose they
        are. Owners are then alike but for their numbers of records.
    """

    twin_words = "rows drawn from the table's public ones, as if all owners were alike"

    kind: Literal["table"] = "table"
    path: str
    public_path: str | None = None
    target: str
    owner_column: str | None = None
    unit: str | None = None
    drop: Annotated[tuple[str, ...], Strict(False)] = ()
    columns: dict[str, Encoding] = Field(default={})
    separator: Literal[",", ";", "\t", "|"] | None = None
    decimal: Literal[".", ","] | None = None
    charset: Literal["utf-8", "utf-16", "cp1252"] | None = None
    resampled: bool = False

    def __hash__(self) -> int:
        return hash(self.model_dump_json())  # columns are a table, which has no hash

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        asked: Any = {"path": "table.csv", "target": "y", "features": 2}
        form: Any = {"separator": ";", "decimal": ",", "charset": "cp1252"}
        return (
            cls(**asked, public_records=9),
            cls(**asked, public_records=0, preprocessing=AsTheyAre(), owner_column="who"),
            cls(**asked, public_records=9, split=ByColumn(column="who"), drop=("z",)),
            cls(**asked, public_records=9, public_path="public.csv", **form),
            cls(**asked, public_records=9, columns={"x": Ordinal()}, unit="days"),
        )

    @property
    @override
    def origin(self) -> str:
        return f"table {Path(self.path).name}"

    @property
    @override
    def target_unit(self) -> str | None:
        return self.unit

    @property
    @override
    def synthetic(self) -> bool:
        return self.resampled

    @property
    @override
    def public_file(self) -> str:
        return self.path if self.public_path is None else self.public_path

    @property
    @override
    def split_column(self) -> str | None:
        return self.split.of_column if self.owner_column is None else self.owner_column

    @property
    @override
    def target_column(self) -> str:
        return self.target

    @override
    def twin(self) -> Self | None:
        if self.public_records == 0:
            return None
        return self.model_copy(update={"resampled": True})

    @model_validator(mode="after")
    def _fits(self) -> Self:
        found = list(self._faults())
        if len(found) > 0:
            raise faults_of(found)
        return self

    def _faults(self) -> Iterator[Fault]:
        """Yield what does not fit together, before any file is read."""
        if self.owner_column is not None and self.split not in (
            InOrder(),  # the default: not a contradiction
            ByColumn(column=self.owner_column),
        ):
            allowed = f"allowed is nothing beside owner_column = {self.owner_column!r}"
            yield Fault("split", str(self.model_dump()["split"]), allowed)
        if self.public_path is not None and self.public_overlap:
            allowed = (
                "allowed is false with public_path: rows of a file of their own are no owner's"
            )
            yield Fault("public_overlap", "true", allowed)
        for name, encoding in self.columns.items():
            key = f"columns.{name}"
            yield from encoding.faults(key, self.public_records)
            if name in self.drop:
                yield Fault(key, repr(encoding.kind), "allowed is nothing: data.drop names it")
            if name == self.split_column:
                yield Fault(key, repr(encoding.kind), "allowed is nothing: it says whose rows are")
            if name == self.target and not encoding.single:
                allowed = "allowed for the target is an encoding that makes one number of a cell"
                yield Fault(key, repr(encoding.kind), allowed)

    @property
    @override
    def form(self) -> FileForm:
        declared = (self.separator, self.decimal, self.charset)
        public = self.public_records if self.public_path is None else 0
        found = found_form(self.path, public, *declared)
        if self.public_path is None or self.path.endswith(".parquet"):
            return found
        return public_form(self.public_path, found, *declared)

    @override
    def build(
        self,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        swap: Swap | None = None,
    ) -> Dataset:
        if self._by_column is not self.split:
            by_column = {"split": self._by_column}
            return self.model_copy(update=by_column).build(n_owners, records, streams, swap)
        self._require_owners(n_owners, records)
        spare = {*self._dropped, self.split.of_column} - {self.target}
        texts = [name for name, encoding in self.columns.items() if encoding.as_written]
        frame, places = with_public_rows(
            self.path, self.public_path, self.public_records, self.form, spare, texts,
            unused=self._dropped - {self.target, self.split.of_column},
        )  # fmt: skip
        key = "data.split" if self.owner_column is None else "data.owner_column"
        self._require_columns(frame, key)
        if self.resampled:
            frame = resampled(frame, self.public_records, self.split.of_column, streams)
        frame = self._replaced(frame, swap)
        gathering = Gathering()
        table = self._encoded(frame, places, gathering)
        return self._dataset(
            table if swap is None else swap.scaled(table),
            lambda column: raw_values(frame, column, key),
            n_owners,
            records,
            streams,
            None if self.resampled else source_of(self.path),
            swap,
            places,
            gathering,
        )

    @property
    @override
    def _by_column(self) -> SplitKind:
        if self.owner_column is None or self.split.of_column is not None:
            return self.split
        return ByColumn(column=self.owner_column)

    @override
    def _column(self, name: str) -> Sequence[object]:
        key = "data.split" if self.owner_column is None else "data.owner_column"
        require_column(name, column_names(self.path, form=self.form), key)
        return raw_values(read_table(self.path, wanted=name.__eq__, form=self.form), name, key)

    @property
    @override
    def _held_back(self) -> int:
        return 0 if self.public_path is not None else super()._held_back

    @property
    def _dropped(self) -> set[str]:
        """Columns of which no feature is made."""
        return {*self.drop, *(name for name, e in self.columns.items() if e.makes_nothing)}

    def _encoded(self, frame: "pd.DataFrame", places: FileRows, gathering: Gathering) -> Encoded:
        """Return the table as numbers, with targets of 0 where they are wrong."""
        first_public = max(len(frame) - self.public_records, 0)
        how = (self.columns, first_public, self.form.decimal)
        excluded = {self.target, *self._dropped, self.split.of_column}
        names = [name for name in frame.columns if name not in excluded]
        target = np.zeros(len(frame))
        with gathering:
            target = target_of(frame, self.target, places, *how)
        matrix, made, notes = encoded(frame, names, *how)
        if len(made) == 0:
            allowed = "at least one must be a feature"
            gathering.add([Fault("data.drop", "all columns", allowed)])
            gathering.end()
        return Encoded(matrix, target, made, notes)

    def _require_columns(self, frame: "pd.DataFrame", split_key: str) -> None:
        """Refuse columns that are not there."""
        wanted = [("data.target", self.target), *(("data.drop", name) for name in self.drop)]
        wanted += [(f"data.columns.{name}", name) for name in self.columns]
        if self.split.of_column is not None:
            wanted.append((split_key, self.split.of_column))
        faults = [
            Fault(key, f"a column {name!r}", nearest(name, list(frame.columns)))
            for key, name in wanted
            if name not in frame.columns
        ]
        if faults:
            raise DataError(faults)
