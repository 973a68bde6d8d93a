"""LendingClub's loans, real or as a synthetic twin: predict the interest rate in percent.

``as-published`` encodes as in the authors' published experiment.
For reproduction only: the encoding uses fields that are known only after the loan (payments,
status), and sums of character codes. One choice differs from the statement that was published:
there, the positions of missing values were zeroed as ``X[rows, columns] = 0``, the whole cross
product of every row that misses something with every column that is missing somewhere; here a
missing value alone becomes 0. It hardly matters: over the loans of 2007–2011 the published
constant 2.1536e9 of ψ·(ε n_i)² comes out as 2.9e9 with this form and 2.7e9 with the cross product.

``plain`` encodes what is known when a loan is applied for. Every number comes from the row itself
and fixed lists: nothing is learned from private rows, so the encoding releases nothing.
Not used, and why:

- the outcome (loan_status, pymnt_plan, out_prncp*, total_pymnt*, total_rec_*, recoveries,
  collection_recovery_fee, last_*, next_pymnt_d, hardship*, *settlement*, deferral_term…);
- the lender's decision (funded_amnt*, policy_code, disbursement_method) and what it computes
  from the target (grade, sub_grade, installment: each nearly determines the rate);
- delinq_amnt, zero but for a few loans: an eigenvector of its own, fitted to two public rows;
- identifiers and free texts (id, member_id, url, desc, emp_title, title, zip_code);
- fields that are empty in the lender's first years (tot_coll_amt … inq_last_12m, *_joint).

Missing values become 0: no account, no event, nothing stated.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.declared_columns import (
    DeclaredData,
    Encode,
    EncodedColumn,
    Encoding,
    Twin,
    Write,
    available,
    chunks,
    draw,
    encoded,
    indicators,
    lacking,
    place_in,
    same_name,
    shipped,
)
from asyncdp_sim.data.splits import BuildRequest
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm
from asyncdp_sim.data.tables.read import column_names, read_table
from asyncdp_sim.data.tables.rows import NOTES, Encoded, OnDemand, note, note_if_any
from asyncdp_sim.data.tables.text_columns import map_text, number_in, number_or_nan, numeric

if TYPE_CHECKING:
    import pandas as pd


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_YEAR = re.compile(r"(?P<month>[a-z]{3})[a-z]*-(?P<year>\d{4}|\d{2})")
_YEAR_MONTH = re.compile(r"(?P<year>\d{2})-(?P<month>[a-z]{3})[a-z]*")
_ISO = re.compile(r"(\d{4})-(\d{2})(?:-\d{2}.*)?")
_CENTURY_PIVOT = 30  # two-digit years below it are 20xx: loans date from 2007, credit lines before


def month_of(text: str) -> tuple[int, int] | None:
    """Return (year, month) of "Dec-2011", "Dec-11", "11-Dec" or "2011-12-01"; None if neither."""
    plain = text.strip().lower()
    iso = _ISO.fullmatch(plain)
    if iso is not None:
        return int(iso[1]), int(iso[2])
    named = _MONTH_YEAR.fullmatch(plain) or _YEAR_MONTH.fullmatch(plain)
    if named is None or named["month"] not in _MONTHS:
        return None
    year = int(named["year"])
    if year < 100:
        year += 2000 if year < _CENTURY_PIVOT else 1900
    return year, _MONTHS.index(named["month"]) + 1


def months_since_year_zero(text: str) -> float:
    """Return 12·year + month − 1 of a date; NaN if the text is none."""
    year_month = month_of(text)
    return float("nan") if year_month is None else float(12 * year_month[0] + year_month[1] - 1)


def loan_rows(
    frame: "pd.DataFrame", public_records: int = 0
) -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return a table's lines, and notes on those that are no loans: titles and sums among them.

    They stay, as records without a target, which contribute nothing: were they left out, a loan
    that lost its interest rate would move every other. But the sums at a file's end are dropped
    where the last loan is public, for then no private record has a say in it.

    Raises
    ------
    DataError
        On ``data.path``, when the table has no target or not one loan.
    """
    require_columns(frame.columns, NEEDED)
    rates = ~np.isnan(numeric(frame["int_rate"]))
    if not (rates & ~np.isnan(numeric(frame["loan_amnt"]))).any():
        rule = "no row has both a number in int_rate and one in loan_amnt"
        raise DataError([Fault("data.path", f"a table of {len(frame)} rows", rule)])
    end = int(np.flatnonzero(rates)[-1]) + 1 if public_records > 0 else len(frame)
    not_loans = int(np.count_nonzero(~rates[:end]))
    return frame.iloc[:end], (
        *note_if_any("lending-behind", lines=len(frame) - end),
        *note_if_any("lending-no-loans", lines=not_loans),
    )


