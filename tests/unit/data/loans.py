"""Hand-made loans in LendingClub's columns, and where the real ones lie when they are at hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.tables import table

REAL = Path(__file__).parents[4] / "shared" / "data" / "lendingclub_2007_2011.parquet"
needs_real = pytest.mark.skipif(not REAL.exists(), reason="the real table is not at hand")

ROWS = table(__file__, "loans.toml")
ONE, TWO, THREE = (ROWS["one"] | ROWS[name] for name in ("one", "two", "three"))


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
