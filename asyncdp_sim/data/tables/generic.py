"""Any table: numbers as they are, texts by a dictionary that the public rows alone decide.

Each cell has a number by itself (:func:`~asyncdp_sim.data.tables.text_columns.cell_or_nan`) or
none. A column is one of texts where a public cell has none; without public rows every column is one
of numbers. A private cell that does not fit is its own matter: the public median in a column of
numbers, 0 where no public row has one, and the dictionary's last code in a column of texts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Strict, model_validator
from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Dataset, Encoded
from asyncdp_sim.data.tables.neighbour import Swap
from asyncdp_sim.data.tables.preprocessing import AsTheyAre
from asyncdp_sim.data.tables.read import column_names, read_table, source_of
from asyncdp_sim.data.tables.splitting import ByColumn, InOrder, SplitKind
from asyncdp_sim.data.tables.table_recipe import TableRecipe, nearest, raw_values, require_column
from asyncdp_sim.data.tables.text_columns import cells
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.notices import Counted, Ends
from asyncdp_sim.streams import Scope, Streams

if TYPE_CHECKING:
    import pandas as pd


class TableData(TableRecipe):
    """A table from a file.

    Attributes
    ----------
    path : str
        CSV, gzipped CSV or Parquet.
    target : str
        The column of numbers to predict. A private row without one stays, and contributes nothing.
    owner_column : str, optional
        Each distinct value is one owner; the same as ``split = { column = … }``. The column is
        not a feature.
    drop : list of str
        Columns that are no features.
    """

    kind: Literal["table"] = "table"
    path: str
    target: str
    owner_column: str | None = None
    drop: Annotated[tuple[str, ...], Strict(False)] = ()

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        asked: Any = {"path": "table.csv", "target": "y", "features": 2}
        return (
            cls(**asked, public_records=9),
            cls(**asked, public_records=0, preprocessing=AsTheyAre(), owner_column="who"),
            cls(**asked, public_records=9, split=ByColumn(column="who"), drop=("z",)),
        )

    @property
    @override
    def origin(self) -> str:
        return f"table {Path(self.path).name}"

    @property
    @override
    def split_column(self) -> str | None:
        return self.split.of_column if self.owner_column is None else self.owner_column

    @override
    def twin(self) -> None:
        return

    @model_validator(mode="after")
    def _one_split(self) -> Self:
        if self.owner_column is not None and self.split not in (
            InOrder(),  # the default: not a contradiction
            ByColumn(column=self.owner_column),
        ):
            allowed = f"allowed is nothing beside owner_column = {self.owner_column!r}"
            raise faults_of([Fault("split", str(self.model_dump()["split"]), allowed)])
        return self

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
        frame = read_table(self.path)
        self._require_columns(frame)
        frame = self._replaced(frame, swap)
        first_public = max(len(frame) - self.public_records, 0)
        target = _target(frame, self.target, first_public)
        notes: list[str] = []
        excluded = {self.target, *self.drop}
        if self.split.of_column is not None:
            excluded.add(self.split.of_column)
        names = [name for name in frame.columns if name not in excluded]
        if len(names) == 0:
            raise DataError([Fault("data.drop", "all columns", "at least one must be a feature")])
        matrix = np.empty((len(frame), len(names)), order="F")
        for j, name in enumerate(names):
            matrix[:, j], said = _encode(frame[name], str(name), first_public)
            notes += said
        table = Encoded(matrix, target, tuple(str(n) for n in names), tuple(notes))
        key = "data.split" if self.owner_column is None else "data.owner_column"
        return self._dataset(
            table if swap is None else swap.scaled(table),
            lambda column: raw_values(frame, column, key),
            n_owners,
            records,
            streams,
            source_of(self.path),
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
        require_column(name, column_names(self.path), key)
        return raw_values(read_table(self.path, wanted=name.__eq__), name, key)

    def _require_columns(self, frame: "pd.DataFrame") -> None:
        wanted = [("data.target", self.target), *(("data.drop", name) for name in self.drop)]
        faults = [
            Fault(key, f"a column {name!r}", nearest(name, list(frame.columns)))
            for key, name in wanted
            if name not in frame.columns
        ]
        if faults:
            raise DataError(faults)


def _target(frame: "pd.DataFrame", name: str, first_public: int) -> Array:
    """Return the targets, NaN where a cell is none; what is no number is for public rows to say."""
    values, none = cells(frame[name])
    if none[first_public:].any():
        told = [c for c in frame.columns if not cells(frame[c])[1][first_public:].any()]
        allowed = f"allowed is a column of numbers; {nearest(name, told)}"
        raise DataError([Fault("data.target", f"the text column {name!r}", allowed)])
    if np.isnan(values).all():
        allowed = "allowed is a column of numbers, this one has none"
        raise DataError([Fault("data.target", f"the column {name!r}", allowed)])
    return values


def _encode(column: "pd.Series", name: str, first_public: int) -> tuple[Array, list[str]]:
    """Return one column as finite numbers, and what was done to it."""
    values, none = cells(column)
    if none[first_public:].any():
        return _by_dictionary(column, name, first_public)
    missing = np.isnan(values)
    if not missing.any():
        return values, []
    public = values[first_public:]
    public = public[~np.isnan(public)]
    count = int(np.count_nonzero(missing))
    if len(public) == 0:
        values[missing] = 0.0
        how = "became 0, for no public row tells how to code them: name it in data.drop, or raise "
        texts = int(np.count_nonzero(none))
        what = "{missing} missing values" + (", {texts} of them texts," if texts > 0 else "")
        told = f"{{column}}: {what} {how}public_records."
        return values, [Counted(told, column=name, missing=count, texts=texts)]
    median = float(np.median(public))
    values[missing] = median
    return values, [
        Counted(
            "{column}: {missing} missing values became the public median {median:g}.",
            column=name,
            missing=count,
            median=median,
        )
    ]


def _by_dictionary(column: "pd.Series", name: str, first_public: int) -> tuple[Array, list[str]]:
    texts = [None if lost else str(v) for v, lost in zip(column, column.isna(), strict=True)]
    known = sorted({text for text in texts[first_public:] if text is not None})
    codes: dict[str | None, int] = {text: code for code, text in enumerate(known)}
    unseen = len(known)
    values = np.array([codes.get(text, unseen) for text in texts], dtype=np.float64)
    count = int(np.count_nonzero(values == unseen))
    return values, [
        Counted(
            "{column}: text, coded {codes} by the sorted public values, {unseen} for missing and "
            "unseen ones ({rows} rows).",
            column=name,
            codes=Ends(0, unseen - 1),
            unseen=unseen,
            rows=count,
        )
    ]
