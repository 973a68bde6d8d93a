"""The lending table encoded from what is known when a loan is applied for (``plain``).

Every number comes from the row itself and this module's constants: no dictionary, scale or
imputation is learned from private rows, so the encoding releases nothing.

Not used, and why:

- the outcome (loan_status, pymnt_plan, out_prncp*, total_pymnt*, total_rec_*, recoveries,
  collection_recovery_fee, last_*, next_pymnt_d, hardship*, *settlement*, deferral_term…);
- the lender's decision (funded_amnt*, policy_code, disbursement_method) and what it computes
  from the target (grade, sub_grade, installment: each nearly determines the rate);
- delinq_amnt, zero but for a handful of loans and thousands of dollars there: an uncentred
  eigenvector of its own, fitted to two public rows (acc_now_delinq says the same safely);
- identifiers and free texts (id, member_id, url, desc, emp_title, title, zip_code);
- fields that the lender began to publish years after its first loans (tot_coll_amt, tot_cur_bal,
  total_rev_hi_lim, open_acc_6m … inq_last_12m, the *_joint fields): empty before.

Missing values become 0: no account, no event, nothing stated.
"""

import re
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage, if_any
from asyncdp_sim.data.declared_columns import (
    EncodedColumn,
    available,
    encoded,
    indicators,
    lacking,
    same_name,
)
from asyncdp_sim.data.tables.rows import OnDemand
from asyncdp_sim.data.tables.text_columns import map_text, number_in, numeric

if TYPE_CHECKING:
    import pandas as pd

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_YEAR = re.compile(r"([a-z]{3})[a-z]*-(\d{4}|\d{2})")
_YEAR_MONTH = re.compile(r"(\d{2})-([a-z]{3})[a-z]*")
_ISO = re.compile(r"(\d{4})-(\d{2})(?:-\d{2}.*)?")
_CENTURY_PIVOT = 30  # two-digit years below it are 20xx: loans date from 2007, credit lines before


def month_of(text: str) -> tuple[int, int] | None:
    """Return (year, month) of "Dec-2011", "Dec-11", "11-Dec" or "2011-12-01"; None if neither."""
    plain = text.strip().lower()
    iso = _ISO.fullmatch(plain)
    if iso is not None:
        return int(iso[1]), int(iso[2])
    named, reverse = _MONTH_YEAR.fullmatch(plain), _YEAR_MONTH.fullmatch(plain)
    if named is not None:
        month, year = named[1], int(named[2])
    elif reverse is not None:
        month, year = reverse[2], int(reverse[1])
    else:
        return None
    if month not in _MONTHS:
        return None
    if year < 100:
        year += 2000 if year < _CENTURY_PIVOT else 1900
    return year, _MONTHS.index(month) + 1


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
        *if_any("{lines} lines behind the last loan were skipped.", lines=len(frame) - end),
        *if_any("{lines} lines without an interest rate are no loans.", lines=not_loans),
    )


def require_columns(columns: Collection[str], needed: tuple[str, ...]) -> None:
    """Refuse a table that lacks columns without which it is not LendingClub's.

    Raises
    ------
    DataError
        On ``data.path``, one fault per missing column.
    """
    faults = [
        Fault("data.path", f"a table without a column {name!r}", f"{_NEEDED}: {', '.join(needed)}")
        for name in needed
        if name not in columns
    ]
    if faults:
        raise DataError(faults)


NEEDED = ("int_rate", "loan_amnt")
_NEEDED = "allowed is a LendingClub loan table, with at least the columns"


ESSENTIAL = ("int_rate", "loan_amnt", "term", "annual_inc", "dti", "issue_d")

_NUMBERS = """loan_amnt annual_inc dti delinq_2yrs inq_last_6mths open_acc pub_rec revol_bal
revol_util total_acc collections_12_mths_ex_med acc_now_delinq chargeoff_within_12_mths
pub_rec_bankruptcies tax_liens"""
NUMBERS = tuple(_NUMBERS.split())
"""Used as they are: US dollars, percent or counts."""

RECENCIES = ("mths_since_last_delinq", "mths_since_last_record")
"""Months since an event that most never had: 12/(12 + months), in (0, 1]; 0 for never."""

HOMES = ("MORTGAGE", "OWN", "RENT")
VERIFICATIONS = ("Verified", "Source Verified")
_PURPOSES = """car credit_card debt_consolidation educational home_improvement house
major_purchase medical moving renewable_energy small_business vacation wedding"""
PURPOSES = tuple(_PURPOSES.split())
DIVISIONS = {
    "new_england": "CT ME MA NH RI VT",
    "middle_atlantic": "NJ NY PA",
    "east_north_central": "IL IN MI OH WI",
    "west_north_central": "IA KS MN MO NE ND SD",
    "south_atlantic": "DE DC FL GA MD NC SC VA WV",
    "east_south_central": "AL KY MS TN",
    "west_south_central": "AR LA OK TX",
    "mountain": "AZ CO ID MT NV NM UT WY",
    "pacific": "AK CA HI OR WA",
}
"""The nine divisions of the US Census Bureau."""

_FIRST_MONTH = 12 * 2007.0  # LendingClub's first year


_months = partial(map_text, code=months_since_year_zero)


DECLARED = (
    *same_name(NUMBERS, numeric),
    *(
        EncodedColumn(f"{n}_recency", (n,), lambda c: 12.0 / (12.0 + np.maximum(numeric(c), 0.0)))
        for n in RECENCIES
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
    *indicators("home_ownership", {name: (name,) for name in HOMES}),
    *indicators("verification_status", {name: (name,) for name in VERIFICATIONS}),
    *indicators("initial_list_status", {"w": ("w",)}),
    *indicators("application_type", {"joint": ("Joint App", "JOINT")}),
    *indicators("purpose", {name: (name,) for name in PURPOSES}),
    *indicators("addr_state", {name: states.split() for name, states in DIVISIONS.items()}),
)
USED = tuple(dict.fromkeys(name for column in DECLARED for name in column.raw))
"""The raw columns that are read, beside the target."""


def encode(frame: "pd.DataFrame") -> OnDemand:
    """Encode a LendingClub table from application-time fields.

    Raises
    ------
    DataError
        On ``data.path``, when an essential column is missing.
    """
    require_columns(frame.columns, ESSENTIAL)
    missing = sum(int(frame[name].isna().sum()) for name in USED if name in frame.columns)
    notes = (
        "Encoded from application-time fields (terms, income, credit history, purpose, division).",
        FormattedMessage(
            "{missing} missing values became 0 (nothing stated, no such event or account).",
            missing=missing,
        ),
        *lacking("Columns missing from the table, left out", USED, frame.columns),
    )
    used = available(DECLARED, frame.columns)
    return encoded(frame, used, numeric(frame["int_rate"]), notes)
