"""Hand-made discharges in SPARCS's columns of 2015, and where real ones lie when at hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

REAL = Path(__file__).parents[4] / "shared" / "data" / "sparcs_2020_musculoskeletal_37k.parquet"
needs_real = pytest.mark.skipif(not REAL.exists(), reason="the real table is not at hand")

ONE = {
    "Health Service Area": "Western NY",
    "Facility Id": 66.0,
    "Facility Name": "A Hospital",
    "Age Group": "30 to 49",
    "Zip Code - 3 digits": "147",
    "Gender": "F",
    "Race": "White",
    "Ethnicity": "Not Span/Hispanic",
    "Length of Stay": "5",
    "Type of Admission": "Emergency",
    "Patient Disposition": "Home or Self Care",
    "CCS Diagnosis Code": 127,
    "CCS Procedure Code": 0,
    "APR DRG Code": 140,
    "APR MDC Code": 4,
    "APR Severity of Illness Description": "Major",
    "APR Risk of Mortality": "Moderate",
    "APR Medical Surgical Description": "Medical",
    "Payment Typology 1": "Medicare",
    "Emergency Department Indicator": "Y",
    "Total Costs": "$10309.98",
}
TWO = {
    **ONE,
    "Facility Id": 4.0,
    "Age Group": "0 to 17",
    "Gender": "M",
    "Race": "Multi-racial",
    "Ethnicity": "Unknown",
    "Length of Stay": "120 +",
    "Type of Admission": "Newborn",
    "CCS Diagnosis Code": 2,
    "CCS Procedure Code": 222,
    "APR DRG Code": 720,
    "APR MDC Code": 18,
    "APR Severity of Illness Description": "Minor",
    "APR Risk of Mortality": "Extreme",
    "APR Medical Surgical Description": "Surgical",
    "Payment Typology 1": "Medicaid",
    "Emergency Department Indicator": "N",
}
THREE = {
    **ONE,
    "Facility Id": 4.0,
    "Age Group": "70 or Older",
    "Gender": "U",
    "Race": "Martian",
    "Length of Stay": "3",
    "Type of Admission": "Not Available",
    "Payment Typology 1": None,
}
RENAMED = {
    "Facility Id": "Permanent.Facility.Id",
    "Length of Stay": "los",
    "Age Group": "age",
    "CCS Diagnosis Code": "CCSR.Diagnosis.Code",
    "CCS Procedure Code": "CCSR.Procedure.Code",
    "APR DRG Code": "APR.DRG.Code",
    "APR Severity of Illness Description": "illseveritydesc",
    "APR Risk of Mortality": "deathrisk",
    "APR Medical Surgical Description": "APR.Medical.Surgical.Description",
    "Payment Typology 1": "Payment.Typology.1",
}
"""Names of 2015 as the extract has them."""


def frame(*rows: dict) -> pd.DataFrame:
    return pd.DataFrame(list(rows or (ONE, TWO, THREE)))


def many(n: int, seed: int = 0) -> pd.DataFrame:
    """Return n discharges that vary, of the hospitals 11, 12 and 13 in turn."""
    generator = np.random.default_rng(seed)
    table = pd.DataFrame([ONE] * n)
    table["Facility Id"] = 11 + np.arange(n) % 3
    table["Length of Stay"] = generator.integers(1, 30, n).astype(str)
    table["CCS Diagnosis Code"] = generator.integers(1, 9, n)
    table["APR DRG Code"] = generator.choice([140, 194, 720], n)
    table["APR MDC Code"] = generator.integers(1, 25, n)
    for name, texts in {
        "Age Group": ["18 to 29", "30 to 49", "70 or Older"],
        "Race": ["White", "Other Race"],
        "Payment Typology 1": ["Medicaid", "Medicare", "Self-Pay"],
        "APR Risk of Mortality": ["Minor", "Moderate", "Major"],
    }.items():
        table[name] = generator.choice(texts, n)
    return table
