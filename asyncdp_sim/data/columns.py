"""Reading single columns of a table: numbers, and texts that stand for numbers.

Every function takes one column as pandas holds it (numbers, texts, missing values in any of
their forms) and returns float64. The same field is published in several forms (10.65, "10.65%",
" 36 months", "120 +"); all are understood.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array, Rows, consecutive

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")


def some_rows(frame: "pd.DataFrame", rows: Rows) -> "pd.DataFrame":
    """Return the rows of these numbers, without a copy where they are consecutive."""
    if consecutive(rows):
        return frame.iloc[rows[0] : rows[-1] + 1]
    return frame.take(rows)


def number_in(text: str) -> float:
    """Return the first number in a text (" 36 months" is 36, "860xx" is 860), NaN if none."""
    found = _NUMBER.search(text)
    return float(found.group()) if found is not None else float("nan")


def number_or_nan(text: str) -> float:
    """Return a text that is a number as a whole, perhaps with a % sign; NaN for any other."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        return float("nan")


def map_text(column: "pd.Series", code: Callable[[str], float]) -> Array:
    """Return ``code`` of every value's text, worked out once per distinct value; NaN if missing."""
    codes, distinct = column.factorize()
    table = np.array([code(str(value)) for value in distinct] + [np.nan])
    return np.asarray(table[codes])  # a missing value has code −1: the last entry


def numeric(column: "pd.Series") -> Array:
    """Return a column of numbers or of texts that are numbers ("10.65%"); NaN for all else."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column) and not is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isfinite(values), values, np.nan)
    return map_text(column, number_or_nan)


def choose(column: "pd.Series", codes: Mapping[str, float], other: float) -> Array:
    """Return the code of every text by a fixed dictionary (case-blind), ``other`` for the rest."""
    known = {text.lower(): code for text, code in codes.items()}
    coded = map_text(column, lambda text: known.get(text.strip().lower(), other))
    return np.where(np.isnan(coded), other, coded)
