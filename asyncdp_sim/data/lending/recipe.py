"""LendingClub's loans, real or as a synthetic twin: predict the interest rate in percent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Encoded
from asyncdp_sim.data.declared_columns import (
    NO_COLUMNS,
    DeclaredData,
    Encode,
    Encoding,
    Law,
    Twin,
    Write,
    draw,
    stored_beside,
)
from asyncdp_sim.data.lending import encode_as_published, encode_plain
from asyncdp_sim.data.lending.encode_plain import NEEDED, loan_rows, require_columns
from asyncdp_sim.data.splits import ValuesOf
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.table_recipe import Request
from asyncdp_sim.spec.validation import faults_of

if TYPE_CHECKING:
    import pandas as pd


NOTE = (
    "Synthetic twin: rows drawn from summary statistics of LendingClub's loans of 2007-2011; "
    "no real record was read."
)


def twin_table(
    encoding: Encoding,
    body_rows: int,
    public_rows: int,
    streams: Streams | Scope,
    write: Write | None = None,
) -> Encoded:
    """Draw a table: body rows, then public rows.

    Parameters
    ----------
    encoding : {"plain", "as-published"}
        Whose columns and moments to reproduce.
    body_rows, public_rows : int
        ≥ 0; from the streams ``("data", "twin")`` and ``("data", "twin", "public")``.
    streams : Streams or Scope
        The run's random streams.
    write : callable, optional
        Draws the body's rows; by the encoding's law, the same for all of them, where absent.
    """
    body, public = calibrated(encoding, "body"), calibrated(encoding, "public")
    parts = [
        (body_rows, body.write if write is None else write, ()),
        (public_rows, public.write, ("public",)),
    ]
    return draw(public.columns, parts, streams, NOTE)


@cache
def calibrated(encoding: Encoding, part: Literal["body", "public"]) -> Twin:
    """Return one of the laws that the package ships."""
    return Twin.from_json(stored_beside("asyncdp_sim.data.lending")["encodings"][encoding][part])


TABLE_ROWS = 42_535
"""Of the table that the twin is made from; after so many rows its blocks recur."""
BLOCK_ROWS = 10_000
"""Records of a bank, as published."""


@dataclass(frozen=True, eq=False)
class Drift(Law):
    """The law of rows that depends on where in the table they are.

    Attributes
    ----------
    blocks : tuple of Twin
        Laws of the table's blocks, in its order.
    """

    blocks: tuple[Twin, ...]

    @override
    def chunk(self, generator: np.random.Generator) -> list[Array]:
        """Return normals, those of no drift."""
        return self.blocks[0].chunk(generator)

    @override
    def fill(self, matrix: Array, target: Array, chunk: list[Array], first: int, row: int) -> None:
        done = 0
        while done < len(target):
            block, left = located(row + done)
            rows = slice(done, min(done + left, len(target)))
            self.blocks[block].fill(matrix[rows], target[rows], chunk, first + done, row + done)
            done = rows.stop


def located(row: int) -> tuple[int, int]:
    """Return a row's block, and how many of the block's rows are left from it on."""
    place = row % TABLE_ROWS
    block = place // BLOCK_ROWS
    return block, min((block + 1) * BLOCK_ROWS, TABLE_ROWS) - place


@cache
def drifting(encoding: Encoding) -> Drift:
    """Return the drift that the package ships."""
    stored = stored_beside("asyncdp_sim.data.lending", "drift.json")["encodings"][encoding]
    return Drift(tuple(map(Twin.from_json, stored)))


class LendingData(DeclaredData):
    """The lending table: features of a loan, target its interest rate (percent)."""

    table_rows = TABLE_ROWS
    kind: Literal["lending"] = "lending"
    path: str | None = None
    encoding: Encoding = "plain"
    drift: bool = False

    target_unit = "percentage points"

    @model_validator(mode="after")
    def _a_real_table_has_its_own_drift(self) -> Self:
        if self.drift and self.path is not None:
            rule = "allowed is false with data.path: a table that is read has a drift of its own"
            raise faults_of([Fault("drift", "true", rule)])
        return self

    target_column = "int_rate"

    @override
    def _read(self, path: str) -> tuple["pd.DataFrame", Encode, tuple[str, ...]]:
        frame, notes = read_loans(path, self._wanted_loans, self.public_records)
        if self.encoding == "plain":
            return frame, encode_plain.encode, notes
        frame, more = encode_as_published.without_deleted_row(frame)
        return frame, encode_as_published.encode, (*notes, *more)

    def _wanted_loans(self, columns: Sequence[str]) -> Callable[[str], bool]:
        used = encode_plain.USED if self.encoding == "plain" else encode_as_published.COLUMNS
        return self._wanted((*used, *NEEDED), columns)

    @override
    def _twin(self, request: Request) -> tuple[Encoded, ValuesOf]:
        rows = self._rows_in_turn(request)
        write = drifting(self.encoding).write if self.drift else None
        return twin_table(
            self.encoding, rows, self.public_records, request.streams, write
        ), NO_COLUMNS


def read_loans(
    path: str,
    wanted: Callable[[Sequence[str]], Callable[[str], bool]] | None = None,
    public_records: int = 0,
) -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return a table's lines and notes, past the notice that LoanStats files start with.

    Parameters
    ----------
    path : str
        The file.
    wanted : callable, optional
        Given the names of all columns, returns what tells which are kept; all where absent.
    public_records : int
        How many of the last loans are public.

    Raises
    ------
    DataError
        On ``data.path``.
    """
    form, columns = PLAIN, column_names(path)
    if columns[:1] != () and columns[0].startswith("Notes offered by Prospectus"):
        form = FileForm(skip=1)
        columns = column_names(path, form=form)
    require_columns(columns, NEEDED)
    kept = None if wanted is None else wanted(columns)
    return loan_rows(read_table(path, form=form, wanted=kept), public_records)
