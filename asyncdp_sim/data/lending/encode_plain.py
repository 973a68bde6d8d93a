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

from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array, OnDemand, Rows, stacked
from asyncdp_sim.data.lending.columns import months_since_year_zero, require_columns
from asyncdp_sim.data.tables.text_columns import choose, map_text, number_in, numeric, some_rows
from asyncdp_sim.notices import Counted

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


def encode(frame: "pd.DataFrame") -> OnDemand:
    """Encode a LendingClub table from application-time fields.

    Raises
    ------
    DataError
        On ``data.path``, when an essential column is missing.
    """
    require_columns(frame.columns, ESSENTIAL)
    columns = tuple(columns_of(frame.iloc[:0]))
    absent = [name for name in USED if name not in frame.columns]
    missing = sum(int(frame[name].isna().sum()) for name in USED if name in frame.columns)
    notes = [
        "Encoded from application-time fields (terms, income, credit history, purpose, division).",
        Counted(
            "{missing} missing values became 0 (nothing stated, no such event or account).",
            missing=missing,
        ),
    ]
    if absent:
        notes.append(f"Columns that the table lacks, left out: {', '.join(absent)}.")

    def encoded(rows: Rows) -> Array:
        values = columns_of(some_rows(frame, rows)).values()
        return stacked(values, len(rows), len(columns))

    return OnDemand(encoded, numeric(frame["int_rate"]), columns, tuple(notes))


_OTHERS = """term emp_length home_ownership verification_status issue_d earliest_cr_line purpose
addr_state initial_list_status application_type"""
USED = (*NUMBERS, *RECENCIES, *_OTHERS.split())
"""The raw columns that are read, beside the target."""


def columns_of(frame: "pd.DataFrame") -> dict[str, Array]:
    """Return the encoded columns by name, NaN where missing; absent columns are left out."""
    encoded: dict[str, Array] = {}
    for name in NUMBERS:
        if name in frame.columns:
            encoded[name] = numeric(frame[name])
    for name in RECENCIES:
        if name in frame.columns:
            encoded[f"{name}_recency"] = 12.0 / (12.0 + np.maximum(numeric(frame[name]), 0.0))
    issued = map_text(frame["issue_d"], months_since_year_zero)
    encoded["term"] = map_text(frame["term"], number_in)  # months
    encoded["issue_month"] = issued - _FIRST_MONTH
    if "earliest_cr_line" in frame.columns:
        opened = map_text(frame["earliest_cr_line"], months_since_year_zero)
        encoded["credit_history_years"] = np.maximum(issued - opened, 0.0) / 12.0
    if "emp_length" in frame.columns:
        encoded["emp_length"] = map_text(frame["emp_length"], _years)
    for name, values in ONE_HOT.items():
        if name in frame.columns:
            for value, members in values.items():
                codes = dict.fromkeys(members, 1.0)
                encoded[f"{name}={value}"] = choose(frame[name], codes, 0.0)
    return encoded


ONE_HOT: dict[str, dict[str, tuple[str, ...]]] = {
    "home_ownership": {value: (value,) for value in HOMES},
    "verification_status": {value: (value,) for value in VERIFICATIONS},
    "initial_list_status": {"w": ("w",)},
    "application_type": {"joint": ("Joint App", "JOINT")},
    "purpose": {value: (value,) for value in PURPOSES},
    "addr_state": {name: tuple(states.split()) for name, states in DIVISIONS.items()},
}
"""Raw column → indicator → the texts for which it is 1; a text in none of them is all zeros."""


def _years(text: str) -> float:
    return 0.0 if text.strip().startswith("<") else number_in(text)
