"""The fields and the last steps that all kinds of tabular data share."""

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from asyncdp_sim.data.dataset import Array, Dataset, Encoded, Source, frozen
from asyncdp_sim.data.held_out import HeldOutShare, keep_apart, said
from asyncdp_sim.data.preprocessing import Preprocessing, fit
from asyncdp_sim.data.splitting import (
    ByColumn,
    Rows,
    Split,
    owner_rows,
    require_records,
    rows_by_value,
    take,
)
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.spec import Spec
from asyncdp_sim.streams import Scope, Streams

if TYPE_CHECKING:
    import pandas as pd

Features = Annotated[int, Field(ge=1, le=100_000)]
PublicRecords = Annotated[int, Field(ge=0)]


class TableRecipe(Spec):
    """How a table of encoded rows becomes features of owners.

    Attributes
    ----------
    features : int
        p, 1…100000.
    public_records : int
        The last rows of the table, known to the learner, which fit the projection; at least
        ``features``, or 0 and more with preprocessing ``none``.
    public_overlap : bool
        Whether owners may hold public rows too (as published). Those records have ε = ∞.
    preprocessing : {"eigen-uncentred", "pca", "none"}
        See :func:`asyncdp_sim.data.preprocessing.fit`.
    split : {"in-order", "shuffled"} or {column = name}
        Which rows each owner holds.
    held_out : float
        Share of every owner's rows, in [0, 1), that is kept apart from training.
    """

    features: Features
    public_records: PublicRecords
    public_overlap: bool = False
    preprocessing: Preprocessing = "eigen-uncentred"
    split: Split = "in-order"
    held_out: HeldOutShare = 0.0

    @model_validator(mode="after")
    def _public_rows_span_the_features(self) -> Self:
        if self.preprocessing != "none" and self.public_records < self.features:
            allowed = (
                f"allowed is at least features = {self.features} "
                f'with preprocessing = "{self.preprocessing}"'
            )
            raise faults_of([Fault("public_records", str(self.public_records), allowed)])
        return self

    def _require_owners(self, n_owners: int, records: Sequence[int] | None) -> None:
        """Refuse what can be seen to be wrong before any file is read."""
        if records is not None or not isinstance(self.split, ByColumn):
            require_records(records, n_owners)

    def _dataset(
        self,
        table: Encoded,
        values_of: Callable[[str], Sequence[object]],
        n_owners: int,
        records: Sequence[int] | None,
        streams: Streams | Scope,
        source: Source | None,
    ) -> Dataset:
        """Fit on the public rows, give the owners theirs, project.

        ``values_of(column)`` returns the raw values of a column of the table, None where empty.
        """
        total = len(table.target)
        first_public = total - self.public_records
        if first_public < 0:
            allowed = f"allowed is at most {total}, the number of rows of the table"
            raise DataError([Fault("data.public_records", str(self.public_records), allowed)])
        available = total if self.public_overlap else first_public
        rows, notes = self._owners(values_of, available, n_owners, records, streams)
        projection = fit(
            self.preprocessing,
            table.matrix[first_public:],
            table.target[first_public:],
            self.features,
        )
        overlap = tuple(int(np.count_nonzero(r >= first_public)) for r in rows)
        kept, apart = keep_apart(self.held_out, [len(r) for r in rows], streams)
        notes = (
            *table.notes,
            *projection.notes,
            *notes,
            *_usage(rows, total, first_public, overlap),
            *said(kept, apart),
        )

        def projected(places: Sequence[Rows]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            some = [r[place] for r, place in zip(rows, places, strict=True)]
            return (
                tuple(frozen(projection.features(take(table.matrix, r))) for r in some),
                tuple(frozen(projection.targets(take(table.target, r))) for r in some),
            )

        features, targets = projected(kept)
        unseen_features, unseen_targets = projected(apart) if self.held_out > 0 else ((), ())
        return Dataset(
            features=features,
            targets=targets,
            columns=table.columns,
            public_rows_of_owner=overlap,
            real=source is not None,
            source=source,
            notes=notes,
            held_out_features=unseen_features,
            held_out_targets=unseen_targets,
        )

    def _owners(
        self,
        values_of: Callable[[str], Sequence[object]],
        available: int,
        n_owners: int,
        records: Sequence[int] | None,
        streams: Streams | Scope,
    ) -> tuple[list[Rows], tuple[str, ...]]:
        if isinstance(self.split, ByColumn):
            values = values_of(self.split.column)[:available]
            return rows_by_value(self.split.column, values, n_owners, records)
        public = 0 if self.public_overlap else self.public_records
        records = require_records(records, n_owners)
        return owner_rows(self.split, available, public, records, streams), ()


def raw_values(frame: "pd.DataFrame", column: str, key: str = "data.split") -> Sequence[object]:
    """Return a raw column's values, None where empty.

    Raises
    ------
    DataError
        On ``key``, naming the nearest column, when there is none of that name.
    """
    if column not in frame.columns:
        raise DataError([Fault(key, f"a column {column!r}", nearest(column, list(frame.columns)))])
    values = frame[column].astype(object)
    result: list[object] = values.where(frame[column].notna(), None).tolist()
    return result


def nearest(name: str, columns: Sequence[str]) -> str:
    """Return the text of an error about a column that is not there."""
    names = [str(c) for c in columns]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"nearest columns: {', '.join(near)}" if near else f"columns: {', '.join(names[:20])}"


def _usage(
    rows: Sequence[Rows], total: int, first_public: int, overlap: Sequence[int]
) -> tuple[str, ...]:
    notes = []
    if sum(overlap) > 0:
        notes.append(
            f"{sum(overlap)} of the {total - first_public} public rows are also owners' records: "
            "for these records epsilon is infinite."
        )
    used = sum(len(r) for r in rows)
    unused = total - used - ((total - first_public) - sum(overlap))
    if unused > 0:
        notes.append(f"{unused} of the table's {total} rows are neither owned nor public: unused.")
    return tuple(notes)