def require_columns(columns: Collection[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks columns without which it is not LendingClub's.

    Raises
    ------
    DataError
        On ``data.path``, one fault per missing column.
    """
    rule, missing = f"{_NEEDED}: {', '.join(needed)}", [n for n in needed if n not in columns]
    faults = [Fault("data.path", f"a table without a column {name!r}", rule) for name in missing]
    if faults:
        raise DataError(faults)


NEEDED = ("int_rate", "loan_amnt")
_NEEDED = "allowed is a LendingClub loan table, with at least the columns"


_KNOWN = shipped("lending_columns.toml")
_PLAIN, _PUBLISHED = _KNOWN["plain"], _KNOWN["as-published"]
_FIRST_MONTH = 12 * 2007.0  # LendingClub's first year
_months = partial(map_text, code=months_since_year_zero)


DECLARED = (
    *same_name(_PLAIN["numbers"], numeric),
    *(
        EncodedColumn(f"{n}_recency", (n,), lambda c: 12.0 / (12.0 + np.maximum(numeric(c), 0.0)))
        for n in _PLAIN["recencies"]
    ),
    EncodedColumn("term", ("term",), partial(map_text, code=number_in)),  # months
    EncodedColumn("issue_month", ("issue_d",), lambda dates: _months(dates) - _FIRST_MONTH),
    EncodedColumn(
        "credit_history_years",
        ("issue_d", "earliest_cr_line"),
        lambda later, earlier: np.maximum(_months(later) - _months(earlier), 0.0) / 12.0,
    ),
    EncodedColumn(
        "emp_length",
        ("emp_length",),
        partial(map_text, code=lambda t: 0.0 if t.strip().startswith("<") else number_in(t)),
    ),
    *(column for name, texts in _PLAIN["indicators"].items() for column in indicators(name, texts)),
)
USED = tuple(dict.fromkeys(name for column in DECLARED for name in column.raw))
"""The raw columns that are read, beside the target."""


def encode_plain(frame: "pd.DataFrame") -> OnDemand:
    """Encode a LendingClub table from application-time fields.

    Raises
    ------
    DataError
        On ``data.path``, when an essential column is missing.
    """
    require_columns(frame.columns, _PLAIN["required"])
    missing = sum(int(frame[name].isna().sum()) for name in USED if name in frame.columns)
    notes = (
        NOTES["lending-plain"],
        note("lending-plain-missing", missing=missing),
        *lacking("Columns missing from the table, left out", USED, frame.columns),
    )
    used = available(DECLARED, frame.columns)
    return encoded(frame, used, numeric(frame["int_rate"]), notes)


COLUMNS: tuple[str, ...] = tuple(_PUBLISHED["columns"].split())
"""The columns of the 74-column loan.csv that were used, in its order; the target is int_rate."""

FULL_TABLE_ROWS = 887_379
DELETED_ROW = 21_391  # of the full table, counted from 1 without the header

_EPOCH = np.datetime64("1970-02-01", "D")


def without_deleted_row(frame: "pd.DataFrame") -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows that were used, and notes: the full table lost one, any other none."""
    if len(frame) != FULL_TABLE_ROWS:
        return frame, ()
    frame = frame.drop(index=DELETED_ROW - 1)
    return frame, (f"Row {DELETED_ROW} was deleted, as published.",)


def numeric_or_code_sum(column: "pd.Series") -> Array:
    """Return numbers as they are and any other text as the sum of its character codes."""

    def code(text: str) -> float:
        number = number_or_nan(text)
        return float(sum(map(ord, text))) if np.isnan(number) else number

    return numeric(column) if column.dtype.kind in "iuf" else map_text(column, code)


def _years_of_employment(text: str) -> float:
    if text.strip().startswith("<"):
        return 0.0
    return number_in(text) if any(map(str.isdigit, text)) else -1.0


def _days_since_february_1970(text: str) -> float:
    year_month = month_of(text)
    if year_month is None:
        return float("nan")
    year, month = year_month
    return float((np.datetime64(f"{year:04d}-{month:02d}-01", "D") - _EPOCH).astype(int))


_CODE: dict[str, Callable[["pd.Series"], Array]] = {
    **dict.fromkeys(
        _PUBLISHED["dates"],
        lambda column: np.nan_to_num(map_text(column, _days_since_february_1970)),
    ),
    **dict.fromkeys(_PUBLISHED["numbers_in_texts"], partial(map_text, code=number_in)),
    "grade": partial(map_text, code=lambda text: float("ABCDEFG".find(text.strip()[:1]))),
    "emp_length": lambda column: np.nan_to_num(map_text(column, _years_of_employment), nan=-1.0),
    **{name: partial(place_in, texts) for name, texts in _PUBLISHED["lists"].items()},
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
    require_columns(frame.columns, _PUBLISHED["required"])
    used = available(PUBLISHED, frame.columns)
    missing = sum(int(np.isnan(column.encode(frame)).sum()) for column in used)
    notes = (
        NOTES["lending-published"],
        note("lending-published-missing", missing=missing),
        *lacking("Published columns that the table lacks", COLUMNS, frame.columns),
    )
    return encoded(frame, used, numeric(frame["int_rate"]), notes)


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
    return draw(public.columns, parts, streams, NOTES["lending-twin"])


@cache
def calibrated(encoding: Encoding, part: Literal["body", "public"]) -> Twin:
    """Return one of the laws that the package ships."""
    return Twin.from_json(shipped("lending_twin.json")["encodings"][encoding][part])


TABLE_ROWS = 42_535
"""Of the table that the twin is made from; after so many rows its blocks recur."""
BLOCK_ROWS = 10_000
"""Records of a bank, as published."""


def located(row: int) -> tuple[int, int]:
    """Return a row's block, and how many of the block's rows are left from it on."""
    place = row % TABLE_ROWS
    block = place // BLOCK_ROWS
    return block, min((block + 1) * BLOCK_ROWS, TABLE_ROWS) - place


@cache
def blocks_of(encoding: Encoding) -> tuple[Twin, ...]:
    """Return the laws of the table's blocks, in its order, that the package ships."""
    laws = shipped("lending_drift.json")["encodings"][encoding]
    return tuple(map(Twin.from_json, laws))


def write_drifting(
    blocks: Sequence[Twin], matrix: Array, target: Array, generator: np.random.Generator
) -> None:
    """Draw rows whose law is that of their block, from the normals of no drift."""
    for chunk in chunks(len(target)):
        normals, row = blocks[0].normals(generator), chunk.start
        while row < chunk.stop:
            block, left = located(row)
            rows = slice(row, min(row + left, chunk.stop))
            latent = blocks[block].latent(normals)[:, row - chunk.start : rows.stop - chunk.start]
            blocks[block].place(latent, matrix[rows], target[rows])
            row = rows.stop


class LendingData(DeclaredData):
    """The lending table: features of a loan, target its interest rate (percent)."""

    table_rows = TABLE_ROWS
    kind: Literal["lending"] = "lending"
    path: str | None = None
    encoding: Encoding = "plain"
    drift: bool = False

    target_unit = "percentage points"
    target_labels = ()

    @override
    def own_faults(self) -> Iterator[Fault]:
        yield from super().own_faults()
        if self.drift and self.path is not None:
            rule = "allowed is false with data.path: a table that is read has a drift of its own"
            yield Fault("drift", "true", rule)

    target_column = "int_rate"

    @override
    def _read(self, path: str) -> tuple["pd.DataFrame", Encode, tuple[str, ...]]:
        used = USED if self.encoding == "plain" else COLUMNS
        wanted = partial(self._wanted, {*used, *NEEDED})
        frame, notes = read_loans(path, wanted, self.public_records)
        if self.encoding == "plain":
            return frame, encode_plain, notes
        frame, more = without_deleted_row(frame)
        return frame, encode_as_published, (*notes, *more)

    @override
    def _twin(self, request: BuildRequest) -> tuple[Encoded, Sequence[object]]:
        rows = self._body_rows_for(request)
        write = partial(write_drifting, blocks_of(self.encoding)) if self.drift else None
        table = twin_table(self.encoding, rows, self.public_records, request.streams, write)
        return table, ()


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
