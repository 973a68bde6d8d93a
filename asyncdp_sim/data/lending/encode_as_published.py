"""The lending table encoded as in the authors' published experiment (``as-published``).

For reproduction only: the encoding uses fields that are known only after the loan (payments,
status), and sums of character codes. One choice differs from the statement that was published:
there, the positions of missing values were zeroed as ``X[rows, columns] = 0``, the whole cross
product of every row that misses something with every column that is missing somewhere; here a
missing value alone becomes 0. It hardly matters: over the loans of 2007–2011 the published
constant 2.1536e9 of ψ·(ε n_i)² comes out as 2.9e9 with this form and 2.7e9 with the cross product.
"""

from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array, OnDemand, Rows, stacked
from asyncdp_sim.data.lending.columns import month_of, require_columns
from asyncdp_sim.data.tables.text_columns import (
    choose,
    map_text,
    number_in,
    number_or_nan,
    numeric,
    some_rows,
)
from asyncdp_sim.notices import Counted

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

_DATES = frozenset(
    {"issue_d", "earliest_cr_line", "last_pymnt_d", "next_pymnt_d", "last_credit_pull_d"}
)
_NUMBER_IN_TEXT = frozenset({"term", "zip_code"})
_CODES: dict[str, tuple[dict[str, float], float]] = {
    "home_ownership": ({"RENT": 1, "OWN": 2, "MORTGAGE": 3}, 4),
    "verification_status": ({"Verified": 1, "Source Verified": 2, "Not Verified": 3}, 4),
    "loan_status": ({"Fully Paid": 1, "Charged Off": 2, "Current": 3}, 4),
    "application_type": ({"INDIVIDUAL": 1}, 2),
}
_EPOCH = np.datetime64("1970-02-01", "D")


def encode(frame: "pd.DataFrame") -> OnDemand:
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
    notes = ["Encoded as published: payments and status, known only after the loan, are features."]
    used = tuple(name for name in COLUMNS if name in frame.columns)
    missing = sum(int(np.isnan(column_as_published(name, frame[name])).sum()) for name in used)
    notes.append(Counted("{missing} missing values became 0.", missing=missing))
    absent = [name for name in COLUMNS if name not in used]
    if absent:
        notes.append(f"Published columns that the table lacks: {', '.join(absent)}.")

    def encoded(rows: Rows) -> Array:
        part = some_rows(frame, rows)
        values = (column_as_published(name, part[name]) for name in used)
        return stacked(values, len(rows), len(used))

    return OnDemand(encoded, numeric(frame["int_rate"]), used, tuple(notes))


def without_deleted_row(frame: "pd.DataFrame") -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows that were used, and notes: the full table lost one, any other none."""
    if len(frame) != FULL_TABLE_ROWS:
        return frame, ()
    frame = frame.drop(index=DELETED_ROW - 1).reset_index(drop=True)
    return frame, (f"Row {DELETED_ROW} was deleted, as published.",)


def column_as_published(name: str, column: "pd.Series") -> Array:
    """Encode one column; NaN where the value is missing and was not given a number."""
    if name in _DATES:
        days = map_text(column, _days_since_february_1970)
        return np.where(np.isnan(days), 0.0, days)
    if name in _CODES:
        return choose(column, *_CODES[name])
    if name in _NUMBER_IN_TEXT:
        return map_text(column, number_in)
    if name == "grade":
        return map_text(column, lambda text: float("ABCDEFG".find(text.strip()[:1])))
    if name == "sub_grade":
        return map_text(column, number_in)
    if name == "emp_length":
        years = map_text(column, _years_of_employment)
        return np.where(np.isnan(years), -1.0, years)
    return numeric_or_code_sum(column)


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
    found = month_of(text)
    if found is None:
        return float("nan")
    return float((np.datetime64(f"{found[0]:04d}-{found[1]:02d}-01", "D") - _EPOCH).astype(int))
