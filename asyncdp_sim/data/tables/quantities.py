"""Encodings of quantities: numbers, amounts and dates; and the base of all encodings."""

import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, Strict
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.specification import Variant, trait
from asyncdp_sim.data.tables.amounts import Amount, notation_of
from asyncdp_sim.data.tables.rows import FROM_PRIVATE
from asyncdp_sim.data.tables.text_columns import cells, days, kinds_in, map_text, with_mark, written

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
    misfits: Bools


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
        From the number of such private cells, and of those that do not fit, to a sentence. None
        where nothing is said of them.
    coding : str, optional
        What the column became, by public cells alone.
    measured : bool
        Whether the first encoded column is a quantity.
    """

    names: tuple[str, ...]
    read: Callable[["pd.Series"], Cells]
    unknown: tuple[float, ...]
    said: Callable[[int, int], str] | None = None
    coding: str | None = None
    measured: bool = False


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

    needs_public: ClassVar[str | None] = None
    """What to give where no public row is to learn from; None for nothing."""

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
    unread: ClassVar[str] = "numbers"
    """As what cells are read, in words."""

    @abstractmethod
    def reader(self, public: "pd.Series", decimal: str) -> Callable[["pd.Series"], Cells]:
        """Return what reads the value of each cell independently, as public cells show."""

    def shown(self, value: float) -> str:
        """Return a value of the first column as a person reads it."""
        return f"{value:.10g}" if float(value).is_integer() else f"{value:.6g}"

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        read = self.reader(public, decimal)
        means = _means(read(public).values)
        return Codes(
            names=tuple(f"{name} {part}" for part in self.read_apart) or (name,),
            read=read,
            unknown=tuple(np.nan_to_num(means).tolist()),
            said=partial(_replaced, name, means[~np.isnan(means)].tolist(), self.unread),
            measured=True,
        )


def _replaced(name: str, means: Sequence[float], unread: str, missing: int, misfits: int) -> str:
    """Return what private cells without a quantity became, in words."""
    fields: dict[str, Any] = {"column": name, "missing": missing}
    became, end = "the public means", "."
    if len(means) == 0:
        became = "0, for no public row tells how to code them"
        end = ": name it in data.drop, or raise public_records."
    elif len(means) == 1:
        became, fields["mean"] = "the public mean {mean:g}", means[0]
    if misfits > 0:
        became += f", {{misfits}} cells that cannot be read as {unread} among them"
        fields["misfits"] = misfits
    sentence = f"{FROM_PRIVATE}{{column}}: {{missing}} missing values became {became}{end}"
    return FormattedMessage(sentence, **fields)


def by_text(column: "pd.Series", code: Callable[[str], float]) -> Cells:
    """Return one finite number for each cell by what is written in it; NaN for none."""
    values = map_text(column, code, as_written=True)
    values = np.where(np.isfinite(values), values, np.nan)
    return Cells([values], np.isnan(values) & column.notna().to_numpy())


def _means(columns: Sequence[Array]) -> Array:
    """Return the mean of each column's numbers; NaN where it has none."""
    numbers = [values[~np.isnan(values)] for values in columns]
    return np.array([np.mean(column) if len(column) > 0 else np.nan for column in numbers])


class Number(Measured):
    """Numbers; true is 1, false is 0, and a date (2020-05-17) is its days since 1970.

    A time of day is a fraction of the day: 12:00 is 0.5. Most public cells show which of these a
    column holds: a date among numbers is none of them. A cell that is missing, infinite or not a
    number becomes the public mean (0 if no public row has a number).
    """

    as_written = False

    kind: Literal["number"] = "number"

    @override
    def reader(self, public: "pd.Series", decimal: str) -> Callable[["pd.Series"], Cells]:
        kinds = kinds_in(public, decimal)

        def read(column: "pd.Series") -> Cells:
            values, none = cells(column, decimal, kinds)
            return Cells([values], none)

        return read


