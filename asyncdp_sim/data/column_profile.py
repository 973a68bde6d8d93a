"""One column: its type, what is suspicious of it, and the encoding that fits.

Texts may stand in an order other than the alphabet's: scales in words, and ranges.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.data.tables.encodings import (
    ClassLabels,
    Date,
    Drop,
    Encoding,
    Money,
    Number,
    OneHot,
    Ordinal,
    amount,
    names_in,
)
from asyncdp_sim.data.tables.text_columns import cell_or_nan, cells, days, written

if TYPE_CHECKING:
    import pandas as pd

SCALES = (
    ("minor", "moderate", "major", "extreme"),
    ("none", "minimal", "mild", "moderate", "severe", "very severe"),
    ("very low", "low", "medium", "high", "very high"),
    ("very low", "low", "moderate", "high", "very high"),
    ("very low", "low", "normal", "high", "very high"),
    ("tiny", "small", "medium", "large", "huge"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("primary", "secondary", "tertiary"),
    ("beginner", "intermediate", "advanced", "expert"),
)
"""Words from low to high."""
MOST_RANGES = 40
"""More texts with a number in front than this are codes, and no ranges."""
_RANGE = re.compile(r"(?P<less>[<≤]?)\s*(?P<number>\d+(?:\.\d+)?)(?![\w.])")


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
    for scale in SCALES:
        if words.keys() <= set(scale):
            example = next(iter(words.values()))
            capital = str.capitalize if example[:1].isupper() else str
            spelled = str.upper if example.isupper() else capital
            return tuple(words.get(word, spelled(word)) for word in scale)
    return None


def _ranges(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return texts such as "18 to 29", "< 1 year" and "10+ years" by the numbers in front."""
    matches = [_RANGE.match(value.strip()) for value in values]
    if len(values) < 3 or len(values) > MOST_RANGES or None in matches:
        return None
    keys = [(float(m["number"]), m["less"] == "") for m in matches if m is not None]
    if len(set(keys)) < len(keys):
        return None
    return tuple(value for _, value in sorted(zip(keys, values, strict=True)))


RARE = 20
"""Public rows below which a value is rare, where there are many: it may be as rare among private
ones, or ten times as rare."""
LEAK = 0.98
"""Correlation with the target, of values or of ranks, beyond which a column reveals it."""
ALL_DISTINCT = 0.98
"""Share of distinct values beyond which whole numbers and texts are ids."""
MOST_COLUMNS = 60
"""Most distinct texts that become columns of their own."""
FEW = 20
"""Fewest values for which shares and correlations are reported."""
DATES = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%b-%Y", "%b-%Y", "%b %d, %Y", "%Y-%m")
"""Forms of dates that are tried where texts are none as 2020-05-17."""
_ISO, _SHORT = ("%Y-%m-%d",), ("%m/%d/%y", "%d/%m/%y", "%d.%m.%y")
"""As they are read without a format, and with two digits for a year, which no format is proposed
for."""
MOST_CLASSES = 10
"""Most distinct texts of a target that are classes."""
FEW_WORDS = 0.1
"""Share of cells at most that are words in a column of numbers."""
_MEASURE = re.compile(
    r"[-+−]?\s*(?:[^\w\s.,+-]|[A-Z]{3}\s)?\s*[-+−]?\d[\d.,'\s]*\s*(?:[^\w\s]|[A-Za-z]+)?\s*"
)
_ID = re.compile(r"(?:^|[^a-z])(?:id|ids|key|uuid|ssn|mrn|nr|number)(?:$|[^a-z])")
_CODE = re.compile(r"(?:^|[^a-z])(?:code|codes|zip|plz|icd|drg)(?:$|[^a-z])")


@dataclass(frozen=True)
class ColumnLook:
    """A column as it was seen.

    Attributes
    ----------
    name, type : str
    missing : float
        Share of cells that are empty, in [0, 1].
    distinct : int
        Values that differ.
    encoding : Encoding
        That fits.
    suspicious : tuple of str
        In words.
    """

    name: str
    type: str
    missing: float
    distinct: int
    encoding: Encoding
    suspicious: tuple[str, ...] = ()


