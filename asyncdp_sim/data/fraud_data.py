"""ULB's credit card transactions, real or as a synthetic twin: tell frauds from genuine ones."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Encoded, OnDemand, Rows
from asyncdp_sim.data.declared_columns import (
    NO_COLUMNS,
    DeclaredData,
    Encode,
    EncodedColumn,
    encoded,
    if_any,
    lacking,
)
from asyncdp_sim.data.fraud_twin import COMPONENTS, TABLE_ROWS, twin_table
from asyncdp_sim.data.splits import ValuesOf
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.text_columns import cells
from asyncdp_sim.data.twin import Encoding
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope, Streams

if TYPE_CHECKING:
    import pandas as pd

FEATURES = (*COMPONENTS, "Amount")
"""The features of Collab's section IV-B: 28 principal components and the amount in euros."""


def transactions(
    frame: "pd.DataFrame",
    columns: Sequence[str] | None = None,
    public_records: int | None = None,
) -> OnDemand:
    """Return the features that a table has, in file order, and its labels, nothing scaled.

    A private cell that no transaction has becomes 0, the mean of a component and the least amount;
    one of Class makes a record without a target.

    Parameters
    ----------
    frame : pandas.DataFrame
        At least the columns that are used.
    columns : sequence of str, optional
        All columns of the file, where ``frame`` has some only.
    public_records : int, optional
        How many of the last rows are public; all of them where absent.

    Raises
    ------
    DataError
        On ``data.path``: without Class, Amount or any component, or with public cells that are
        not numbers, amounts below 0, or classes other than 0 and 1.
    """
    names = tuple(name for name in frame.columns if name in FEATURES)
    require_columns(frame.columns)
    private = 0 if public_records is None else max(len(frame) - public_records, 0)
    faults, lost = [], 0
    for name in (*names, "Class"):
        wrong = np.isnan(_numbers(name, frame[name]))
        lost += int(np.count_nonzero(wrong[:private]))
        wrong[:private] = False
        if wrong.any():
            faults.append(_bad_cell(frame[name], wrong))
    if faults:
        raise DataError(faults)
    notes = (
        *lacking("Components that the table lacks, left out", COMPONENTS, names),
        *lacking(
            "Columns that are no features", map(str, columns or frame.columns), (*names, "Class")
        ),
        *if_any(
            "{cells} private cells that no transaction has became 0, or no label in Class.",
            cells=lost,
        ),
    )
    used = [EncodedColumn(name, (name,), partial(_numbers, name)) for name in names]

    labels = 2 * _numbers("Class", frame["Class"]) - 1
    return encoded(frame, used, labels, notes)


T = TypeVar("T", Encoded, OnDemand)


def with_log_amount(table: T) -> T:
    """Return a table with log10(1 + Amount) in Amount's place."""
    amount = table.columns.index("Amount")

    def shorten(block: Array, _: Rows) -> None:
        block[:, amount] = np.log1p(block[:, amount]) / np.log(10)

    notes = (*table.notes, "Amount became log10(1 + Amount).")
    return replace(table.changed(shorten), notes=notes)


def _numbers(name: str, column: "pd.Series") -> Array:
    """Return a column's cells as numbers; NaN for what no transaction has."""
    values, _ = cells(column)
    if name == "Class":
        values[~np.isin(values, (0, 1))] = np.nan
    if name == "Amount":
        values[values < 0] = np.nan
    return values


def require_columns(columns: Collection[str]) -> None:
    """Refuse a table that lacks columns without which it is none of transactions.

    Raises
    ------
    DataError
        On ``data.path``, one fault per missing column.
    """
    allowed = "allowed is a table of card transactions with Class, Amount and some of V1 to V28"
    missing = [f"a column {name!r}" for name in ("Class", "Amount") if name not in columns]
    if not any(name in columns for name in COMPONENTS):
        missing.append("any column 'V1' to 'V28'")
    if missing:
        raise DataError([Fault("data.path", f"a table without {x}", allowed) for x in missing])


def _bad_cell(column: "pd.Series", bad: npt.NDArray[np.bool_]) -> Fault:
    """Return a fault that names the first bad cell of a column; rows count from 1."""
    row, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
    more = f" ({count} such cells in all)" if count > 1 else ""
    given = f"{str(column.iloc[row])[:40]!r} in column {column.name!r}, row {row + 1}{more}"
    allowed = {"Class": "0 (genuine) or 1 (fraud)", "Amount": "a number ≥ 0 in every row"}
    return Fault(
        "data.path", given, f"allowed is {allowed.get(str(column.name), 'a number in every row')}"
    )


class FraudData(DeclaredData):
    """Card transactions: features V1…V28 and Amount, label 1 for a fraud and −1 for any other.

    Time is no feature. In file order frauds come in bursts, hence ``split = "shuffled"`` gives
    owners that are alike. Labels stay ±1 with every preprocessing, ``pca`` too.
    """

    table_rows = TABLE_ROWS
    kind: Literal["fraud"] = "fraud"
    path: Annotated[
        str | None,
        about(
            "ULB's creditcard.csv, or a Parquet file with such columns; absent: the synthetic "
            "twin, with as many rows as the owners and the public need",
            example="fraud.csv",
        ),
    ] = None
    encoding: Annotated[
        Encoding,
        about(
            "What the amount becomes: log10(1 + Amount), since amounts reach 25,691 euros and a "
            "record gradient grows with its largest feature (plain), or euros (as-published)"
        ),
    ] = "plain"

    @property
    @override
    def target_column(self) -> str:
        return "Class"

    @override
    def _read(self, path: str) -> tuple["pd.DataFrame", Encode, tuple[str, ...]]:
        columns = column_names(path)
        require_columns(columns)
        frame = read_table(path, wanted=self._wanted((*FEATURES, "Class"), columns))
        return frame, lambda raw: self._scaled(transactions(raw, columns, self.public_records)), ()

    @override
    def _twin(
        self, n_owners: int, records: tuple[int, ...] | None, streams: Streams | Scope
    ) -> tuple[Encoded, ValuesOf]:
        rows = self._rows_in_turn(n_owners, records)
        return self._scaled(twin_table(rows, self.public_records, streams)), NO_COLUMNS

    def _scaled(self, table: T) -> T:
        return with_log_amount(table) if self.encoding == "plain" else table

    @override
    def _projection(self, rows: Array, target: Array) -> Projection:
        # A label is no quantity to centre.
        return replace(super()._projection(rows, target), target_shift=0.0)
