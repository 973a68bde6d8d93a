"""Encodings of columns: quantities, categories, orders, classes; and the union of them all."""

import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, Strict
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import Extent, FormattedMessage
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Variant, trait
from asyncdp_sim.core.words import key_of
from asyncdp_sim.data.tables import text_columns
from asyncdp_sim.data.tables.amounts import notation_of
from asyncdp_sim.data.tables.rows import FROM_PRIVATE, note

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


Reader = Callable[["pd.Series"], Cells]
"""From a column to its numbers, of which each depends on its own cell alone."""


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
    read: Reader
    unknown: tuple[float, ...]
    said: Callable[[int, int], str] | None = None
    coding: str | None = None
    measured: bool = False


class EncodingKind(Variant):
    """A way from a column of a table to numbers."""

    single: ClassVar[bool] = True
    """Whether it makes one number of a cell, as of a target."""
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
    def reader(self, public: "pd.Series", decimal: str) -> tuple[Reader, tuple[str, ...]]:
        """Return what reads each cell independently, as public cells show, and names of flags.

        Flags are columns of 0 and 1 behind the quantities.
        """

    def shown(self, value: float) -> str:
        """Return a value of the first column as a person reads it."""
        return f"{value:.10g}" if float(value).is_integer() else f"{value:.6g}"

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        read, flags = self.reader(public, decimal)
        parts = tuple(f"{name} {part}" for part in self.read_apart) or (name,)
        means = _means(read(public).values[: len(parts)])
        coding = note("amounts", column=name, count=len(flags))
        return Codes(
            names=(*parts, *(f"{name} {flag}" for flag in flags)),
            read=read,
            unknown=(*np.nan_to_num(means).tolist(), *(0.0 for _ in flags)),
            said=partial(_replaced, name, means[~np.isnan(means)].tolist(), self.unread),
            coding=coding if len(flags) > 0 else None,
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
    values = text_columns.map_text(column, code, as_written=True)
    values = np.where(np.isfinite(values), values, np.nan)
    return Cells([values], np.isnan(values) & column.notna().to_numpy())


def _means(columns: Sequence[Array]) -> Array:
    """Return the mean of each column's numbers; NaN where it has none."""
    numbers = [values[~np.isnan(values)] for values in columns]
    return np.array([np.mean(column) if len(column) > 0 else np.nan for column in numbers])


class Number(Measured):
    """Numbers; true is 1, false is 0, and a date (2020-05-17) is its days since 1970.

    A time of day is a fraction of the day: 12:00 is 0.5. Most public cells show which of these a
    column holds: a date among numbers is none of them, nor is true among others than 0 and 1. A
    cell that is missing, infinite or not a number becomes the public mean (0 if no public row has a
    number).
    """

    kind: Literal["number"] = "number"

    @override
    def reader(self, public: "pd.Series", decimal: str) -> tuple[Reader, tuple[str, ...]]:
        kinds = text_columns.kinds_in(public, decimal)

        def read(column: "pd.Series") -> Cells:
            values, none = text_columns.cells(column, decimal, kinds)
            return Cells([values], none)

        return read, ()


class Money(Measured):
    """Amounts with currencies, units or signs: "$44,778.08", "(1.234,56 €)", "120+", "36 months".

    Public cells show the notation: one decimal mark, one currency or unit, groups of three digits,
    parentheses or a trailing minus for negative amounts, multipliers such as k and M, units of one
    dimension (which are converted), flags behind numbers. Bounds, such as <5 or 90+, are read as
    the bound. A column of 0 and 1 is added where public cells hold bounds, and for each flag. A
    cell that is missing, or that this notation does not read as a whole, becomes the public mean, 0
    where no public row has an amount.
    """

    kind: Literal["money"] = "money"
    decimal: Literal[".", ","] | None = None
    factors: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(default={})
    least: Annotated[int, Field(ge=1)] = 1

    @override
    def __hash__(self) -> int:
        return hash((self.kind, self.decimal, tuple(self.factors.items()), self.least))

    @override
    def without_rare(self, public: "pd.Series", least: int) -> Self:
        _, flags = self.reader(public, ".")
        more = {"least": max(least, self.least)}
        return self.model_copy(update=more) if len(flags) > 0 else self

    unread = "amounts"

    @override
    def reader(self, public: "pd.Series", decimal: str) -> tuple[Reader, tuple[str, ...]]:
        texts = texts_of(public)
        notation = notation_of(texts, decimal, self.decimal, self.factors)
        counts = Counter[str]()
        for text, count in texts.items():
            amount = notation.read(text)
            counts["bound"] += count * amount.bounded
            counts[amount.flag] += count
        flags = [flag for flag in ("bound", *notation.flags) if counts[flag] >= self.least]
        read_value = cache(notation.read)

        def mark(flag: str, text: str) -> float:
            amount = read_value(text)
            if math.isnan(amount.value):
                return math.nan
            return float(amount.bounded if flag == "bound" else amount.flag == flag)

        def read(column: "pd.Series") -> Cells:
            column = text_columns.with_mark(column, notation.decimal)
            amount = by_text(column, lambda text: read_value(text).value)
            amount.values.extend(by_text(column, partial(mark, flag)).values[0] for flag in flags)
            return amount

        return read, tuple(flags)


def texts_of(column: "pd.Series") -> dict[str, int]:
    """Return how many cells have each text that is written in a column."""
    counts = Counter[str]()
    for value, count in column.dropna().astype(object).value_counts().items():
        counts[text_columns.written(value)] += int(count)
    return dict(counts)


Part = Literal["year", "month", "day", "weekday"]


Days = Any
"""An array of days."""


class Date(Measured):
    """Days since a date, or parts of a date. A cell without a date becomes the public mean."""

    kind: Literal["date"] = "date"
    format: str | None = None
    since: str = "1970-01-01"
    parts: Annotated[tuple[Part, ...], Strict(False)] = ()

    @override
    def own_faults(self) -> Iterator[Fault]:
        if len(self.since) != 10 or np.isnan(text_columns.days(self.since)):
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
    def reader(self, public: "pd.Series", decimal: str) -> tuple[Reader, tuple[str, ...]]:
        return self.quantities, ()

    def quantities(self, column: "pd.Series") -> Cells:
        """Return the days of each cell, or its parts."""
        read = by_text(column, self._days)
        [since_1970] = read.values
        if len(self.parts) == 0:
            return Cells([since_1970 - text_columns.days(self.since)], read.misfits)
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
            return text_columns.days(text)
        try:
            return text_columns.days(
                datetime.strptime(text, self.format).replace(tzinfo=None).isoformat(" ")
            )
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


_WHOLE_BY_COMMA = re.compile(r"(?<=\d),00?$")
"""What is left out of whole numbers such as 1,0; three digits would be thousands."""
Texts = Annotated[tuple[str, ...], Strict(False), Field(min_length=1)]


class OneHot(EncodingKind):
    """A column of 0 and 1 for each value. A cell with another value is 0 in all columns.

    If m of M public rows have a value, its column is scaled to √(M/m), which is large for rare
    values. ``least`` leaves such values out.
    """

    kind: Literal["one-hot"] = "one-hot"
    values: Texts | None = None
    least: Annotated[int, Field(ge=1)] = 1

    single = False
    needs_public = trait(
        lambda self: "allowed with values = [...] alone" if self.values is None else None
    )

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.values is not None and self.least > 1:
            rule = "allowed is 1 beside values, which have a column each"
            yield Fault("least", str(self.least), rule)

    @override
    def without_rare(self, public: "pd.Series", least: int) -> Self:
        rare = self.values is None and len(distinct(public, least)) < len(distinct(public))
        return self.model_copy(update={"least": least}) if rare else self

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        values = list(dict.fromkeys(self.values or distinct(public, self.least)))
        places = {value: float(place) for place, value in enumerate(values)}

        def read(column: "pd.Series") -> Cells:
            read_cells = by_text(column, lambda text: places.get(text, np.nan))
            [place] = read_cells.values
            return Cells([(place == j).astype(np.float64) for j in range(len(values))],
                         read_cells.misfits)  # fmt: skip

        kinds = "unseen" if self.least == 1 else "unseen and rare"
        lost = FROM_PRIVATE + f"{{column}}: {{cells}} {kinds} values became 0 in all columns."
        coding = f"{{column}}: {{values}} columns of 0 and 1; 0 in all for {kinds} values."
        return Codes(
            names=tuple(f"{name} = {value}" for value in values),
            read=read,
            unknown=(0.0,) * len(values),
            said=lambda _, misfits: FormattedMessage(lost, column=name, cells=misfits),
            coding=FormattedMessage(coding, column=name, values=len(values)),
        )


def distinct(public: "pd.Series", least: int = 1) -> list[str]:
    """Return what is written in so many cells at least, sorted."""
    return sorted(text for text, count in texts_of(public).items() if count >= least)


class Ordinal(EncodingKind):
    """The position of a text in an order, from 0."""

    kind: Literal["ordinal"] = "ordinal"
    order: Texts | None = None

    needs_public = trait(
        lambda self: "allowed with order = [...] alone" if self.order is None else None
    )

    @override
    def own_faults(self) -> Iterator[Fault]:
        for twice in _repeated(self.order or ()):
            yield Fault("order", f"{twice!r} twice", "allowed is each text once")

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        order = distinct(public) if self.order is None else list(self.order)
        places = {text: float(place) for place, text in enumerate(order)}

        read = partial(by_text, code=lambda text: places.get(text, np.nan))
        coding, unknown, became = None, float(len(order)), "{unknown:.0f}."
        if self.order is None:  # a dictionary
            codes = Extent(0, len(order) - 1)
            coding = note("coded-texts", column=name, codes=codes, unseen=len(order))
        else:
            [mean] = _means(read(public).values)
            unknown, became = float(mean), "{unknown:g}, the public mean."
            if np.isnan(mean):
                unknown, became = (len(order) - 1) / 2, "{unknown:g}, the middle of the order."
        lost = f"{FROM_PRIVATE}{{column}}: {{missing}} missing or unseen values became {became}"
        return Codes(
            names=(name,),
            read=read,
            unknown=(unknown,),
            said=lambda n, _: FormattedMessage(lost, column=name, missing=n, unknown=unknown),
            coding=coding,
        )


class Drop(EncodingKind):
    """No feature."""

    makes_nothing = True

    kind: Literal["drop"] = "drop"

    single = False

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        return Codes((), lambda column: Cells([], np.zeros(len(column), dtype=np.bool_)), ())


class ClassLabels(EncodingKind):
    """Labels: −1 and 1 for two classes, 1 to K for more. A cell with another value has no label.

    Of a feature such a cell is 0. Blanks around a name and capitals do not count unless two names
    differ in them alone; 1, 1.0 and 1,0 are one name, and beside true or false also 1 and true.
    """

    kind: Literal["classes"] = "classes"
    values: Texts

    @override
    def own_faults(self) -> Iterator[Fault]:
        if len(self.values) < 2:
            yield Fault("values", repr(self.values[0]), "allowed are two classes or more")
        for twice in _repeated(self.values):
            yield Fault("values", f"{twice!r} twice", "allowed is each name once")

    labels = trait(lambda self: self.values)

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        count = len(self.values)
        labels = [-1.0, 1.0] if count == 2 else np.arange(1.0, count + 1).tolist()
        return _labelled(name, dict(zip(self.values, labels, strict=True)))


def _repeated(texts: Sequence[str]) -> list[str]:
    """Return the first text that stands there more than once, if any."""
    return [text for text in texts if texts.count(text) > 1][:1]


def _labelled(name: str, labels: dict[str, float]) -> Codes:
    """Return the codes of a column of classes with these labels, in any spelling."""
    fold = _folding(labels)
    alike = {fold(text): label for text, label in labels.items()}
    if len(alike) < len(labels):  # two names differ in capitals alone
        alike = {}

    def label(text: str) -> float:
        return labels.get(text.strip(), alike.get(fold(text), np.nan))

    def read(column: "pd.Series") -> Cells:
        values = text_columns.map_text(column, label)
        return Cells([values], np.isnan(values) & column.notna().to_numpy())

    return Codes((name,), read, (0.0,))


def _folding(names: Iterable[str]) -> Callable[[str], str]:
    """Return what says what spellings of a class have in common: true, TRUE, and 1 beside true."""
    truths = any(name.strip().casefold() in ("true", "false") for name in names)

    def fold(text: str) -> str:
        word = text.strip().casefold()
        size = _size(word)
        if np.isfinite(size):
            word = f"{size:.15g}"
        return {"1": "true", "0": "false"}.get(word, word) if truths else word

    return fold


class SeenClasses(EncodingKind):
    """The classes that public cells hold, of which there are to be so many.

    Where public cells hold 1 alone, both 0 and −1 are the other class: whichever a private cell
    has, and no other cell decides.
    """

    kind: str
    count: int

    labels = ()

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        names = tuple(spellings_in(public))
        if self.count == 2 and names in _ALONE:
            return _labelled(name, _ALONE[names])
        if len(names) != self.count:
            shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
            problem = f"the column {name!r}, with {len(names)} classes in public rows: {shown}"
            values = f'data.columns.{key_of(name)} = {{ kind = "classes", values = [...] }}'
            rule = f"allowed are {self.count} classes; {values} names them"
            raise DataError([Fault("data.target", problem, rule)])
        return ClassLabels(values=names).learn(public, name, decimal)


def spellings_in(column: "pd.Series") -> dict[str, tuple[str, ...]]:
    """Return the names of classes, and the other spellings of each: Yes and YES are one class.

    Names stand by size where all are numbers, else as texts. Of several spellings of a class the
    most frequent one, of equals the first, is its name.
    """
    filled = column.dropna().astype(object)  # a category's texts are those of all cells
    counts = Counter[str]()
    for value, count in filled.value_counts().items():
        counts[text_columns.spelled(value).strip()] += int(count)
    ranked = sorted(counts, key=lambda text: (-counts[text], text))
    groups: dict[str, list[str]] = {}
    fold = _folding(ranked)
    for text in ranked:
        groups.setdefault(fold(text), []).append(text)
    names = {texts[0]: tuple(texts[1:]) for texts in groups.values()}
    if all(np.isfinite(_size(name)) for name in names):
        return {name: names[name] for name in sorted(names, key=_size)}
    ordered = sorted(names, key=lambda name: (name.casefold(), name))  # False, true
    return {name: names[name] for name in ordered}


def _size(text: str) -> float:
    """Return a label as a number, also one such as 1,0; NaN for none."""
    try:
        return float(_WHOLE_BY_COMMA.sub("", text))
    except ValueError:
        return np.nan


_ALONE = {
    ("-1",): {"-1": -1.0, "1": 1.0},
    ("0",): {"0": -1.0, "1": 1.0},
    ("1",): {"-1": -1.0, "0": -1.0, "1": 1.0},
}
"""Labels where public rows show one class alone, which may be of two pairs."""


Encoding = Annotated[Number | Money | OneHot | Ordinal | Date | ClassLabels | Drop, FAMILY_BY_NAME]
"""Every encoding; a new one joins by its line here."""


def usual(public: "pd.Series", decimal: str) -> Encoding:
    """Return the encoding of a column of which nothing is declared, by its public cells.

    Numbers where every cell that is there is one, or where none is there; else a dictionary.
    """
    return Ordinal() if text_columns.cells(public, decimal)[1].any() else Number()