class Money(Measured):
    """Amounts with currencies, units or signs: "$44,778.08", "(1.234,56 €)", "120+", "36 months".

    Public cells show the notation: one decimal mark, one currency or unit, groups of three digits,
    parentheses or a trailing minus for negative amounts, multipliers such as k and M, units of one
    dimension (which are converted), flags behind numbers. Bounds, such as <5 or 90+, are read as
    the bound. A column of 0 and 1 is added where public cells hold bounds, and for each flag. A
    cell that is missing, or that this notation does not read as a whole, becomes the public mean, 0
    where no public row has an amount.
    """

    as_written = True

    kind: Literal["money"] = "money"
    decimal: Literal[".", ","] | None = None
    factors: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(default={})
    least: Annotated[int, Field(ge=1)] = 1

    @override
    def __hash__(self) -> int:
        return hash((self.kind, self.decimal, tuple(self.factors.items()), self.least))

    @override
    def without_rare(self, public: "pd.Series", least: int) -> Self:
        extra = len(self.learn(public, "", ".").names) - 1
        return self.model_copy(update={"least": max(least, self.least)}) if extra > 0 else self

    @override
    def reader(self, public: "pd.Series", decimal: str) -> Callable[["pd.Series"], Cells]:
        return self.learn(public, "", decimal).read

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        texts = texts_of(public)
        notation = notation_of(texts, decimal, self.decimal, self.factors)
        counts = Counter[str]()
        for text, count in texts.items():
            amount = notation.read(text)
            counts["bound"] += count * amount.bounded
            counts[amount.flag] += count
        extra = [flag for flag in ("bound", *notation.flags) if counts[flag] >= self.least]
        read_value = cache(notation.read)

        def read(column: "pd.Series") -> Cells:
            column = with_mark(column, notation.decimal)
            amount = by_text(column, lambda text: read_value(text).value)
            for flag in extra:
                marks = partial(_mark_of, read_value, flag)
                amount.values.append(map_text(column, marks, as_written=True))
            return amount

        means = _means(read(public).values[:1])
        sentence = "{column}: amounts, and {count} columns of 0 and 1 for bounds and flags."
        coding = FormattedMessage(sentence, column=name, count=len(extra))
        return Codes(
            names=(name, *(f"{name} {flag}" for flag in extra)),
            read=read,
            unknown=(float(np.nan_to_num(means[0])), *(0.0 for _ in extra)),
            said=partial(_replaced, name, means[~np.isnan(means)].tolist(), "amounts"),
            coding=coding if len(extra) > 0 else None,
            measured=True,
        )


def _mark_of(read: Callable[[str], Amount], flag: str, text: str) -> float:
    """Return 1 where an amount has a flag, or is a bound, 0 where not; NaN where it is none."""
    amount = read(text)
    if math.isnan(amount.value):
        return math.nan
    return float(amount.bounded if flag == "bound" else amount.flag == flag)


def texts_of(column: "pd.Series") -> dict[str, int]:
    """Return how many cells have each text that is written in a column."""
    counts = Counter[str]()
    for value, count in column.dropna().astype(object).value_counts().items():
        counts[written(value)] += int(count)
    return dict(counts)


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

    @override
    def own_faults(self) -> Iterator[Fault]:
        if len(self.since) != 10 or np.isnan(days(self.since)):
            yield Fault("since", repr(self.since), "allowed is a date such as 2020-05-17")
        if len(set(self.parts)) < len(self.parts):
            yield Fault("parts", f"{list(self.parts)}", "allowed is each part once")
        if self.format is not None and not _reads(self.format):
            rule = "allowed is a format that tells the year, such as %d.%m.%Y"
            yield Fault("format", repr(self.format), rule)

    single = trait(lambda self: len(self.parts) == 0)
    unread = trait(
        lambda self: "dates" if self.format is None else re.sub(r"([{}])", r"\1\1", self.format)
    )
    read_apart = trait(lambda self: self.parts)

    @override
    def reader(self, public: "pd.Series", decimal: str) -> Callable[["pd.Series"], Cells]:
        return self.quantities

    def quantities(self, column: "pd.Series") -> Cells:
        """Return the days of each cell, or its parts."""
        read = by_text(column, self._days)
        [since_1970] = read.values
        if len(self.parts) == 0:
            return Cells([since_1970 - days(self.since)], read.misfits)
        has_date = ~np.isnan(since_1970)
        when = np.floor(since_1970[has_date]).astype("datetime64[D]")
        values = np.full((len(self.parts), len(since_1970)), np.nan)
        for part, row in zip(self.parts, values, strict=True):
            row[has_date] = _PARTS[part](when)
        return Cells(list(values), read.misfits)

    @override
    def shown(self, value: float) -> str:
        if len(self.parts) > 0:
            return super().shown(value)
        return str(np.datetime64(self.since, "D") + np.timedelta64(math.floor(value), "D"))

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
