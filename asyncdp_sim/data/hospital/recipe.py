"""New York's hospital discharges, real or as a synthetic twin: predict the days of a stay."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from typing_extensions import override

from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.hospital import encode_as_published, encode_plain
from asyncdp_sim.data.hospital.columns import HOSPITAL, TARGET, name_of_2015, read_discharges
from asyncdp_sim.data.hospital.twin import Encoding, twin_sizes, twin_table
from asyncdp_sim.data.tables.neighbour import Swap
from asyncdp_sim.data.tables.read import source_of
from asyncdp_sim.data.tables.splitting import ByColumn, require_records
from asyncdp_sim.data.tables.table_recipe import TableRecipe, raw_values
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.notices import Counted, Ends
from asyncdp_sim.streams import Scope, Streams

TABLE_ROWS = 36_631
"""The twin's least number of rows with ``public_overlap``: that of the table it is made from."""


class HospitalData(TableRecipe):
    """Inpatient discharges (SPARCS): features of a patient, target the length of stay (days).

    ``split = { column = "Facility Id" }`` makes every hospital an owner. Of the twin, owner i is
    hospital i with ``split = "in-order"`` too, then with n_i rows as the scenario says.

    Attributes
    ----------
    path : str, optional
        The file of a year, 2015 or later, or an extract with its columns (see
        :mod:`~asyncdp_sim.data.hospital.columns`); absent: the synthetic twin, see
        :mod:`~asyncdp_sim.data.hospital.twin`. Split by hospital it has ``owners.count`` of them,
        with at least 10,000 records each, about 25,000 on average.
    encoding : {"plain", "as-published"}
        See :mod:`~asyncdp_sim.data.hospital.encode_plain` and
        :mod:`~asyncdp_sim.data.hospital.encode_as_published`.
    """

    kind: Literal["hospital"] = "hospital"
    encoding: Encoding = "plain"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        few: Any = {"features": 2, "public_records": 200}
        return (
            cls(**few),
            cls(**few, encoding="as-published", public_overlap=True, score_on="all"),
            cls(path="sparcs.csv", **few, split=ByColumn(column=HOSPITAL, least=10)),
        )

    @override
    def says_whose(self, column: str) -> bool:
        split = TARGET if self.split.by_target else self.split_column
        return split is not None and name_of_2015(column) == name_of_2015(split)

    @property
    @override
    def unsound(self) -> str | None:
        if self.path is None or self.encoding == "plain":
            return None
        return (
            "encoding as-published of a file: rows with anything missing are dropped, so that one "
            "private cell moves all records behind it to other places, and owners"
        )

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
            return self._twin(n_owners, records, streams, swap)
        column, spec = self.split_column, self
        frame, notes = read_discharges(self.path, column)
        if column is not None and column not in frame.columns:
            named = {"column": name_of_2015(column)}
            spec = self.model_copy(update={"split": self.split.model_copy(update=named)})
        if self.encoding == "as-published":
            frame, more = encode_as_published.complete(frame)
            notes = (*notes, *more)
        frame = spec._replaced(frame, swap)
        if self.encoding == "plain":
            table = encode_plain.encode(frame, self.public_records)
        else:
            table = encode_as_published.encode(frame)
        table = replace(table, notes=(*notes, *table.notes))
        return spec._dataset(
            table if swap is None else swap.scaled(table),
            lambda column: raw_values(frame, column),
            n_owners,
            records,
            streams,
            source_of(self.path),
            swap,
        )

    def _twin(
        self,
        n_owners: int,
        records: tuple[int, ...] | None,
        streams: Streams | Scope,
        swap: Swap | None,
    ) -> Dataset:
        notes: tuple[str, ...] = ()
        column = self.split_column
        if column is not None and name_of_2015(column) != HOSPITAL:
            allowed = f"the synthetic twin has one column to split by, {HOSPITAL!r}"
            raise DataError([Fault("data.split", f"a column {column!r}", allowed)])
        if records is None:
            sizes = twin_sizes(n_owners, streams)
            notes = (
                Counted(
                    "Sizes of hospitals were drawn: {sizes} records.",
                    sizes=Ends(min(sizes), max(sizes)),
                ),
            )
        else:
            sizes = tuple(require_records(records, n_owners))
        total = sum(sizes)
        # As in the real table: owners reach the public rows only when they need so many rows.
        rows = max(total, TABLE_ROWS) if self.public_overlap else total + self.public_records
        body = max(rows - self.public_records, 0)
        drawn = _first(sizes, body)
        others = body - sum(drawn)
        table = twin_table(self.encoding, drawn, others, self.public_records, streams)
        table = replace(table, notes=(*table.notes, *notes))
        hospitals: list[object] = [i for i, n in enumerate(sizes, start=1) for _ in range(n)]
        hospitals += [None] * (len(table.target) - total)
        return self._dataset(
            table if swap is None else swap.in_table(table),
            lambda _: hospitals,
            n_owners,
            records,
            streams,
            None,
            swap,
        )


def _first(sizes: Sequence[int], rows: int) -> tuple[int, ...]:
    """Return how many of each hospital's rows are among the first ``rows`` of them all."""
    taken = []
    for n in sizes:
        taken.append(min(n, rows))
        rows -= taken[-1]
    return tuple(taken)
