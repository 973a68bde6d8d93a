"""The lending table encoded as in the authors' published experiment (``as-published``).

For reproduction only: the encoding uses fields that are known only after the loan (payments,
status), and sums of character codes. One choice differs from the statement that was published:
there, the positions of missing values were zeroed as ``X[rows, columns] = 0``, the whole cross
product of every row that misses something with every column that is missing somewhere; here a
missing value alone becomes 0. It hardly matters: over the loans of 2007–2011 the published
constant 2.1536e9 of ψ·(ε n_i)² comes out as 2.9e9 with this form and 2.7e9 with the cross product.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data.dataset import OnDemand
from asyncdp_sim.data.declared_columns import EncodedColumn, available, encoded, lacking, place_in
from asyncdp_sim.data.lending.encode_plain import month_of, require_columns
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
DECLARED = tuple(
    EncodedColumn(name, (name,), _CODE.get(name, numeric_or_code_sum)) for name in COLUMNS
)


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
    used = available(DECLARED, frame.columns)
    missing = sum(int(np.isnan(column.of(frame)).sum()) for column in used)
    notes = (
        "Encoded as published: payments and status, known only after the loan, are features.",
        FormattedMessage("{missing} missing values became 0.", missing=missing),
        *lacking("Published columns that the table lacks", COLUMNS, frame.columns),
    )
    return encoded(frame, used, numeric(frame["int_rate"]), notes)
