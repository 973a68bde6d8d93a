"""Any table: each column by an encoding, as declared or by what its public cells hold.

A private cell that does not fit is its own matter: its encoding says what stands in its place, and
public cells alone decide what that is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, Strict
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.specification import trait
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.words import key_of
from asyncdp_sim.data import splits, surrogates
from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.tables import encoded_columns, read
from asyncdp_sim.data.tables.column_type import ISO, forms_of
from asyncdp_sim.data.tables.encodings import Encoding, SeenClasses, spellings_in, texts_of
from asyncdp_sim.data.tables.file_form import MISSING, FileForm, charset_of
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.rows import (
    Encoded,
    FileRows,
    Swap,
    nearest,
    raw_values,
    require_column,
)
from asyncdp_sim.data.tables.table_recipe import FaultCollector, TableRecipe

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as it was read, public rows last.

    Attributes
    ----------
    frame : DataFrame
        One row per record, its columns as written.
    places : FileRows
        Where the rows stand in files.
    form : FileForm
        How the file is written.
    """

    frame: "pd.DataFrame"
    places: FileRows
    form: FileForm


class TableData(TableRecipe):
    """A table from a file."""

    # fields.toml gives the meaning, the unit and an example of every field.
    kind: Literal["table"] = "table"
    path: str
    public_path: str | None = None
    # What single columns are.
    target: str
    owner_column: str | None = None
    unit: str | None = None
    person: str | None = None
    order: str | None = None
    # What one owner, or the organiser, has where nobody has the whole table.
    own_path: str | None = None
    sizes: dict[str, Annotated[int, Field(ge=1)]] = Field(default={})
    # How columns become features.
    drop: Annotated[tuple[str, ...], Strict(False)] = ()
    columns: dict[str, Encoding] = Field(default={})
    # How the file is written; what is absent is detected in the header and public rows.
    separator: Literal[",", ";", "\t", "|"] | None = None
    decimal: Literal[".", ","] | None = None
    charset: str | None = None
    # Which rows are public: drawn by this seed, or the last ones.
    public_seed: Annotated[int | None, Field(ge=0, le=2**63 - 1)] = None
    # The words of a missing cell.
    missing: Annotated[tuple[str, ...] | None, Strict(False)] = None
    # The source of substitutes for private rows, and whether they are in use.
    stand_in: surrogates.StandIn = surrogates.PublicRows()
    from_stand_in: bool = False

    def __hash__(self) -> int:
        return hash(self.model_dump_json())  # columns are a table, which has no hash

    origin = trait(lambda self: f"table {Path(self.path).name}")
    target_unit = trait(lambda self: self.unit)
    synthetic = trait(lambda self: self.from_stand_in)
    public_file = trait(lambda self: self.path if self.public_path is None else self.public_path)
    chosen_by = trait(lambda self: self.public_seed)
    split_column = trait(
        lambda self: self.split.of_column if self.owner_column is None else self.owner_column
    )
    target_column = trait(lambda self: self.target)

    def _form(self) -> FileForm:
        charset = None if self.charset is None else charset_of(self.charset)
        declared = (self.separator, self.decimal, charset)
        if len(self.sizes) > 0 and self.public_path is not None:
            return read.found_form(self.public_path, None, *declared)
        public = self.public_records if self.public_path is None else 0
        file_form = read.found_form(self.path, public, *declared, seed=self.public_seed)
        if self.public_path is None or self.path.endswith(".parquet"):
            return file_form
        return read.public_form(self.public_path, file_form, *declared)

    form = trait(_form)
    _split_key: ClassVar[str] = trait(
        lambda self: "data.split" if self.owner_column is None else "data.owner_column"
    )

    _row_split: ClassVar[splits.SplitKind] = trait(
        lambda self: (
            self.split if self.owner_column is None else splits.ByColumn(column=self.owner_column)
        )
    )

    _held_back = trait(
        lambda self: (
            0 if self.public_overlap or self.public_path is not None else self.public_records
        )
    )

    _missing: ClassVar[tuple[str, ...]] = trait(
        lambda self: MISSING if self.missing is None else self.missing
    )
    """Words of a CSV that mean a missing cell."""

    _dropped: ClassVar[set[str]] = trait(
        lambda self: {*self.drop, *(name for name, e in self.columns.items() if e.makes_nothing)}
    )
    """Columns of which no feature is made."""

    @override
    def own_faults(self) -> Iterator[Fault]:
        """Yield what does not fit together, before any file is read."""
        yield from super().own_faults()
        by_name = splits.ByColumn(column=self.owner_column or "")
        if self.owner_column is not None and self.split not in (splits.InOrder(), by_name):
            rule = f"allowed is nothing with owner_column = {self.owner_column!r}"
            yield Fault("split", str(self.model_dump()["split"]), rule)
        if self.public_path is not None and self.public_overlap:
            rule = "allowed is false with public_path: its rows belong to no owner"
            yield Fault("public_overlap", "true", rule)
        if self.public_path is not None and self.public_seed is not None:
            rule = "allowed is nothing with public_path: its rows are the public ones"
            yield Fault("public_seed", str(self.public_seed), rule)
        if self.charset is not None:
            try:
                charset_of(self.charset)
            except ValueError as error:
                yield Fault("charset", repr(self.charset), str(error))
        if len(self.sizes) > 0 and None in (self.owner_column, self.public_path):
            rule = "allowed is nothing without data.owner_column and data.public_path"
            yield Fault("sizes", f"{len(self.sizes)} owners", rule)
        for field, column in (("person", self.person), ("order", self.order)):
            if column is not None and column in (self.target, self.split_column):
                rule = "allowed is a column that is neither the target nor the owners'"
                yield Fault(field, repr(column), rule)
        for name, encoding in self.columns.items():
            for given, rule in self._misfits(name, encoding):
                yield Fault(f"columns.{name}", given, rule)

    def _misfits(self, name: str, encoding: Encoding) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with a column's encoding: what was given, and what is allowed."""
        kind = repr(encoding.kind)
        if self.public_records == 0 and encoding.needs_public is not None:
            yield f"{kind}, without public rows", encoding.needs_public
        if name in self.drop:
            yield kind, "allowed is nothing: data.drop names it"
        if name == self.person and not encoding.makes_nothing:
            yield kind, "allowed is nothing: the column names the persons"
        if name == self.split_column:
            yield kind, "allowed is nothing: the column names the owners"
        if name == self.target and not encoding.single:
            yield kind, "allowed for the target is an encoding with one number per cell"

    _labels: ClassVar[tuple[str, ...] | None] = trait(
        lambda self: getattr(self.columns.get(self.target), "labels", None)
    )
    """The classes of the target, if it has some; empty where public rows say which."""
    _of_labels = trait(lambda self: self._labels is not None)
    classes = trait(lambda self: self._labels or ())

    uncentred = trait(
        lambda self: self.preprocessing.kind if self.preprocessing.uncentred else None
    )

    @override
    def read_for(self, labels: int, *, intercept: bool) -> Self:
        data = super().read_for(labels, intercept=intercept)
        if labels == 0 or self.public_records == 0 or self.target in self.columns:
            return data
        columns = {**self.columns, self.target: SeenClasses(kind="classes", count=labels)}
        return data.model_copy(update={"columns": columns})

    @override
    def twin(self) -> Self | None:
        if self.public_records == 0:
            return None
        return self.model_copy(update={"from_stand_in": True})

    twin_words = "rows drawn from the table's public ones"
    draws_again = trait(lambda self: self.from_stand_in)

    @override
    def build(
        self,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        swap: Swap | None = None,
    ) -> Dataset:
        request = splits.BuildRequest(n_owners, records, streams, swap)
        if self.from_stand_in:
            return self._stood_in(self._ground(), request)
        if len(self.sizes) > 0:
            rule = "allowed is asyncdp forecast, without --private; else leave data.sizes out"
            raise DataError([Fault("data.sizes", "numbers of rows, whose table is absent", rule)])
        raw, collector = self._raw_table(), FaultCollector()
        frame = raw.frame if swap is None else swap.in_frame(raw.frame, self.split_column)
        table = self._encoded(replace(raw, frame=frame), collector)
        return self._dataset(
            table if swap is None else swap.scaled(table),
            lambda column: raw_values(frame, column, self._split_key),
            request,
            read.source_of(self.path),
            raw.places,
            collector,
            persons=None if self.person is None else splits.codes_of(frame[self.person]),
            order=None if self.order is None else self._ranks(raw, frame[self.order]),
        )

    def _ranks(self, raw: RawTable, column: "pd.Series") -> Array:
        """Return how late each row is.

        Raises
        ------
        DataError
            On ``data.order``, where public cells are dates that do not sort as texts.
        """
        import pandas as pd

        name, first = str(self.order), len(column) - self.public_records
        declared, public = self.columns.get(name), column.iloc[first:]
        codes = None
        if declared is not None and declared.single:
            codes = declared.learn(public, name, raw.form.decimal)
        if codes is not None and codes.measured:
            column = pd.Series(codes.read(column).values[0])
        elif column.dtype.kind not in "iufmM":
            texts = texts_of(public)
            forms = forms_of(texts)
            padded = len({*map(len, texts)}) == 1
            if not all(form == ISO or (padded and form.startswith("%Y")) for form in forms):
                line = f'data.columns.{key_of(name)} = {{ kind = "date", format = "{forms[0]}" }}'
                problem = f"{name!r}, dates that do not sort as texts"
                raise DataError([Fault("data.order", problem, f"allowed with {line}")])
        return splits.ranks_of(column, raw.form.decimal)

    @override
    def encoder(self) -> encoded_columns.TableEncoder:
        raw, collector = self._raw_table(), FaultCollector()
        table = self._encoded(raw, collector)
        collector.end()
        first = self._first_public(len(raw.frame), collector)
        public, decimal = raw.frame.iloc[first:].reset_index(drop=True), raw.form.decimal
        texts = [name for name in public if public[name].dtype in ("category", "str")]
        public = public.astype(dict.fromkeys(texts, object))  # it shares no texts with the table
        classes = self.classes
        if self._labels == ():
            classes = tuple(spellings_in(public[self.target]))
        return encoded_columns.TableEncoder(
            public[self._feature_columns(raw.frame)],
            self.columns,
            decimal,
            (self.missing or ()) if self.path.endswith(".parquet") else self._missing,
            self._projection(*self._public(table, first, raw.places)),
            classes,
            public[self.target],
        )

    @override
    def redraws(
        self, count: int, n_owners: int, records: tuple[int, ...] | None, streams: Streams
    ) -> Iterator[Dataset]:
        ground = self._ground()
        for number in range(1, count + 1):
            stand_in = self.stand_in.model_copy(update={"redrawn": number})
            drawn = self.model_copy(update={"stand_in": stand_in})
            yield drawn._stood_in(ground, splits.BuildRequest(n_owners, records, streams.afresh()))

    @override
    def public_table(
        self, n_owners: int, records: tuple[int, ...] | None, streams: Streams
    ) -> surrogates.PublicTable | None:
        if self.public_records == 0 or self._row_split.by_target:
            return None
        ground = self._ground()
        asked = self._to_split(ground, splits.BuildRequest(n_owners, records, streams))
        knowledge, _ = ground.known(asked)
        surrogates.require_targets(knowledge)
        return surrogates.PublicTable(knowledge, ground.public, ground.projection)

    @override
    def own_rows(self, streams: Streams) -> Dataset | None:
        if self.own_path is None:
            return None
        update = {
            "path": self.own_path,
            "public_path": self.public_path or self.path,
            "split": splits.InOrder(),
            "owner_column": None,
            "own_path": None,
            "sizes": {},
            "held_out": 0.0,
            "from_stand_in": False,
        }
        data = self.model_copy(update=update)
        own = read.read_table(self.own_path, form=data.form)
        whose = [name for name in own.columns if name == self.split_column]
        data = data.model_copy(update={"drop": (*self.drop, *whose)})
        return data.build(1, (len(own),), streams)

    @override
    def owner_names(self) -> tuple[str, ...]:
        if len(self.sizes) == 0:
            return super().owner_names()
        return self._row_split.named(self._sized())

    def _sized(self) -> list[str]:
        """Return the owner of each private row, of which only the number is known."""
        return [name for name, size in self.sizes.items() for _ in range(size)]

    @override
    def _column(self, name: str) -> Sequence[object]:
        key = self._split_key
        form = self.form
        require_column(name, read.column_names(self.path, form=form), key)
        frame = read.read_table(self.path, wanted=name.__eq__, form=form, owner=name)
        rows = read.public_last(len(frame), self.public_records, self.public_seed)
        return raw_values(frame.iloc[rows], name, key)

    def _raw_table(self) -> RawTable:
        """Read the table, or its public rows alone where nobody has the whole of it."""
        form = self.form
        if len(self.sizes) > 0 and self.public_path is not None:
            public = read.read_table(self.public_path, form=form, owner=self.split_column)
            public = public.tail(self.public_records)  # its index still says where rows stood
            places = FileRows.from_frame(self.public_path, public)
            return RawTable(public.reset_index(drop=True), places, form)
        apart = {self.target, self.split_column, self.person, self.order}
        spare = {*self._dropped, self.split_column, self.person} - {self.target}
        frame, places = read.with_public_rows(
            self.path, self.public_path, self.public_records, form, spare,
            owner=self.split_column,
            unused=self._dropped - apart,
            missing=self._missing,
            seed=self.public_seed,
        )  # fmt: skip
        read.require_one_header(
            self.path, self.public_path, frame, self.public_records, form, self.public_seed
        )
        self._require_columns(frame, self._split_key)
        return RawTable(frame, places, form)

    def _ground(self) -> surrogates.Ground:
        """Return the public data that substitute rows are drawn from."""
        raw, collector = self._raw_table(), FaultCollector()
        frame = raw.frame
        first = self._first_public(len(frame), collector)
        raw_public = RawTable(
            frame.iloc[first:].reset_index(drop=True), raw.places.after(first), raw.form
        )
        persons = np.arange(len(raw_public.frame))
        if self.person is not None:
            persons = splits.codes_of(raw_public.frame[self.person])
        public = self._encoded(raw_public, collector)
        collector.end()
        projection = self._projection(*self._public(public, 0, raw_public.places))
        if len(self.sizes) > 0:
            import pandas as pd

            column = str(self.split_column)
            whose = self._sized()
            public_whose = frame[column].astype(object) if column in frame else [None] * len(frame)
            frame, first = pd.DataFrame({column: [*whose, *public_whose]}), len(whose)
        apart = self.public_path is not None
        at_the_end = not apart and self.public_seed is None
        return surrogates.Ground(
            self._row_split, frame, first, public, projection, apart, at_the_end, persons
        )

    def _stood_in(self, ground: surrogates.Ground, request: splits.BuildRequest) -> Dataset:
        """Return records with substitutes for the private ones."""
        asked = self._to_split(ground, request)
        drawn = ground.table(self.stand_in, asked, request.streams)
        table = drawn if request.swap is None else request.swap.in_table(drawn)
        projection = Projection(None, None, 0.0, ground.projection.notes)
        return self._dataset(table, asked.values_of, request, given=projection)

    def _to_split(
        self, ground: surrogates.Ground, request: splits.BuildRequest
    ) -> splits.TableToSplit:
        """Return the table to be split; nothing is known of its targets."""
        held_back = 0 if self.public_overlap else self.public_records
        unknown = np.zeros(len(ground.frame) - held_back)
        afresh = replace(request, streams=request.streams.afresh())
        values_of = partial(raw_values, ground.frame, key=self._split_key)
        return splits.TableToSplit(afresh, values_of, len(unknown), held_back, unknown, unknown)

    def _encoded(self, raw: RawTable, collector: FaultCollector) -> Encoded:
        """Return a table as numbers, with targets of 0 where they are wrong."""
        frame, places, form = raw.frame, raw.places, raw.form
        first_public = max(len(frame) - self.public_records, 0)
        options = (self.columns, first_public, form.decimal)
        target, unread, owner = np.zeros(len(frame)), tuple[str, ...](), self.split_column
        with collector.step():
            target, unread = encoded_columns.target_of(frame, self.target, places, *options, owner)
        beside = None
        if first_public > 0:  # of public rows alone, nobody is compared
            whose = None if owner is None else frame[owner]
            beside = encoded_columns.UnlikeOwners(whose, first_public)
            if not self._of_labels:  # unread targets have notes of their own
                beside.add(self.target, target, np.zeros(len(target), dtype=np.bool_))
            if first_public < len(frame):
                target[beside.without_sums(frame, places, form.decimal)] = np.nan
        public = frame[self._feature_columns(frame)].iloc[first_public:]
        codes = encoded_columns.learned(public, self.columns, form.decimal)
        matrix, notes = encoded_columns.encoded(frame, codes, first_public, beside)
        made = tuple(name for code in codes.values() for name in code.names)
        if len(made) == 0:
            rule = "at least one must be a feature"
            collector.end(Fault("data.drop", "all columns", rule))
        unlike = () if beside is None else tuple(beside.lines)
        return Encoded(matrix, target, made, (*form.renamed(), *unread, *notes), unlike)

    def _feature_columns(self, frame: "pd.DataFrame") -> list[str]:
        """Return the columns that features are made of."""
        excluded = {self.target, *self._dropped, self.split_column, self.person}
        return [name for name in frame.columns if name not in excluded]

    def _require_columns(self, frame: "pd.DataFrame", split_key: str) -> None:
        """Refuse columns that are not there."""
        wanted = [
            ("data.target", self.target),
            *(("data.drop", name) for name in self.drop),
            *((f"data.columns.{name}", name) for name in self.columns),
            (split_key, self.split_column),
            ("data.person", self.person),
            ("data.order", self.order),
        ]
        faults = [
            Fault(key, f"a column {name!r}", nearest(name, list(frame.columns)))
            for key, name in wanted
            if name is not None and name not in frame.columns
        ]
        if faults:
            raise DataError(faults)
