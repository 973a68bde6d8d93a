"""Columns of quantities: numbers, amounts with signs and units, and dates."""

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Strict, model_validator
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.data.tables.encodings.kind import Cells, Measured, by_text
from asyncdp_sim.data.tables.text_columns import cells, days
from asyncdp_sim.spec.base import about
from asyncdp_sim.spec.validation import faults_of

if TYPE_CHECKING:
    import pandas as pd


class Number(Measured):
    """Numbers as they are; true is 1, false 0, and a date (2020-05-17) its days since 1970.

    A time of the day is the part of it that has gone by: 12:00 is 0.5. A cell that is missing,
    infinite or no number becomes the public mean, 0 where no public row has a number.
    """

    as_written = False

    kind: Literal["number"] = "number"

    @override
    def quantities(self, column: "pd.Series", decimal: str) -> Cells:
        values, none = cells(column, decimal)
        return Cells([values], none)


_AMOUNT = re.compile(
    r"(?P<sign>[-+−]?)\s*(?:[^\W\d_]{1,3}[.\s]|[^\w\s.,+-])?\s*(?P<inner>[-+−]?)"
    r"(?P<digits>\d[\d.,'\s]*)(?:\D.*)?",
    re.DOTALL,
)
_GROUPS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Money(Measured):
    """Numbers with what people write around them: "$44,778.08", "1.234,56 €", "120 +", "36 months".

    Of a point and a comma the last one stands before the fraction. One alone does so where it is
    the table's decimal mark, or where other than three digits follow it. A cell that is missing, or
    has no such number, becomes the public mean, 0 where no public row has one.
    """

    as_written = True

    kind: Literal["money"] = "money"

    @override
    def quantities(self, column: "pd.Series", decimal: str) -> Cells:
        return by_text(column, partial(amount, decimal=decimal))


def amount(text: str, decimal: str = ".") -> float:
    """Return the number in a text that begins with one, but for a currency; NaN for any other."""
    text = text.strip()
    if decimal == "." and text.isascii() and _PLAIN.fullmatch(text) is not None:
        return float(text)
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return math.nan
    value = _pointed(re.sub(r"['\s]", "", match["digits"]).rstrip(".,"), decimal)
    return -value if "−" in (match["sign"] + match["inner"]).replace("-", "−") else value


def _pointed(digits: str, decimal: str) -> float:
    """Return digits with points and commas as a number."""
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) == 2:
        before, after = digits[: digits.rindex(marks[-1])], digits[digits.rindex(marks[-1]) + 1 :]
    elif len(marks) == 1 and (marks[0] == decimal or _GROUPS.fullmatch(digits) is None):
        before, _, after = digits.partition(marks[0])
    else:
        before, after = digits, ""
    units = before.replace(".", "").replace(",", "")
    return float(f"{units}.{after}") if (units + after).isascii() else math.nan


Part = Literal["year", "month", "day", "weekday"]
Days = Any
"""An array of days."""


class Date(Measured):
    """Days since a date, or parts of a date. A cell without one gets the public mean of each."""

    as_written = True

    kind: Literal["date"] = "date"
    format: Annotated[
        str | None,
        about(
            "How dates are written, as strptime has it; absent: 2020-05-17, with or without a time",
            example="%b-%Y",
        ),
    ] = None
    since: Annotated[
        str, about("The date, as 2020-05-17, from which days are counted", domain="a date")
    ] = "1970-01-01"
    parts: Annotated[
        tuple[Part, ...],
        Strict(False),
        about(
            "Parts of the date that are columns of their own, in place of the days; Monday is "
            "weekday 0"
        ),
    ] = ()

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        faults = []
        if _day(self.since) is None:
            faults.append(Fault("since", repr(self.since), "allowed is a date such as 2020-05-17"))
        if len(set(self.parts)) < len(self.parts):
            faults.append(Fault("parts", f"{list(self.parts)}", "allowed is each part once"))
        if self.format is not None and not _reads(self.format):
            rule = "allowed is a format that tells the year, such as %d.%m.%Y"
            faults.append(Fault("format", repr(self.format), rule))
        if len(faults) > 0:
            raise faults_of(faults)
        return self

    @property
    @override
    def single(self) -> bool:
        return len(self.parts) == 0

    @property
    @override
    def read_apart(self) -> tuple[str, ...]:
        return self.parts

    @override
    def quantities(self, column: "pd.Series", decimal: str) -> Cells:
        read = by_text(column, self._days)
        [since_1970] = read.values
        if len(self.parts) == 0:
            return Cells([since_1970 - days(self.since)], read.misfits)
        has_date = ~np.isnan(since_1970)
        when = np.floor(since_1970[has_date]).astype("datetime64[D]")
        values = []
        for part in self.parts:
            values.append(np.full(len(since_1970), np.nan))
            values[-1][has_date] = _PARTS[part](when)
        return Cells(values, read.misfits)

    def _days(self, text: str) -> float:
        """Return a text's days since 1970; NaN where it is no such date."""
        text = text.strip()
        if self.format is None:
            return days(text)
        try:
            return days(datetime.strptime(text, self.format).replace(tzinfo=None).isoformat(" "))
        except ValueError:
            return math.nan


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def _reads(form: str) -> bool:
    """Tell whether dates written in a format are read again, with their years."""
    day, alike = datetime(2021, 11, 23), datetime(2010, 11, 23)  # all but the year is the same
    if day.strftime(form) == alike.strftime(form):
        return False  # asked first: Python 3.13 warns where it reads days without a year
    try:
        return datetime.strptime(day.strftime(form), form).year == day.year
    except ValueError:
        return False


def _months(when: Days) -> Days:
    return when.astype("datetime64[M]").astype(np.int64)


_PARTS: dict[str, Callable[[Days], Days]] = {
    "year": lambda when: _months(when) // 12 + 1970,
    "month": lambda when: _months(when) % 12 + 1,
    "day": lambda when: (when - when.astype("datetime64[M]")).astype(np.int64) + 1,
    "weekday": lambda when: (when.astype(np.int64) + 3) % 7,  # 1970 began on a Thursday
}
