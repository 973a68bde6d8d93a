"""ULB's credit card transactions, real or as a synthetic twin: tell frauds from genuine ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Dataset, Encoded, Source, Table, frozen
from asyncdp_sim.data.fraud.columns import (
    FEATURES,
    T,
    require_columns,
    transactions,
    with_log_amount,
)
from asyncdp_sim.data.fraud.twin import TABLE_ROWS, twin_table
from asyncdp_sim.data.tables.neighbour import Swap
from asyncdp_sim.data.tables.preprocessing import PrincipalComponents
from asyncdp_sim.data.tables.read import column_names, read_table, source_of
from asyncdp_sim.data.tables.splitting import Shuffled
from asyncdp_sim.data.tables.table_recipe import TableRecipe, raw_values
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.streams import Scope, Streams


class FraudData(TableRecipe):
    """Card transactions: features V1…V28 and Amount, label 1 for a fraud and −1 for any other.

    Time is no feature. In file order frauds come in bursts, hence ``split = "shuffled"`` gives
    owners that are alike. Labels stay ±1 with every preprocessing, ``pca`` too.

    Attributes
    ----------
    path : str, optional
        ULB's creditcard.csv, or a Parquet file with such columns; absent: the synthetic twin,
        with as many rows as the owners and the public need.
    encoding : {"plain", "as-published"}
        ``plain``: log10(1 + Amount), since amounts reach 25,691 euros and a record gradient grows
        with its largest feature; ``as-published``: Amount in euros. Both leave the components as
        they are, and neither learns a scale from private rows.
    """

    kind: Literal["fraud"] = "fraud"
    encoding: Literal["plain", "as-published"] = "plain"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        few: Any = {"features": 2, "public_records": 400}
        return (
            cls(**few, split=Shuffled()),
            cls(**few, encoding="as-published", preprocessing=PrincipalComponents()),
            cls(path="creditcard.csv", **few),
        )

    @property
    @override
    def target_column(self) -> str:
        return "Class"

    @override
    def build(
        self,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        swap: Swap | None = None,
    ) -> Dataset:
        self._require_owners(n_owners, records)
        if self.path is None:
            drawn = self._scaled(self._twin(n_owners, records, streams))
            whole = drawn if swap is None else swap.in_table(drawn)
            return self._split(whole, _no_values, n_owners, records, streams, None, swap)
        columns = column_names(self.path)
        require_columns(columns)
        wanted = self._wanted((*FEATURES, "Class"), columns)
        frame = self._replaced(read_table(self.path, wanted=wanted), swap)
        table = self._scaled(transactions(frame, columns, self.public_records))
        return self._split(
            table if swap is None else swap.scaled(table),
            lambda column: raw_values(frame, column),
            n_owners,
            records,
            streams,
            source_of(self.path),
            swap,
        )

    def _twin(
        self, n_owners: int, records: tuple[int, ...] | None, streams: Streams | Scope
    ) -> Encoded:
        if self.split.of_column is not None:
            allowed = 'the synthetic twin has no raw columns; set data.path or split = "in-order"'
            raise DataError([Fault("data.split", f"a column {self.split.of_column!r}", allowed)])
        body = self._rows_of_twin(n_owners, records)
        if self.public_overlap:
            # As in the real table: owners reach the public rows only when they need so many rows.
            body = max(body, TABLE_ROWS) - self.public_records
        return twin_table(max(body, 0), self.public_records, streams)

    def _scaled(self, table: T) -> T:
        return with_log_amount(table) if self.encoding == "plain" else table

    def _split(
        self,
        table: Table,
        values_of: Callable[[str], Sequence[object]],
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        source: Source | None,
        swap: Swap | None,
    ) -> Dataset:
        data = self._dataset(table, values_of, n_owners, records, streams, source, swap)
        if not self.preprocessing.centres_targets:
            return data
        # A label is no quantity to centre.
        known = table.target[len(table.target) - self.public_records :]
        shift = known.mean()
        targets, unseen = (
            tuple(frozen(np.rint(y + shift)) for y in some)
            for some in (data.targets, data.held_out_targets)
        )
        others = data.unowned_targets
        if others is not None:
            others = frozen(np.rint(others + shift))
        return replace(
            data,
            targets=targets,
            held_out_targets=unseen,
            unowned_targets=others,
            public_targets=known,
        )


def _no_values(column: str) -> Sequence[object]:
    raise KeyError(column)  # the twin refuses a column split before this is asked
