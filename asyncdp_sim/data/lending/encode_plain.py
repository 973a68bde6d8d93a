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

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data.dataset import Array, OnDemand
from asyncdp_sim.data.declared_columns import (
    EncodedColumn,
    available,
    encoded,
    indicators,
    lacking,
    raw_columns,
    same_name,
)
from asyncdp_sim.data.lending.columns import months_since_year_zero, require_columns
from asyncdp_sim.data.tables.text_columns import map_text, number_in, numeric

if TYPE_CHECKING:
    import pandas as pd

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


def _recency(months: "pd.Series") -> Array:
    return 12.0 / (12.0 + np.maximum(numeric(months), 0.0))


def _months(dates: "pd.Series") -> Array:
    return map_text(dates, months_since_year_zero)


def _years_between(later: "pd.Series", earlier: "pd.Series") -> Array:
    return np.maximum(_months(later) - _months(earlier), 0.0) / 12.0


def _years(text: str) -> float:
    return 0.0 if text.strip().startswith("<") else number_in(text)


DECLARED = (
    *same_name(NUMBERS, numeric),
    *(EncodedColumn(f"{name}_recency", (name,), _recency) for name in RECENCIES),
    EncodedColumn("term", ("term",), partial(map_text, code=number_in)),  # months
    EncodedColumn("issue_month", ("issue_d",), lambda dates: _months(dates) - _FIRST_MONTH),
    EncodedColumn("credit_history_years", ("issue_d", "earliest_cr_line"), _years_between),
    EncodedColumn("emp_length", ("emp_length",), partial(map_text, code=_years)),
    *indicators("home_ownership", {name: (name,) for name in HOMES}),
    *indicators("verification_status", {name: (name,) for name in VERIFICATIONS}),
    *indicators("initial_list_status", {"w": ("w",)}),
    *indicators("application_type", {"joint": ("Joint App", "JOINT")}),
    *indicators("purpose", {name: (name,) for name in PURPOSES}),
    *indicators("addr_state", {name: states.split() for name, states in DIVISIONS.items()}),
)
USED = raw_columns(DECLARED)
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
