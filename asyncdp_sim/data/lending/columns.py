"""Reading a LendingClub table: which lines are loans, and dates in their several forms."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.data.declared_columns import if_any
from asyncdp_sim.data.tables.text_columns import numeric

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
