"""New York's hospital discharges, real or as a synthetic twin: predict the days of a stay."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import Ends, FormattedMessage
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Encoded
from asyncdp_sim.data.declared_columns import (
    DeclaredData,
    Encode,
    Encoding,
    Twin,
    Write,
    draw,
    stored_beside,
)
from asyncdp_sim.data.hospital import encode_as_published, encode_plain
from asyncdp_sim.data.hospital.encode_plain import HOSPITAL, TARGET, name_of_2015, read_discharges
from asyncdp_sim.data.splits import ValuesOf, require_records
from asyncdp_sim.data.tables.table_recipe import Request
from asyncdp_sim.spec.base import trait

if TYPE_CHECKING:
    import pandas as pd

PACKAGE = "asyncdp_sim.data.hospital"
LEAST_RECORDS = 10_000


NOTE = (
    "Synthetic twin: rows drawn from summary statistics of 36,631 discharges from New York's "
    "hospitals in 2020 (SPARCS, one diagnostic category); no real record was read."
)


def twin_table(
    encoding: Encoding,
    hospitals: Sequence[int],
    other_rows: int,
    public_rows: int,
    streams: Streams | Scope,
) -> Encoded:
    """Draw a table: hospital after hospital, then rows of other hospitals, then public rows.

    Parameters
    ----------
    encoding : {"plain", "as-published"}
        Whose columns and moments to reproduce.
    hospitals : sequence of int
        Rows of hospital i = 1…N, ≥ 0; from the streams ``("data", "twin", "hospital", i)``.
    other_rows, public_rows : int
        ≥ 0, each of a hospital of its own; from the streams ``("data", "twin")`` and
        ``("data", "twin", "public")``.
    streams : Streams or Scope
        The run's random streams.
    """
    twin = calibrated(encoding)

    def write_one(matrix: Array, target: Array, generator: np.random.Generator) -> None:
        twin.of_one_group(generator).write(matrix, target, generator)

    parts: list[tuple[int, Write, tuple[str | int, ...]]] = [
        *((rows, write_one, ("hospital", i)) for i, rows in enumerate(hospitals, start=1)),
        (other_rows, twin.write, ()),
        (public_rows, twin.write, ("public",)),
    ]
    return draw(twin.columns, parts, streams, NOTE)


def twin_sizes(n_hospitals: int, streams: Streams | Scope) -> tuple[int, ...]:
    """Draw the hospitals' numbers of records, ≥ :data:`LEAST_RECORDS`.

    Hospital i's is from the stream ``("data", "twin", "hospital", i, "size")``.
    """
    quantiles = stored_beside(PACKAGE)["sizes"]
    at = np.linspace(0, 1, len(quantiles))
    sizes = []
    for i in range(1, n_hospitals + 1):
        draw = streams.generator("data", "twin", "hospital", i, "size").random()
        sizes.append(round(LEAST_RECORDS * float(np.interp(draw, at, quantiles))))
    return tuple(sizes)


@cache
def calibrated(encoding: Encoding) -> Twin:
    """Return one of the laws that the package ships."""
    return Twin.from_json(stored_beside(PACKAGE)["encodings"][encoding])


_DROPS_ROWS = (
    "encoding as-published of a file: rows with anything missing are dropped, so that one private "
    "cell moves all records behind it to other places, and owners"
)


class HospitalData(DeclaredData):
    """Inpatient discharges (SPARCS): features of a patient, target the length of stay (days).

    ``split = { column = "Facility Id" }`` makes every hospital an owner. In the twin, owner i is
    hospital i with ``split = "in-order"`` too, and has n_i rows.
    """

    table_rows = 36_631
    kind: Literal["hospital"] = "hospital"
    path: str | None = None
    encoding: Encoding = "plain"

    target_unit = "days"

    @override
    def _name_of(self, column: str) -> str:
        return name_of_2015(column)

    unsound = trait(
        lambda self: None if self.path is None or self.encoding == "plain" else _DROPS_ROWS
    )

    target_column = TARGET

    @override
    def _read(self, path: str) -> tuple["pd.DataFrame", Encode, tuple[str, ...]]:
        frame, notes = read_discharges(path, self.split_column)
        if self.encoding == "plain":
            encode = partial(encode_plain.encode, public_records=self.public_records)
            return frame, encode, notes
        frame, more = encode_as_published.complete(frame)
        return frame, encode_as_published.encode, (*notes, *more)

    @override
    def _twin(self, request: Request) -> tuple[Encoded, ValuesOf]:
        column = self.split_column
        if column is not None and name_of_2015(column) != HOSPITAL:
            rule = f"the synthetic twin has one column to split by, {HOSPITAL!r}"
            raise DataError([Fault("data.split", f"a column {column!r}", rule)])
        notes: tuple[str, ...] = ()
        if request.records is None:
            sizes = twin_sizes(request.n_owners, request.streams)
            ends = Ends(min(sizes), max(sizes))
            notes = (
                FormattedMessage("Sizes of hospitals were drawn: {sizes} records.", sizes=ends),
            )
        else:
            sizes = tuple(require_records(request.records, request.n_owners))
        total = sum(sizes)
        body = self._body_rows(total)
        drawn = _first(sizes, body)
        other_rows = body - sum(drawn)
        table = twin_table(self.encoding, drawn, other_rows, self.public_records, request.streams)
        hospitals: list[object] = [i for i, n in enumerate(sizes, start=1) for _ in range(n)]
        hospitals += [None] * (len(table.target) - total)
        return replace(table, notes=(*table.notes, *notes)), lambda _: hospitals


def _first(sizes: Sequence[int], rows: int) -> tuple[int, ...]:
    """Return how many of each hospital's rows are among the first ``rows`` of them all."""
    taken = []
    for n in sizes:
        taken.append(min(n, rows))
        rows -= taken[-1]
    return tuple(taken)