def looked_at(
    column: "pd.Series", name: str, decimal: str, target: Array | None = None
) -> ColumnLook:
    """Return what a column shows, beside the target's numbers, if it is not the target itself."""
    filled = column.dropna()
    distinct = sorted({written(value) for value in filled.unique()})
    missing = 1.0 - len(filled) / max(len(column), 1)
    kind, encoding, remarks = _fitting(filled, name, distinct, decimal)
    if target is not None:
        reasons = [*_ids(filled, name, distinct, kind), *_leaks(column, encoding, decimal, target)]
        remarks = reasons or [*remarks, *_doubts(filled, name, distinct, kind)]
        encoding = Drop() if len(reasons) > 0 or len(distinct) < 2 else encoding
        if not encoding.makes_nothing:
            encoding, rare = _without_rare(column, encoding, decimal)
            remarks += rare
    share = filled.astype(object).value_counts(normalize=True)
    if len(filled) >= FEW and len(distinct) > 1 and share.iloc[0] > 0.5:
        remarks.append(
            f"{percent(share.iloc[0])} of its values are {shorten(written(share.index[0]))!r}"
        )
    return ColumnLook(name, kind, missing, len(distinct), encoding, tuple(remarks))


def target_looked_at(column: "pd.Series", name: str, decimal: str) -> ColumnLook:
    """Return what the target shows: classes where it has two values, or few texts."""
    look, names = looked_at(column, name, decimal), names_in(column)
    if look.type == "number":
        names = tuple(n for n in names if np.isfinite(cell_or_nan(n, decimal)))
        few = len(names) == 2 and (column.notna().sum() >= FEW or {"-1", "0"} & {*names})
    else:
        few = look.type in ("text", "ordered text") and 2 <= len(names) <= MOST_CLASSES
    if not few:
        return look
    which = f"{names[-1]!r} is the {'positive one' if len(names) == 2 else 'reference'}"
    remark = f"{len(names)} classes: {', '.join(map(repr, names))}; {which}"
    suspicious = (remark, *(line for line in look.suspicious if " are " in line))
    return replace(look, type="classes", encoding=ClassLabels(values=names), suspicious=suspicious)


def _fitting(
    known: "pd.Series", name: str, distinct: list[str], decimal: str
) -> tuple[str, Encoding, list[str]]:
    """Return the type of values, the encoding that fits, and remarks on them."""
    if len(distinct) < 2:
        return ("nothing", Drop(), ["no value"]) if len(distinct) == 0 else (
            "one value", Drop(), [f"only one value, {shorten(distinct[0])!r}"]
        )  # fmt: skip
    form = _form_of_dates(distinct)
    if form is not None:
        since = f"{_first_year(known, form)}-01-01"
        remarks = [] if form == "" else [f"dates as {form}"]
        return "date", Date(format=form or None, since=since), remarks
    code = _CODE.search(name.lower()) is not None
    words = cells(known, decimal)[1]
    if not words.any() and code:
        return "number", *_texts(distinct, ["numbers that may be codes"])
    if words.mean() <= FEW_WORDS and not code:
        return "number", Number(), _words(known, words, "numbers")
    texts = [written(cell) for cell in known]
    signs = np.array([_MEASURE.fullmatch(t) is None or np.isnan(amount(t, decimal)) for t in texts])
    if signs.mean() <= FEW_WORDS and not code:
        amounts = known[~signs]
        first = min(written(cell) for cell in amounts)
        remarks = [f"numbers with signs or units, as {shorten(first)!r}"]
        return "amount", Money(), [*remarks, *_words(known, signs, "amounts")]
    several = _forms_of_dates(distinct)
    order = None if code or several else ordered(distinct)
    if order is not None:
        return "ordered text", Ordinal(order=order), ["its values have a natural order"]
    return "text", *_texts(distinct, several)


def _words(known: "pd.Series", words: Bools, called: str) -> list[str]:
    """Return which cells of a column of quantities are words, where some are."""
    if not words.any():
        return []
    met = sorted({written(cell) for cell in known[words]})
    more = ", …" if len(met) > 3 else ""
    examples = ", ".join(repr(shorten(cell)) for cell in met[:3])
    return [
        f"{percent(1 - float(words.mean()))} of the cells are {called}; the others count as "
        f"missing: {examples}{more}"
    ]


def _forms_of_dates(distinct: list[str]) -> list[str]:
    """Return that texts are dates in several forms, where they are."""
    forms = {form for text in distinct for form in (*_ISO, *DATES, *_SHORT) if _reads(text, form)}
    if not all(any(_reads(text, form) for form in forms) for text in distinct):
        return []
    return ["dates in several forms cannot be read: write them as 2020-05-17"]


def _texts(distinct: list[str], told: list[str]) -> tuple[Encoding, list[str]]:
    """Return a column for each text; nothing where they are too many."""
    if len(distinct) <= MOST_COLUMNS:
        return OneHot(), told
    return Drop(), [*told, f"too many for a column each ({len(distinct)})"]


