"""LendingClub's loans, real or as a synthetic twin: predict the interest rate in percent.

``as-published`` encodes as in the authors' published experiment.
For reproduction only: the encoding uses fields that are known only after the loan (payments,
status), and sums of character codes. One choice differs from the statement that was published:
there, the positions of missing values were zeroed as ``X[rows, columns] = 0``, the whole cross
product of every row that misses something with every column that is missing somewhere; here a
missing value alone becomes 0. It hardly matters: over the loans of 2007–2011 the published
constant 2.1536e9 of ψ·(ε n_i)² comes out as 2.9e9 with this form and 2.7e9 with the cross product.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.data.declared_columns import (
    NO_COLUMNS,
    DeclaredData,
    Encode,
    EncodedColumn,
    Encoding,
    Law,
    Twin,
    Write,
    available,
    draw,
    encoded,
    lacking,
    place_in,
    stored_beside,
)
from asyncdp_sim.data.lending import encode_plain
from asyncdp_sim.data.lending.encode_plain import NEEDED, loan_rows, month_of, require_columns
from asyncdp_sim.data.splits import ValuesOf
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.rows import Encoded, OnDemand
from asyncdp_sim.data.tables.table_recipe import BuildRequest
from asyncdp_sim.data.tables.text_columns import map_text, number_in, number_or_nan, numeric

if TYPE_CHECKING:
    import pandas as pd


ESSENTIAL = ("int_rate", "loan_amnt", "annual_inc", "revol_bal", "total_pymnt")

_COLUMNS = """loan_amnt funded_amnt funded_amnt_inv term installment grade sub_grade emp_length
home_ownership annual_inc verification_status issue_d loan_status pymnt_plan title zip_code
addr_state dti delinq_2yrs earliest_cr_line inq_last_6mths mths_since_last_delinq
mths_since_last_record open_acc pub_rec revol_bal revol_util total_acc initial_list_status
out_prncp out_prncp_inv total_pymnt total_pymnt_inv total_rec_prncp total_rec_int
total_rec_late_fee recoveries collection_recovery_fee last_pymnt_d last_pymnt_amnt next_pymnt_d
last_credit_pull_d collections_12_mths_ex_med mths_since_last_major_derog policy_code
application_type annual_inc_joint dti_joint verification_status_joint acc_now_delinq
tot_coll_amt tot_cur_bal open_acc_6m open_il_6m open_il_12m open_il_24m mths_since_rcnt_il
total_bal_il il_util open_rv_12m open_rv_24m max_bal_bc all_util total_rev_hi_lim inq_fi
total_cu_tl inq_last_12m"""
COLUMNS = tuple(_COLUMNS.split())
"""The columns of the 74-column loan.csv that were used, in its order; the target is int_rate."""

FULL_TABLE_ROWS = 887_379
DELETED_ROW = 21_391  # of the full table, counted from 1 without the header

_DATES = "issue_d earliest_cr_line last_pymnt_d next_pymnt_d last_credit_pull_d"
LISTS = {
    "home_ownership": ("RENT", "OWN", "MORTGAGE"),
    "verification_status": ("Verified", "Source Verified", "Not Verified"),
    "loan_status": ("Fully Paid", "Charged Off", "Current"),
    "application_type": ("INDIVIDUAL",),
}
_EPOCH = np.datetime64("1970-02-01", "D")


def without_deleted_row(frame: "pd.DataFrame") -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows that were used, and notes: the full table lost one, any other none."""
    if len(frame) != FULL_TABLE_ROWS:
        return frame, ()
    frame = frame.drop(index=DELETED_ROW - 1)
    return frame, (f"Row {DELETED_ROW} was deleted, as published.",)


def numeric_or_code_sum(column: "pd.Series") -> Array:
    """Return numbers as they are and any other text as the sum of its character codes."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column) and not is_bool_dtype(column):
        return numeric(column)
    return map_text(column, _code_sum)


def _code_sum(text: str) -> float:
    number = number_or_nan(text)
    return float(sum(map(ord, text))) if np.isnan(number) else number


def _years_of_employment(text: str) -> float:
    if text.strip().startswith("<"):
        return 0.0
    return number_in(text) if any(map(str.isdigit, text)) else -1.0


def _days_since_february_1970(text: str) -> float:
    year_month = month_of(text)
    if year_month is None:
        return float("nan")
    return float(
        (np.datetime64(f"{year_month[0]:04d}-{year_month[1]:02d}-01", "D") - _EPOCH).astype(int)
    )


_NUMBER_IN_TEXT = partial(map_text, code=number_in)
_CODE: dict[str, Callable[["pd.Series"], Array]] = {
    **dict.fromkeys(
        _DATES.split(),
        lambda column: np.nan_to_num(map_text(column, _days_since_february_1970)),
    ),
    "term": _NUMBER_IN_TEXT,
    "zip_code": _NUMBER_IN_TEXT,
    "sub_grade": _NUMBER_IN_TEXT,
    "grade": partial(map_text, code=lambda text: float("ABCDEFG".find(text.strip()[:1]))),
    "emp_length": lambda column: np.nan_to_num(map_text(column, _years_of_employment), nan=-1.0),
    **{name: partial(place_in, texts) for name, texts in LISTS.items()},
}
PUBLISHED = tuple(
    EncodedColumn(name, (name,), _CODE.get(name, numeric_or_code_sum)) for name in COLUMNS
)


def encode_as_published(frame: "pd.DataFrame") -> OnDemand:
    """Encode a LendingClub table as published.

    Parameters
    ----------
    frame : pandas.DataFrame
        Loans; those of :data:`COLUMNS` that are absent are left out and named in a note.

    Raises
    ------
    DataError
        On ``data.path``, when an essential column is missing.
    """
    require_columns(frame.columns, ESSENTIAL)
    used = available(PUBLISHED, frame.columns)
    missing = sum(int(np.isnan(column.of(frame)).sum()) for column in used)
    notes = (
        "Encoded as published: payments and status, known only after the loan, are features.",
        FormattedMessage("{missing} missing values became 0.", missing=missing),
        *lacking("Published columns that the table lacks", COLUMNS, frame.columns),
    )
    return encoded(frame, used, numeric(frame["int_rate"]), notes)


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
    target_labels = ()

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
        frame, more = without_deleted_row(frame)
        return frame, encode_as_published, (*notes, *more)

    def _wanted_loans(self, columns: Sequence[str]) -> Callable[[str], bool]:
        used = encode_plain.USED if self.encoding == "plain" else COLUMNS
        return self._wanted((*used, *NEEDED), columns)

    @override
    def _twin(self, request: BuildRequest) -> tuple[Encoded, ValuesOf]:
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
