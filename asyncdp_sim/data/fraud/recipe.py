"""ULB's credit card transactions, real or as a synthetic twin: tell frauds from genuine ones."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Encoded
from asyncdp_sim.data.declared.recipe import NO_COLUMNS, DeclaredData, Encode
from asyncdp_sim.data.declared.twin import Encoding
from asyncdp_sim.data.fraud.columns import (
    FEATURES,
    T,
    require_columns,
    transactions,
    with_log_amount,
)
from asyncdp_sim.data.fraud.twin import TABLE_ROWS, twin_table
from asyncdp_sim.data.splits import ValuesOf
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope, Streams

if TYPE_CHECKING:
    import pandas as pd


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
