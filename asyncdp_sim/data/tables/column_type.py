"""Type of a column: what its public cells are, and the encoding that fits them.

Texts may stand in an order other than the alphabet's: scales in words, and ranges. Dates have many
forms: which one a column's texts have, and whether they show it.
"""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.words import key_of, percent, shorten, toml_of
from asyncdp_sim.data.tables.amounts import (
    UNITS,
    Notation,
    doubted,
    is_unit,
    notation_of,
    one_word,
    parts_of,
)
from asyncdp_sim.data.tables.encodings import Date, Drop, Encoding, Money, Number, OneHot, Ordinal
from asyncdp_sim.data.tables.text_columns import WORDS, cells, days, kinds_in, plain_digits, written

if TYPE_CHECKING:
    import pandas as pd


ISO = ""
"""Stands for dates as 2020-05-17, perhaps with a time, which need no format."""
_DATES = WORDS["dates"]
_COMPACT = {form: re.compile(pattern) for form, pattern in _DATES["compact"].items()}
SHORT = _DATES["short"]
FITTING = 0.95
"""Share of the cells that a form fits at least: the others are missing."""
OTHERS = {unread["kind"]: unread["plural"] for unread in WORDS["unread"]}
"""Times and pairs that are not read, and their plurals."""


def forms_of(texts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the forms that fit most cells, and nearly all; several where cells show no single one.

    Of several, each gives some cell another date than the first.

    Parameters
    ----------
    texts : mapping
        From a text to how many cells have it.
    """
    cells = sum(texts.values())
    marked = any(mark in text for text in texts for mark in "-/. ")
    if cells == 0 or not (marked or _compact(texts)):
        return ()
    tried = [ISO, *_DATES["days"], *_DATES["months"], *_COMPACT]
    if any(":" in text for text in texts):
        tried += [day + time for day in _DATES["days"] for time in _DATES["times"]]
    shares = {form: _share(texts, form, cells) for form in tried}
    most = max(shares.values(), default=0.0)
    if most < FITTING:
        return ()
    best = [form for form, share in shares.items() if share == most]
    if ISO in best:
        return (ISO,)
    return (best[0], *(form for form in best[1:] if _differ(texts, best[0], form)))


def other_times(texts: Mapping[str, int]) -> tuple[str, str] | None:
    """Return which unread times or pairs texts are, and how to write them; None for none."""
    for unread in WORDS["unread"]:
        if all(re.fullmatch(unread["pattern"], text.strip()) is not None for text in texts):
            return unread["kind"], "{plural} in this form are not read: {advice}".format_map(unread)
    return None


def spelled(text: str, form: str) -> str:
    """Return a date in words, as a form reads it."""
    day = datetime.strptime(text.strip(), form)
    return f"{day.day} {day:%B %Y}"


def differing(texts: Mapping[str, int], forms: tuple[str, ...]) -> str:
    """Return a text whose date is another by each form."""
    for text in sorted(texts):
        if all(fits(text, form) for form in forms):
            read = {datetime.strptime(text.strip(), form) for form in forms}
            if len(read) == len(forms):
                return text
    return next(iter(texts))


def _compact(texts: Mapping[str, int]) -> bool:
    return any(all(map(form.fullmatch, map(str.strip, texts))) for form in _COMPACT.values())


def _share(texts: Mapping[str, int], form: str, cells: int) -> float:
    missed, most = 0, (1 - FITTING) * cells
    for text, count in texts.items():
        missed += count * (not fits(text, form))
        if missed > most:
            return 0.0
    return 1 - missed / cells


def fits(text: str, form: str) -> bool:
    """Tell whether a text is a date in a form."""
    text = text.strip()
    if form == ISO:
        return not np.isnan(days(text))
    if form in _COMPACT and not _COMPACT[form].fullmatch(text):
        return False
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _differ(texts: Mapping[str, int], one: str, two: str) -> bool:
    both = (text.strip() for text in texts if fits(text, one) and fits(text, two))
    return any(datetime.strptime(text, one) != datetime.strptime(text, two) for text in both)


MOST_RANGES = 40
"""More texts with a number in front than this are codes, and no ranges."""


_RANGE = re.compile(r"(?P<less>[<≤]?)\s*(?P<number>\d+(?:[.,]\d+)*)(?![\w.]|,\d|\s*[x×*]\s*10)")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:[.,]\d{3})+")
_WORD = re.compile(r"[^\s\d.,+<>≤≥()-]+[23]?")


def ordered(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return distinct texts in the order that they stand for; None where they show none.

    Words of a scale that are not among them are put in too, in the same capitals: they may be met
    later.
    """
    return _of_a_scale(values) or _ranges(values)


def _of_a_scale(values: Sequence[str]) -> tuple[str, ...] | None:
    words = {value.strip().lower(): value for value in values}
    if len(words) < 3 or len(words) < len(values):
        return None
    for scale in WORDS["scales"]:
        if words.keys() <= set(scale):
            example = next(iter(words.values()))
            capital = str.capitalize if example[:1].isupper() else str
            spelled = str.upper if example.isupper() else capital
            return tuple(words.get(word, spelled(word)) for word in scale)
    return None


def _ranges(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return texts such as "18 to 29", "< 1 year" and "10+ years" by the numbers in front.

    None where these have different units, or where 1.000 beside 500 may be more or less.
    """
    matches = [match for value in values if (match := _RANGE.match(value.strip())) is not None]
    if len(values) < 3 or len(values) > MOST_RANGES or len(matches) < len(values):
        return None
    words = {word for value in values for word in _WORD.findall(value)}
    units = {one_word(word) for word in words if is_unit(word)}
    amounts = [parts for value in values if (parts := parts_of(value)) is not None]
    tails = {(parts.currency, one_word(parts.tail.lstrip("+ "))) for parts in amounts}
    if len(units) > 1 or (len(amounts) == len(values) and len(tails) > 1):
        return None
    numbers = [match["number"] for match in matches]
    marks = {mark for mark in ".," if any(mark in number for number in numbers)}
    marked = [number for number in numbers if not number.isdecimal()]
    thousands = all(map(_GROUPED.fullmatch, marked))
    several = any(number.count(mark) > 1 for mark in marks for number in numbers)
    unsure = "." in marks and len(marked) < len(numbers) if thousands else several
    if len(marks) > 1 or unsure:
        return None
    sizes = [re.sub("[.,]", "" if thousands else ".", number) for number in numbers]
    keys = [(float(size), m["less"] == "") for size, m in zip(sizes, matches, strict=True)]
    if len(set(keys)) < len(keys):
        return None
    return tuple(value for _, value in sorted(zip(keys, values, strict=True)))


MOST_COLUMNS = 60
"""Most distinct texts that become columns of their own."""


GAPS = re.compile(
    r"\s*|0000-00-00.*|\.{1,3}|\.[A-Z_]|[-–—]{1,3}|\*{1,3}|\?|:|#(?:N/A|DIV/0!|VALUE!|REF!|NULL!|NUM!|NAME\?)"
)
"""Signs of a missing cell, such as those of SAS and of spreadsheets: not counted as words."""
FEW_WORDS = 0.1
"""Share of cells at most that are words in a column of numbers."""


FEW_MISFITS = 0.05
"""Share of cells at most that are no amounts in a column of amounts."""


MOST_UNITS, LEAST_OF_A_UNIT = 3, 10
"""Units or currencies of a column at most, and numbers of each: other words are text."""


_CODE = re.compile(WORDS["likely"]["codes"])


LEAST_PADDED = 2
"""Public cells that begin with a zero, from which whole numbers of one width are codes."""


@dataclass(frozen=True)
class Beside:
    """The target, the owners and the decimal mark beside a column.

    Attributes
    ----------
    decimal : str
        The table's decimal mark.
    sure : bool
        Whether a public cell shows that mark.
    target : NDArray, optional
        The target's numbers, or labels; absent of the target itself.
    classes : tuple of str
        The target's classes, if it has some.
    owners : Series, optional
        Whose each row is.
    """

    decimal: str = "."
    sure: bool = True
    target: Array | None = None
    classes: tuple[str, ...] = ()
    owners: "pd.Series | None" = None


@dataclass(frozen=True)
class Fitting:
    """The type and the encoding of a column, remarks, and why it makes no feature."""

    type: str
    encoding: Encoding
    remarks: tuple[str, ...] = ()
    dropped: str = ""


def read_as(column: "pd.Series", encoding: Encoding, decimal: str) -> list[Array]:
    """Return the numbers that an encoding makes of a column, which it learns from itself."""
    return encoding.learn(column, "", decimal).read(column).values


def fitting(known: "pd.Series", name: str, texts: Mapping[str, int], beside: Beside) -> Fitting:
    """Return what fits the cells of a column."""
    if len(texts) < 2:
        if len(texts) == 0:
            return Fitting("nothing", Drop(), ("no value",), "empty")
        only = f"only one value, {shorten(next(iter(texts)))!r}"
        return Fitting("one value", Drop(), (only,), "one value")
    kinds = kinds_in(known, beside.decimal)
    words = np.isnan(cells(known, beside.decimal, kinds)[0])
    shown = {text: n for text, n in texts.items() if not GAPS.fullmatch(text)}
    dated = words.any() or kinds != {"number"} or _compact(texts)
    if dated and (fit := _of_dates(known, name, shown)) is not None:
        return fit
    if _padded(texts):
        reading = f"{typed(name, kind='number')} reads numbers"
        return _texts(texts, "text", (f"codes with leading zeros, read as text; {reading}",))
    code = _CODE.search(name.lower()) is not None
    if not words.any() and code:
        return _texts(texts, "number", ("numbers that may be codes",))
    if not code and (fit := _of_quantities(known, name, texts, words, kinds, beside)) is not None:
        return fit
    other = other_times(texts)
    if other is not None:
        return _texts(texts, other[0], (other[1],))
    forms = (ISO, *_DATES["days"], *_DATES["months"], *SHORT)
    if all(any(fits(text, form) for form in forms) for text in texts):
        several = "dates in several forms cannot be read: write them as 2020-05-17"
        return _texts(texts, "text", (several,))
    order = None if code else ordered(sorted(texts))
    if order is not None:
        return Fitting("ordered text", Ordinal(order=order), ("its values have a natural order",))
    return _texts(texts, "text")


def _padded(texts: Mapping[str, int]) -> bool:
    """Tell whether nearly all cells are whole numbers of one width, and several begin with 0."""
    widths, zeros = Counter[int](), Counter[int]()
    for text, count in texts.items():
        text = plain_digits(text)
        if text.isdecimal():
            widths[len(text)] += count
            zeros[len(text)] += count * text.startswith("0")
    width = max(widths, key=widths.__getitem__, default=1)
    nearly = widths[width] >= FITTING * sum(texts.values())
    return width > 1 and nearly and zeros[width] >= LEAST_PADDED


def _of_quantities(
    known: "pd.Series",
    name: str,
    texts: Mapping[str, int],
    words: Bools,
    kinds: Collection[str],
    beside: Beside,
) -> Fitting | None:
    """Return what fits a column of numbers or amounts; None of texts."""
    if known.dtype.kind in "mM":
        of_time = {"m": "durations are read in days", "M": "times are read in days since 1970"}
        return Fitting("number", Number(), (of_time[known.dtype.kind],))
    gaps = np.zeros_like(words)
    gaps[words] = [GAPS.fullmatch(written(cell).strip()) is not None for cell in known[words]]
    if gaps.all():
        return None
    numbers = float(words[~gaps].mean())
    marked = texts if isinstance(known.iloc[0], str | bytes) else {}  # numbers have no mark
    doubt = doubted(marked, beside.decimal, sure=beside.sure)
    if doubt is not None and numbers <= FEW_WORDS:
        return _two_marks(name, doubt)
    remarks = unread_words(known, words, "numbers")
    if "time" in kinds:
        remarks.insert(0, "times of day are read as parts of a day: 12:00 is 0.5")
    plain = Fitting("number", Number(), tuple(remarks))
    if numbers == 0.0:
        return plain
    notation = notation_of(texts, beside.decimal)
    read = {text: notation.read(text) for text in texts}
    misfits = np.array([np.isnan(read[written(cell)].value) for cell in known])
    amounts = float(misfits[~gaps].mean())
    if numbers <= FEW_WORDS and amounts >= numbers:
        return plain
    asked = [tail for question in notation.questions for tail in question]
    if len(asked) > 0:
        answered = notation_of(texts, beside.decimal, declared=dict.fromkeys(asked, 1.0))
        fits = sum(n for text, n in texts.items() if not np.isnan(answered.read(text).value))
        if fits / sum(texts.values()) >= 1 - FEW_MISFITS:
            return _asked(name, notation)
    if amounts > FEW_MISFITS:
        return _mixed(name, texts)
    if doubt is not None:
        return _two_marks(name, doubt)
    bounds = sum(count for text, count in texts.items() if read[text].bounded)
    limits = sum(read[text].bounded for text in texts)
    if bounds > len(known) / 2 and limits > len(texts) / 2:  # as >50K and <=50K, which are classes
        return None
    first = min(text for text in texts if not np.isnan(read[text].value))
    remarks = [f"amounts, as {shorten(first)!r}", *notation.remarks()]
    if bounds > 0:
        share = percent(bounds / len(known))
        remarks.append(f"{share} of the cells are bounds, read as the bound; a column names them")
    return Fitting("amount", Money(), (*remarks, *unread_words(known, misfits, "amounts")))


def _two_marks(name: str, example: str) -> Fitting:
    """Return the question which mark stands before fractions."""
    both = list[str]()
    for mark in ".,":
        value = notation_of({example: 1}, mark, mark).read(example).value
        both.append(f"{value:.10g} ({typed(name, kind='money', decimal=mark)})")
    return _question(f"{example!r} may be {' or '.join(both)}")


def _mixed(name: str, texts: Mapping[str, int]) -> Fitting | None:
    """Return a question, if all cells are amounts, with several units or with two decimal marks."""
    found = ((text, parts_of(text)) for text in sorted(texts))
    amounts = {text: p for text, p in found if p and (p.fits(".") or p.fits(","))}
    lost = sum(n for text, n in texts.items() if text not in amounts and not GAPS.fullmatch(text))
    units = {(parts.currency, one_word(parts.tail)): text for text, parts in amounts.items()}
    if lost > FEW_MISFITS * sum(texts.values()) or other_times(texts) is not None:
        return None
    sure = all(word in {*UNITS, ""} for _, word in units)
    few = len(units) > MOST_UNITS or len(texts) <= LEAST_OF_A_UNIT * len(units)
    if len(units) > 1 and (sure or not few):
        examples = " and ".join(map(repr, units.values()))
        return _question(f"{examples} have different units or currencies: write all in one")
    marked = {parts.shown: text for text, parts in amounts.items() if parts.shown is not None}
    if len(marked) < 2 or units.keys() != {("", "")}:
        return None
    line = " or ".join(typed(name, kind="money", decimal=mark) for mark in marked)
    return _question(
        f"{' and '.join(map(repr, marked.values()))} have different decimal marks: write all "
        f"alike, or {line} reads one mark, and cells with the other count as missing"
    )


def _asked(name: str, notation: Notation) -> Fitting:
    """Return the question what words behind numbers mean."""
    tails, meanings = notation.questions[0], {"M": 1e3, "MM": 1e6}
    factors = {t: meanings.get(t, -1 if t[0].upper() in "DSWB" else 1) for t in tails}
    answer = typed(name, kind="money", factors=factors)
    return _question(f"what do {' and '.join(tails)} mean? For example {answer}")


def typed(name: str, **encoding: Any) -> str:
    """Return the option that declares a column."""
    return f"--column {shlex.quote(f'{key_of(name)} = {toml_of(encoding)}')}"


def _of_dates(known: "pd.Series", name: str, texts: Mapping[str, int]) -> Fitting | None:
    """Return what fits a column of dates; None of others."""
    if known.dtype.kind in "mM":
        return None
    forms = forms_of(texts)
    if len(forms) > 1:
        text = differing(texts, forms)
        read = [
            f"{spelled(text, form)} ({typed(name, kind='date', format=form)})" for form in forms
        ]
        return _question(f"{text!r} may be {' or '.join(read)}")
    if len(forms) == 0:
        count = sum(texts.values())
        short = [form for form in SHORT if count > 0 and _share(texts, form, count) >= FITTING]
        lines = " or ".join(typed(name, kind="date", format=form) for form in short)
        text = f"dates with two digits for the year; {lines} reads 68 as 2068, 69 as 1969"
        return _question(text) if len(short) > 0 else None
    [form] = forms
    [years] = Date(format=form or None, parts=("year",)).quantities(known).values
    encoding = Date(format=form or None, since=f"{int(np.nanmin(years)):04}-01-01")
    remarks = [] if form == ISO else [f"dates as {form}"]
    unread = np.isnan(read_as(known, encoding, ".")[0])
    return Fitting("date", encoding, (*remarks, *unread_words(known, unread, "dates")))


def unread_words(known: "pd.Series", words: Bools, called: str) -> list[str]:
    """Return which cells of a column of quantities are words, where some are."""
    if not words.any():
        return []
    met = sorted({written(cell) for cell in known[words]})
    more = ", …" if len(met) > 2 else ""
    examples = ", ".join(repr(shorten(cell)) for cell in met[:2])
    return [
        f"{percent(1 - float(words.mean()))} of the cells are {called}; the others "
        f"({int(words.sum())}) count as missing: {examples}{more}"
    ]


def _question(text: str) -> Fitting:
    """Return what only the user can say of a column, which is left out until then."""
    return Fitting("question", Drop(), (f"a question: {text}",), "question")


def _texts(texts: Mapping[str, int], kind: str, told: tuple[str, ...] = ()) -> Fitting:
    """Return a column for each text; nothing where they are too many."""
    if len(texts) <= MOST_COLUMNS:
        return Fitting(kind, OneHot(), told)
    many = f"too many for a column each ({len(texts)})"
    return Fitting(kind, Drop(), (*told, many), "text")
