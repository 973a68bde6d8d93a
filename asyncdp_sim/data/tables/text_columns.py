"""Reading single columns of a table: numbers, and texts that stand for numbers.

Every function takes one column as pandas holds it (numbers, texts, missing values in any of
their forms) and returns float64. The same field is published in several forms (10.65, "10.65%",
" 36 months", "120 +"); all are understood.

What a cell becomes depends on what is written in it, never on the type that the column has: one
text among numbers makes pandas hold a column of texts, true and false become texts, whole numbers
with a gap become fractions, and nobody else's cell may change with that.
"""

import math
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints

if TYPE_CHECKING:
    import pandas as pd

WORDS: dict[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
"""Words, marks and letters of cells, and what they mean."""
SUMS = re.compile(WORDS["sums"].replace("\n", ""), re.IGNORECASE)
"""Words for a row of sums or means."""
_PLAIN = r"^-?[0-9]+(\.[0-9]+)?$"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")
_NONE = r"[^\s\S]"
_WHOLE = r"^-?[0-9]+$"
_LONGEST = 300
"""Letters of a number that Arrow reads: a bound in the patterns is compiled anew each time."""
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(?:\.\d{3})+\s*")
_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_TRUTH = {"true": 1.0, "false": 0.0}
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
_MARKED = re.compile(r"""="([-+]?[\d.,]+)"|'([-+]?[\d.,]+)""")
_MARKS = str.maketrans("٫٬．，－＋％", ".'.,-+%")
_UNITS = (24, 1440, 86_400)
"""Hours, minutes and seconds of a day."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400.0  # seconds


def number_in(text: str) -> float:
    """Return the first number in a text (" 36 months" is 36, "860xx" is 860), NaN if none."""
    number = number_or_nan(text)
    match = _NUMBER.search(text)
    if not math.isnan(number) or match is None:
        return number
    number = float(match.group())
    return number if math.isfinite(number) else math.nan


def number_or_nan(text: str) -> float:
    """Return a text that is a number as a whole, perhaps with a % sign; NaN for any other."""
    number = _number(text.strip().removesuffix("%"))
    return math.nan if number is None or math.isinf(number) else number


KINDS = frozenset({"number", "truth", "time", "date"})
"""What a cell of a column of numbers can be."""


def cell_or_nan(text: str, decimal: str = ".", kinds: Collection[str] = KINDS) -> float:
    """Return what a text says as a number: true is 1, a date its days since 1970; else NaN.

    A time of the day is the part of the day that has gone by: 12:00 is 0.5.
    A number without a value in floating point (1e400) is infinite. With a ``decimal`` comma, "1,5"
    and "1,5e-3" are numbers, too, whatever blanks stand around them; "1.234" is none, for it may
    be 1234. Other readings than those of ``kinds`` are NaN.
    """
    kind, value = _reading(text, decimal)
    return value if kind in kinds else math.nan


def kinds_in(column: "pd.Series", decimal: str) -> frozenset[str]:
    """Return as what the texts of a column are read; everything where none is there.

    Numbers and truths are alike where the numbers are 0 and 1; of these, times and dates, those
    that most cells are.
    """
    if column.dtype.kind in "mM":
        return KINDS
    values, words = cells(column, decimal, ("number",))
    met = Counter({"number": int((column.notna() & ~words).sum())})
    for value, count in column[words].astype(object).value_counts().items():
        met[_reading(written(value), decimal)[0]] += int(count)
    of_labels = np.isin(values[~np.isnan(values)], (0, 1)).all()
    numbers = [{"number", "truth"}] if of_labels else [{"number"}, {"truth"}]
    families = (*numbers, {"time"}, {"date"})
    most = max(families, key=lambda kinds: sum(met[kind] for kind in kinds))
    return frozenset(kind for kind in most if met[kind] > 0) or KINDS


def plain_digits(text: str) -> str:
    """Return a text in which Arabic-Indic, full-width and other digits are 0 to 9.

    Their decimal marks and signs become ASCII ones. A spreadsheet's marks of a text, as in ="12"
    and '12, are left out.
    """
    match = _MARKED.fullmatch(text.strip()) if "=" in text or "'" in text else None
    text = text if match is None else match[1] or match[2]
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in text).translate(_MARKS)


def _reading(text: str, decimal: str) -> tuple[str, float]:
    """Return as what a text is read, and its number."""
    plain = plain_digits(text)
    if decimal == "," and _THOUSANDS.fullmatch(plain) is not None:
        return "", math.nan
    if decimal == "," and _COMMA.fullmatch(plain.strip()) is not None:
        plain = plain.replace(",", ".")
    number = _number(plain)
    if number is not None:
        return "number", number
    word = text.strip()
    if word.lower() in _TRUTH:
        return "truth", _TRUTH[word.lower()]
    time = _TIME.fullmatch(word)
    if time is not None:
        parts = zip(time.groups(), _UNITS, strict=True)
        return "time", sum(float(part or 0) / unit for part, unit in parts)
    return "date", days(word)


def map_text(
    column: "pd.Series", code: Callable[[str], float], *, as_written: bool = False
) -> Array:
    """Return ``code`` of every value's text, worked out once per distinct value; NaN if missing.

    A number's text is the same in columns of all types: 36 whether it was written 36 or 36.0; but
    a text's is its own where it is taken ``as_written``.
    """
    spell = written if as_written else spelled
    codes, distinct = _places(column, spell)
    table = np.array([code(spell(value)) for value in distinct] + [np.nan])
    return np.asarray(table[codes])  # a missing value has code −1: the last entry


def _places(column: "pd.Series", said: Callable[[object], str]) -> tuple[Ints, "pd.Index"]:
    """Return each cell's place among the values that differ, −1 if missing, and those values."""
    if column.dtype == "category":
        return column.cat.codes.to_numpy(), column.cat.categories
    from pandas.api.types import infer_dtype

    if column.dtype == object and infer_dtype(column, skipna=True).startswith(("mixed", "unknown")):
        # True and 1 are one value to a hash table, and lists are none
        column = column.map(said, na_action="ignore")
    codes, distinct = column.factorize()
    return codes, distinct


def _mapped(column: "pd.Series", code: Callable[[str], float], simple: str = _PLAIN) -> Array:
    """Return the same as :func:`map_text` where ``code`` takes a ``simple`` number for itself.

    A table may have millions of them: Arrow reads those that are digits and a point at most.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.dtype not in ("category", "str"):
        return map_text(column, code, as_written=True)
    codes, distinct = _places(column, spelled)
    texts = pa.array(distinct, pa.string())
    short = pc.less_equal(pc.binary_length(texts), _LONGEST)
    plain = pc.and_(short, pc.match_substring_regex(texts, simple))
    numbers = pc.cast(pc.if_else(plain, texts, None), pa.float64()).to_numpy(zero_copy_only=False)
    words = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    table = np.append(numbers, np.nan)
    table[words] = [code(distinct[place]) for place in words]  # 1.300, spelled 1.3, is thousands
    return np.asarray(table[codes])


def written(value: object) -> str:
    """Return a text as it stands, and a number as :func:`map_text` spells it."""
    return value if isinstance(value, str) else spelled(value)


def numeric(column: "pd.Series") -> Array:
    """Return a column of numbers or of texts that are numbers ("10.65%"); NaN for all else."""
    return numbers(column) if column.dtype.kind in "iuf" else _mapped(column, number_or_nan)


def cells(
    column: "pd.Series", decimal: str = ".", kinds: Collection[str] = KINDS
) -> tuple[Array, Bools]:
    """Return each cell as a finite number by :func:`cell_or_nan`, and which cells are none.

    What is missing or infinite is NaN, and is not among the cells that are no numbers. Durations
    and times of the day of a Parquet file are in days.
    """
    none = np.zeros(len(column), dtype=np.bool_)
    if column.dtype.kind in "iuf":
        return numbers(column), none
    if column.dtype.kind == "M":
        naive = column.dt.tz_localize(None) if column.dt.tz is None else column.dt.tz_convert(None)
        seconds = naive.to_numpy(dtype="datetime64[s]")
        gaps = np.isnat(seconds)
        return np.where(gaps, np.nan, seconds.astype(np.int64) / _DAY), none
    if column.dtype.kind == "m":
        return (column.dt.total_seconds() / _DAY).to_numpy(copy=True), none
    column = with_mark(column, decimal)
    simple = (_PLAIN if decimal == "." else _WHOLE) if "number" in kinds else _NONE
    read = _mapped(column, partial(cell_or_nan, decimal=decimal, kinds=kinds), simple)
    none = np.isnan(read) & column.notna().to_numpy()
    return np.where(np.isfinite(read), read, np.nan), none


def with_mark(column: "pd.Series", decimal: str) -> "pd.Series":
    """Return a column in which numbers that are no texts are spelled with a decimal mark."""
    if decimal == "." or column.dtype in ("category", "str"):
        return column

    def marked(value: object) -> object:
        real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        return spelled(value).replace(".", decimal) if real else value

    return column.astype(object).map(marked, na_action="ignore")


def numbers(column: "pd.Series") -> Array:
    """Return a column that pandas holds as numbers; NaN where missing or infinite."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _number(text: str) -> float | None:
    """Return a text that is a number as a whole, as CSV readers take it; None for any other."""
    if "_" in text or not text.isascii():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def spelled(value: object) -> str:
    """Return what is written in a cell, in which a number has the same digits whatever its type."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str | bool | np.bool_) or not isinstance(value, Real):
        number = _number(str(value))
    elif isinstance(value, Integral):
        return str(int(value))  # every digit of it: ids are long
    else:
        try:
            number = float(value)
        except OverflowError:  # a whole number that floating point does not reach
            number = math.inf
    if number is None or not math.isfinite(number):
        return str(value)
    return f"{number + 0.0:.0f}" if number.is_integer() else repr(number)


def days(text: str) -> float:
    """Return days from 1970 to a date, or a date and time, in whole seconds; NaN for none."""
    if _DATE.fullmatch(text) is None:
        return math.nan
    try:
        time = datetime.fromisoformat(text)
    except ValueError:  # such as a 13th month
        return math.nan
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return math.floor((time - _EPOCH).total_seconds()) / _DAY