def _without_rare(
    column: "pd.Series", encoding: Encoding, decimal: str
) -> tuple[Encoding, list[str]]:
    """Return an encoding in which no code is one of few rows, and remarks on them."""
    few = min(RARE, len(column) // FEW)
    codes = encoding.learn(column, "", decimal)
    varied = []
    for values in codes.read(column).values:
        seen = values[~np.isnan(values)]  # what is missing is no value of its own
        varied.append(len(seen) - int(np.unique(seen, return_counts=True)[1].max(initial=0)))
    if max(varied) < few:
        if len(varied) > 1 and int(column.value_counts().max()) <= max(varied):
            return Drop(), [f"rare values: each in at most {max(varied)} rows"]
        return Drop(), [f"nearly one value: others in {max(varied)} rows"]
    return encoding.without_rare(column, few), []


def _ids(known: "pd.Series", name: str, distinct: list[str], kind: str) -> Iterator[str]:
    """Yield why a column is one of ids, if it is: by its name and form, or by its form alone."""
    if len(known) < FEW or kind not in ("number", "text"):
        return
    integers = kind != "number" or all("." not in text and "," not in text for text in distinct)
    differ = integers and len(distinct) > ALL_DISTINCT * len(known)
    named = _ID.search(name.lower()) is not None
    if differ and kind == "text":
        yield "an id: nearly all values differ"
    elif differ and (named or _numbered(distinct)):
        yield "an id: nearly all values differ, and they are " + (
            "named as one" if named else "consecutive or padded with zeros"
        )
    elif integers and named and (kind == "text" or _numbered(distinct)):
        yield "an id, by its name"


def _doubts(known: "pd.Series", name: str, distinct: list[str], kind: str) -> Iterator[str]:
    """Yield why a column that is kept may be one of ids."""
    if kind != "number" or len(known) < FEW or any("." in text or "," in text for text in distinct):
        return
    if len(distinct) > ALL_DISTINCT * len(known) or _ID.search(name.lower()) is not None:
        yield "drop the column if these are ids and not amounts"


def _numbered(distinct: list[str]) -> bool:
    """Return whether whole numbers are padded with zeros, or follow each other closely."""
    if any(len(text) > 1 and text.startswith("0") for text in distinct):
        return True
    values = [float(text) for text in distinct if text.lstrip("+-").isdecimal()]
    return len(values) > 0 and max(values) - min(values) < 1.1 * len(values)


def _leaks(column: "pd.Series", encoding: Encoding, decimal: str, target: Array) -> Iterator[str]:
    """Yield remarks on a column that reveals the target."""
    import pandas as pd

    for values in encoding.learn(column, "", decimal).read(column).values:
        both = pd.DataFrame({"x": values, "y": target}).dropna()
        x, y = both["x"], both["y"]
        if len(both) < FEW or x.nunique() == 1 or y.nunique() == 1:
            continue
        if x.equals(y):
            yield "a leak: equal to the target"
            return
        close = max(abs(x.corr(y)), abs(x.rank().corr(y.rank())))
        if close > LEAK:
            yield f"a leak: correlation {close:.3f} with the target"
            return
    share = _told_by_value(column, target)
    if share > LEAK**2:
        yield f"a leak: its values explain {share * 100:.0f} % of the target's variance"


def _told_by_value(column: "pd.Series", target: Array) -> float:
    """Return the share of the target's variance that is between values of few, η²."""
    import pandas as pd

    both = pd.DataFrame({"x": column.map(written, na_action="ignore"), "y": target}).dropna()
    groups = both.groupby("x", observed=True)["y"]
    if len(both) < FEW or groups.ngroups > len(both) / 5 or both["y"].var() == 0:
        return 0.0
    within = float(((both["y"] - groups.transform("mean")) ** 2).sum())
    return 1.0 - within / float(((both["y"] - both["y"].mean()) ** 2).sum())


def _form_of_dates(distinct: list[str]) -> str | None:
    """Return the format of texts that all are dates, empty for 2020-05-17; None where not."""
    if not all(any(mark in text for mark in "-/. ") for text in distinct):
        return None
    if not any(np.isnan(days(text.strip())) for text in distinct):
        return ""
    read = (form for form in DATES if all(_reads(text, form) for text in distinct))
    return next(read, None)


def _reads(text: str, form: str) -> bool:
    try:
        datetime.strptime(text.strip(), form)
    except ValueError:
        return False
    return True


def _first_year(known: "pd.Series", form: str) -> int:
    """Return the year of the earliest date."""
    [year] = Date(format=form or None, parts=("year",)).quantities(known, ".").values
    return int(np.nanmin(year))


def percent(share: float) -> str:
    """Return a share in words; neither none nor all where it is not."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 < share < 1 else f"{share * 100:.0f} %"


def shorten(text: str, most: int = 24) -> str:
    """Return a text that is cut where it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
