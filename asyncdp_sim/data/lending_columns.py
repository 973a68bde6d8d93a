"""Reading single columns of a LendingClub table: numbers, dates, texts.

Every function takes one column as pandas holds it (numbers, texts, missing values in any of
their forms) and returns float64. LendingClub published the same fields in several forms (10.65,
"10.65%", " 36 months", "Dec-2011", "Dec-11"); all are understood.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.data.dataset import Array
from asyncdp_sim.errors import DataError, Fault

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_YEAR = re.compile(r"([a-z]{3})[a-z]*-(\d{4}|\d{2})")
_YEAR_MONTH = re.compile(r"(\d{2})-([a-z]{3})[a-z]*")
_ISO = re.compile(r"(\d{4})-(\d{2})(?:-\d{2}.*)?")
_CENTURY_PIVOT = 30  # two-digit years below it are 20xx: loans date from 2007, credit lines before


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
    found = month_of(text)
    return float("nan") if found is None else float(12 * found[0] + found[1] - 1)


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


def loan_rows(frame: "pd.DataFrame") -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the rows that are loans, and notes: LoanStats files hold titles and sums among them.

    Raises
    ------
    DataError
        On ``data.path``, when the table has no target or not one loan.
    """
    require_columns(frame, ("int_rate", "loan_amnt"))
    loans = ~(np.isnan(numeric(frame["int_rate"])) | np.isnan(numeric(frame["loan_amnt"])))
    others = len(frame) - int(np.count_nonzero(loans))
    if others == len(frame):
        allowed = "no row has both a number in int_rate and one in loan_amnt"
        raise DataError([Fault("data.path", f"a table of {len(frame)} rows", allowed)])
    if others == 0:
        return frame, ()
    note = f"{others} lines without an interest rate or an amount are no loans: skipped."
    return frame[loans].reset_index(drop=True), (note,)


def require_columns(frame: "pd.DataFrame", needed: tuple[str, ...]) -> None:
    """Refuse a table that lacks columns without which it is not LendingClub's.

    Raises
    ------
    DataError
        On ``data.path``, one fault per missing column.
    """
    faults = [
        Fault("data.path", f"a table without a column {name!r}", f"{_NEEDED}: {', '.join(needed)}")
        for name in needed
        if name not in frame.columns
    ]
    if faults:
        raise DataError(faults)


_NEEDED = "allowed is a LendingClub loan table, with at least the columns"
