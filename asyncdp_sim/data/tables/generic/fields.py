"""The fields of any table, and what can be told of it before a file is read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, Strict, model_validator
from typing_extensions import override

from asyncdp_sim.data.splits import ByColumn, InOrder, SplitKind
from asyncdp_sim.data.stand_ins import PublicRows, StandIn
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.file_form import FileForm
from asyncdp_sim.data.tables.generic.with_public import public_form
from asyncdp_sim.data.tables.read import found_form
from asyncdp_sim.data.tables.table_recipe import TableRecipe
from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.spec import about


class GenericFields(TableRecipe):
    """The fields of a table from a file."""

    kind: str
    path: Annotated[str, about("The file: CSV, gzipped CSV or Parquet", example="loans.csv")]
    public_path: Annotated[
        str | None,
        about(
            "A file of public rows alone, with the same columns, whose last public_records are "
            "used; absent, public rows are the last of path",
            example="public.csv",
        ),
    ] = None
    target: Annotated[
        str,
        about(
            "The column of numbers to predict. A private row without one stays, and contributes "
            "nothing",
            example="rate",
        ),
    ]
    owner_column: Annotated[
        str | None,
        about(
            "Each distinct value is one owner; the same as split = { column = … }. The column is "
            "not a feature",
            example="bank",
        ),
    ] = None
    unit: Annotated[
        str | None,
        about("The target's unit, in which errors on held-out rows are told", example="days"),
    ] = None
    drop: Annotated[
        tuple[str, ...],
        Strict(False),
        about(
            'Columns that are no features; the same as columns = { NAME = "drop" }', example=["id"]
        ),
    ] = ()
    columns: Annotated[
        dict[str, Encoding],
        about(
            "From a column to its encoding. Others are numbers, or of texts a dictionary, as "
            "their public cells show",
            example={"term": "money"},
        ),
    ] = Field(default={})
    separator: Annotated[
        Literal[",", ";", "\t", "|"] | None,
        about("What stands between the cells of a CSV; absent, as its header and public rows show"),
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        about("What stands before fractions in a CSV; absent, as its public rows show"),
    ] = None
    charset: Annotated[
        Literal["utf-8", "utf-16", "cp1252"] | None,
        about("By which bytes of a CSV are text; absent, as its header and public rows show"),
    ] = None
    public_seed: Annotated[
        int | None,
        Field(ge=0, le=2**63 - 1),
        about(
            "Seed by which public rows are chosen at random among all rows of path, as where a "
            "file is sorted; absent, they are the last ones",
            "none",
            example=1,
        ),
    ] = None
    missing: Annotated[
        tuple[str, ...] | None,
        Strict(False),
        about(
            "Words of a CSV that mean a missing cell, as an empty one does, in capitals or not; "
            "in the owners' column every word is a name. Absent: NA, N/A, NaN and null",
            example=["NA", "unknown"],
        ),
    ] = None
    stand_in: Annotated[
        StandIn,
        about(
            "What is drawn in place of private rows where they may not be read, as by a forecast: "
            "public rows, or moments that owners released"
        ),
    ] = PublicRows()
    from_stand_in: Annotated[
        bool,
        about(
            "Whether the stand-in's rows are used in place of the private ones, of which no more "
            "is read than whose they are"
        ),
    ] = False

    def __hash__(self) -> int:
        return hash(self.model_dump_json())  # columns are a table, which has no hash

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
        return self.from_stand_in

    @property
    @override
    def public_file(self) -> str:
        return self.path if self.public_path is None else self.public_path

    @property
    @override
    def chosen_by(self) -> int | None:
        return self.public_seed

    @property
    @override
    def split_column(self) -> str | None:
        return self.split.of_column if self.owner_column is None else self.owner_column

    @property
    @override
    def target_column(self) -> str:
        return self.target

    @property
    @override
    def form(self) -> FileForm:
        declared = (self.separator, self.decimal, self.charset)
        last = self.public_path is None and self.public_seed is None
        public = self.public_records if last else 0
        found = found_form(self.path, public, *declared)
        if self.public_path is None or self.path.endswith(".parquet"):
            return found
        return public_form(self.public_path, found, *declared)

    @property
    def _split_key(self) -> str:
        return "data.split" if self.owner_column is None else "data.owner_column"

    @property
    @override
    def _by_column(self) -> SplitKind:
        if self.owner_column is None or self.split.of_column is not None:
            return self.split
        return ByColumn(column=self.owner_column)

    @property
    @override
    def _held_back(self) -> int:
        return 0 if self.public_path is not None else super()._held_back

    @property
    def _dropped(self) -> set[str]:
        """Columns of which no feature is made."""
        return {*self.drop, *(name for name, e in self.columns.items() if e.makes_nothing)}

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
        if self.public_path is not None and self.public_seed is not None:
            allowed = "allowed is nothing with public_path: its rows are the public ones"
            yield Fault("public_seed", str(self.public_seed), allowed)
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
