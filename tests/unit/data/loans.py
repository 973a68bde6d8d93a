"""Hand-made loans in LendingClub's columns, and where the real ones lie when they are at hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

REAL = Path(__file__).parents[4] / "shared" / "data" / "lendingclub_2007_2011.parquet"
needs_real = pytest.mark.skipif(not REAL.exists(), reason="the real table is not at hand")

ONE = {
    "id": "1077501",
    "member_id": 1296599,
    "loan_amnt": 5000,
    "funded_amnt": 4900,
    "funded_amnt_inv": 4975.0,
    "term": " 36 months",
    "int_rate": "10.65%",
    "installment": 162.87,
    "grade": "B",
    "sub_grade": "B2",
    "emp_title": "AIR RESOURCES BOARD",
    "emp_length": "10+ years",
    "home_ownership": "RENT",
    "annual_inc": 24000.0,
    "verification_status": "Verified",
    "issue_d": "Dec-2011",
    "loan_status": "Fully Paid",
    "pymnt_plan": "n",
    "url": "https://x",
    "desc": "words",
    "purpose": "credit_card",
    "title": "Ab",
    "zip_code": "860xx",
    "addr_state": "AZ",
    "dti": 27.65,
    "delinq_2yrs": 1.0,
    "earliest_cr_line": "Jan-1985",
    "inq_last_6mths": 1.0,
    "mths_since_last_delinq": 24.0,
    "mths_since_last_record": np.nan,
    "open_acc": 3.0,
    "pub_rec": 0.0,
    "revol_bal": 13648,
    "revol_util": "83.7%",
    "total_acc": 9.0,
    "initial_list_status": "f",
    "total_pymnt": 5863.16,
    "last_pymnt_d": "Jan-2015",
    "next_pymnt_d": np.nan,
    "application_type": "INDIVIDUAL",
    "acc_now_delinq": 0.0,
}
TWO = {
    **ONE,
    "int_rate": "7.90%",
    "term": " 60 months",
    "grade": "G",
    "sub_grade": "G5",
    "emp_length": "< 1 year",
    "home_ownership": "NONE",
    "annual_inc": np.nan,
    "verification_status": "Not Verified",
    "issue_d": "Feb-1970",
    "earliest_cr_line": np.nan,
    "loan_status": "Late",
    "purpose": "other",
    "title": np.nan,
    "zip_code": "049xx",
    "addr_state": "ME",
    "mths_since_last_delinq": np.nan,
    "revol_util": np.nan,
    "application_type": "JOINT",
}
THREE = {
    **ONE,
    "emp_length": "n/a",
    "verification_status": "Source Verified",
    "loan_status": "Current",
}


def frame(*rows: dict) -> pd.DataFrame:
    return pd.DataFrame(list(rows or (ONE, TWO, THREE)))


def many(n: int, seed: int = 0) -> pd.DataFrame:
    """Return n loans that vary, in file order marked by loan_amnt = 1000 + row."""
    generator = np.random.default_rng(seed)
    table = pd.DataFrame([ONE] * n)
    table["loan_amnt"] = 1000 + np.arange(n)
    table["annual_inc"] = generator.uniform(1e4, 9e4, n).round()
    table["dti"] = generator.uniform(0, 30, n).round(2)
    table["revol_bal"] = generator.integers(0, 9000, n)
    table["total_pymnt"] = generator.uniform(0, 9000, n).round(2)
    table["int_rate"] = generator.uniform(5, 25, n).round(2)
    table["addr_state"] = generator.choice(["AZ", "ME", "NY"], n)
    return table
