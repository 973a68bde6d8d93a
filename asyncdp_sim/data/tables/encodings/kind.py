"""Encodings: what a cell of a column becomes, learned from public cells; quantities and dates."""

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Strict, model_validator
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data.dataset import FROM_PRIVATE, Array
from asyncdp_sim.data.tables.text_columns import Truths, cells, days, map_text
from asyncdp_sim.spec.base import Variant, trait
from asyncdp_sim.spec.validation import faults_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a column as numbers.

    Attributes
    ----------
    values : list of NDArray
        (rows,) each, one per encoded column; NaN where a cell is missing or does not fit.
    misfits : NDArray
        (rows,), which cells are there and do not fit.
    """

    values: list[Array]
    misfits: Truths


@dataclass(frozen=True, eq=False)
class Codes:
    """The numbers for cells of a column, with a code learned from public cells.

    Attributes
    ----------
    names : tuple of str
        Of the encoded columns.
    read : callable
        From the column, public rows and private ones, to its :class:`Cells`. A cell's numbers
        depend on that cell alone.
    unknown : tuple of float
        What stands in each encoded column for cells that are missing or do not fit.
    said : callable
        From the number of such private cells, and of those that do not fit, to a sentence, or
        None.
    coding : str, optional
        What the column became, by public cells alone.
    """

    names: tuple[str, ...]
    read: Callable[["pd.Series"], Cells]
    unknown: tuple[float, ...]
    said: Callable[[int, int], str | None]
    coding: str | None = None


class EncodingKind(Variant):
    """A way from a column of a table to numbers."""

    single: ClassVar[bool] = True
    """Whether it makes one number of a cell, as of a target."""
    as_written: ClassVar[bool]
    """It uses the text of a cell, 007 and not 7, so that a CSV's column is kept as text."""
    makes_nothing: ClassVar[bool] = False
    """No feature is made of the column."""
    labels: ClassVar[tuple[str, ...] | None] = None
    """The classes that it makes labels of; empty where public rows say, None of no labels."""

    def needs_public(self) -> str | None:
        """Return what to give where no public row is to learn from; None for nothing."""
        return None

    def faults(self, key: str, public_records: int) -> list[Fault]:
        """Return a fault where it has nothing to learn from."""
        rule = self.needs_public() if public_records == 0 else None
        return [] if rule is None else [Fault(key, f"{self.kind!r}, without public rows", rule)]

    def without_rare(self, public: "pd.Series", least: int) -> Self:
        """Return the encoding with no code of its own for what fewer public cells have."""
        return self

    @abstractmethod
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        """Return the codes of a column.

        Parameters
        ----------
        public : Series
            The public cells alone.
        name : str
            The column's.
        decimal : str
            "." or ",": what texts have before their fractions.
        """


class Measured(EncodingKind):
    """An encoding that reads quantities: a cell without one gets the public mean."""

    read_apart: ClassVar[tuple[str, ...]] = ()
    """What is read of a cell, where that is several things; their columns' names end so."""

    @abstractmethod
    def quantities(self, column: "pd.Series", decimal: str) -> Cells:
        """Return the value of each cell, read independently."""

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        means = [_mean(values) for values in self.quantities(public, decimal).values]
        public_means = tuple(value for value in means if value is not None)
        return Codes(
            names=tuple(f"{name} {part}" for part in self.read_apart) or (name,),
            read=lambda column: self.quantities(column, decimal),
            unknown=tuple(0.0 if value is None else value for value in means),
            said=lambda missing, misfits: _replaced(name, public_means, missing, misfits),
        )


def _replaced(name: str, means: Sequence[float], missing: int, misfits: int) -> str:
    """Return what private cells without a quantity became, in words."""
    if len(means) == 0:
        reason = (
            "became 0, for no public row tells how to code them: name it in data.drop, or raise "
        )
        cells = "{missing} missing values" + (", {texts} of them texts," if misfits > 0 else "")
        sentence = f"{FROM_PRIVATE}{{column}}: {cells} {reason}public_records."
        return FormattedMessage(sentence, column=name, missing=missing, texts=misfits)
    if len(means) > 1:
        sentence = FROM_PRIVATE + "{column}: {missing} missing values became the public means."
        return FormattedMessage(sentence, column=name, missing=missing)
    sentence = FROM_PRIVATE + "{column}: {missing} missing values became the public mean {mean:g}."
    return FormattedMessage(sentence, column=name, missing=missing, mean=means[0])


def by_text(column: "pd.Series", code: Callable[[str], float]) -> Cells:
    """Return one finite number for each cell by what is written in it; NaN for none."""
    values = map_text(column, code, as_written=True)
    values = np.where(np.isfinite(values), values, np.nan)
    return Cells([values], np.isnan(values) & column.notna().to_numpy())


def _mean(values: Array) -> float | None:
    numbers = values[~np.isnan(values)]
    return float(np.mean(numbers)) if len(numbers) > 0 else None


class Number(Measured):
    """Numbers; true is 1, false is 0, and a date (2020-05-17) is its days since 1970.

    A time of day is a fraction of the day: 12:00 is 0.5. A cell that is missing, infinite or not a
    number becomes the public mean (0 if no public row has a number).
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
    """Numbers with currencies, units or signs: "$44,778.08", "1.234,56 €", "120 +", "36 months".

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
    """Days since a date, or parts of a date. A cell without a date becomes the public mean."""

    as_written = True

    kind: Literal["date"] = "date"
    format: str | None = None
    since: str = "1970-01-01"
    parts: Annotated[tuple[Part, ...], Strict(False)] = ()

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        faults = []
        if len(self.since) != 10 or np.isnan(days(self.since)):
            faults.append(Fault("since", repr(self.since), "allowed is a date such as 2020-05-17"))
        if len(set(self.parts)) < len(self.parts):
            faults.append(Fault("parts", f"{list(self.parts)}", "allowed is each part once"))
        if self.format is not None and not _reads(self.format):
            rule = "allowed is a format that tells the year, such as %d.%m.%Y"
            faults.append(Fault("format", repr(self.format), rule))
        if len(faults) > 0:
            raise faults_of(faults)
        return self

    single = trait(lambda self: len(self.parts) == 0)
    read_apart = trait(lambda self: self.parts)

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
