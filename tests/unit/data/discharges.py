"""Hand-made discharges in SPARCS's columns of 2015, and where real ones lie when at hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.tables import table

REAL = Path(__file__).parents[4] / "shared" / "data" / "sparcs_2020_musculoskeletal_37k.parquet"
needs_real = pytest.mark.skipif(not REAL.exists(), reason="the real table is not at hand")

ROWS = table(__file__, "discharges.toml")
ONE, TWO, THREE = (ROWS["one"] | ROWS[name] for name in ("one", "two", "three"))
RENAMED = ROWS["renamed"]
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
