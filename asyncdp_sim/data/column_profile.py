"""Profile of a column: its type, and what is suspicious of it: ids, leaks, numbers for gaps."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.words import percent, shorten, toml_of
from asyncdp_sim.data.tables import column_type, encodings
from asyncdp_sim.data.tables.file_form import UNNAMED
from asyncdp_sim.data.tables.text_columns import WORDS, cell_or_nan, plain_digits, spelled, written

if TYPE_CHECKING:
    import pandas as pd


RARE = 20
"""Public rows below which a value is rare, where there are many: it may be as rare among private
ones, or ten times as rare."""
LEAK = 0.98
"""Correlation with the target, of values or of ranks, beyond which a column reveals it."""
LEAK_AUC = 0.99
"""AUC for a target of two classes beyond which a column reveals it."""
BY_CHANCE = 1e-6
"""Probability below which rows of one class alone are no chance."""
ALL_DISTINCT = 0.98
"""Share of distinct values beyond which whole numbers and texts are ids."""
FEW = 20
"""Fewest values for which shares and correlations are reported."""
MOST_CLASSES = 10
"""Most distinct texts of a target that are classes."""
EVEN_FROM = 150
"""Values from which their spread tells amounts from ids: of 50, half of normal laws look even."""
LEAST_OF_A_CLASS = 3
"""Rows of each class from which an AUC tells of a leak: one row is at an end by chance."""
SENTINELS = (-1, -9, -99, -999, -9999, -99999, -200, 0, 99, 999, 9999, 99999, 999999, 365243)
"""Numbers that often stand for a missing one."""
BEHIND_A_SCALE = (7, 8, 9, 77, 88, 97, 98, 99, 998, 999)
"""Numbers that often stand for no answer, where a scale from 0 or 1 ends before them."""
LONGEST_SCALE = 11
"""Values of such a scale at most."""
MORE_OFTEN = 3
"""How many times as often as the next value −1 occurs, where it is a code and no count."""
OFTEN = 0.1
"""Share of the cells from which −1 is a code, however often the next value occurs."""
REPEATED = 1.3
"""Mean number of public rows of a value from which values repeat as persons do."""
MOST_OF_A_PERSON = 50
"""Public rows of a value at most, if values are persons."""
_PERSON = re.compile(WORDS["likely"]["persons"])
_LOST_DIGITS = re.compile(r"\d(?:[.,]\d{1,5})?[eE]\+1\d")
_DATED = re.compile(WORDS["likely"]["dates"])
_ID = re.compile(WORDS["likely"]["ids"])


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
    span : tuple of str
        The smallest, the median and the largest value as read; empty where it has no size.
    dropped : str
        What it is that makes no feature, such as "id"; empty of a feature.
    details : tuple of str
        In words, what matters less.
    usual : tuple of str
        The most frequent value and its share; empty where there is no value.
    """

    name: str
    type: str
    missing: float
    distinct: int
    encoding: encodings.Encoding
    suspicious: tuple[str, ...] = ()
    span: tuple[str, ...] = ()
    dropped: str = ""
    details: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Seen:
    """A column while it is looked at.

    Attributes
    ----------
    cells : Series
        All of them, missing ones too.
    name : str
    texts : dict
        From a text, its digits as 0 to 9, to how many cells have it.
    fitted : Fitting
    values : list of NDArray
        What that makes of the cells.
    beside : Beside
    """

    cells: "pd.Series"
    name: str
    texts: dict[str, int]
    fitted: column_type.Fitting
    values: list[Array]
    beside: column_type.Beside

    @property
    def target(self) -> Array:
        """The target's numbers; without members where there is none."""
        return np.empty(0) if self.beside.target is None else self.beside.target

    @property
    def filled(self) -> int:
        """How many cells are not missing."""
        return int(self.cells.notna().sum())

    @property
    def named(self) -> bool:
        """Whether the column is named as one of ids."""
        return _ID.search(self.name.lower()) is not None

    @property
    def whole(self) -> bool:
        """Whether all cells are whole numbers."""
        return all(text.strip().lstrip("+-").isdecimal() for text in self.texts)


def looked_at(column: "pd.Series", name: str, beside: column_type.Beside) -> ColumnLook:
    """Return what a column shows beside the target's numbers, if it is not the target itself."""
    filled = column.dropna()
    texts = encodings.texts_of(filled)
    missing = 1.0 - len(filled) / max(len(column), 1)
    fitted = column_type.fitting(filled, name, texts, beside)
    encoding, remarks, dropped = fitted.encoding, list(fitted.remarks), fitted.dropped
    values = [] if encoding.makes_nothing else column_type.read_as(column, encoding, beside.decimal)
    digits = {plain_digits(text): n for text, n in texts.items()}
    seen = _Seen(column, name, digits, fitted, values, beside)
    if beside.target is not None and dropped in ("", "text"):
        reason = next(_reasons(seen), None)
        if reason is None:
            remarks += _doubts(seen) if dropped == "" else []
        else:
            encoding, (dropped, remark) = encodings.Drop(), reason
            remarks = [remark]
        if dropped in ("id", "text") and _like_persons(seen):
            remark = f"{len(texts)} values, {len(filled) / len(texts):.1f} rows each: if these are "
            keeps = f"person = {toml_of(name)} in [data] keeps their rows together"
            remarks = [f"{remark}persons, {keeps}"]
            dropped = "person"
        if dropped == "":
            encoding, rare = _without_rare(column, encoding, values)
            remarks += rare
            dropped = "rare" if encoding.makes_nothing else ""
    span = tuple[str, ...]()
    if isinstance(fitted.encoding, encodings.Measured) and len(values) > 0:
        span = _span(values[0], fitted.encoding)
        if dropped == "":
            remarks += _sentinels(seen)
    details, usual = list[str](), tuple[str, ...]()
    if dropped in ("one value", "empty", "rare") and beside.target is not None:
        unread = fitted.type in ("text", *column_type.OTHERS) and dropped == "rare"
        remarks, details = [*fitted.remarks] if unread else [], remarks
    if len(texts) > 0:
        most = max(texts, key=texts.__getitem__)
        usual = (repr(shorten(most)), percent(texts[most] / len(filled)))
    remarked = tuple(remarks), span, dropped, tuple(details), usual
    return ColumnLook(name, fitted.type, missing, len(texts), encoding, *remarked)


def target_looked_at(column: "pd.Series", name: str, beside: column_type.Beside) -> ColumnLook:
    """Return what the target shows: classes where it has two values, or few texts."""
    look = looked_at(column, name, replace(beside, target=None))
    spellings = encodings.spellings_in(column)
    known = [name for name in spellings if not column_type.GAPS.fullmatch(name)]
    names = tuple(known if len(known) > 1 else spellings)  # + and - may be labels
    if look.type == "number":
        numbers = [n for n in names if np.isfinite(cell_or_nan(n, beside.decimal))]
        names = tuple(numbers)
        few = len(names) == 2 and (column.notna().sum() >= FEW or {"-1", "0"} & {*names})
    else:
        few = look.type in ("text", "ordered text") and 2 <= len(names) <= MOST_CLASSES
    if not few:
        remarks = tuple(said.removesuffix("; a column names them") for said in look.suspicious)
        return replace(look, suspicious=remarks)
    which = f"{names[-1]!r} is the {'positive one' if len(names) == 2 else 'reference'}"
    remark = f"{len(names)} classes: {', '.join(map(repr, names))}; {which}"
    alike = [f"{', '.join(map(repr, spellings[n]))} as {n!r}" for n in names if spellings[n]]
    encoding, filled = encodings.ClassLabels(values=names), column.dropna()
    unread = column_type.unread_words(
        filled, np.isnan(column_type.read_as(filled, encoding, ".")[0]), "labels"
    )
    same = [f"one class each: {'; '.join(alike)}"] * (len(alike) > 0)
    remarks = (remark, *same, *unread)
    change: dict[str, Any] = {"type": "classes", "suspicious": remarks, "span": (), "dropped": ""}
    return replace(look, encoding=encoding, **change)


def as_declared(
    column: "pd.Series", name: str, encoding: encodings.Encoding, beside: column_type.Beside
) -> ColumnLook:
    """Return a column whose encoding the user declares."""
    filled = column.dropna()
    missing = 1.0 - len(filled) / max(len(column), 1)
    if encoding.makes_nothing:
        return ColumnLook(name, "left out", missing, 0, encoding, dropped="asked")
    values = column_type.read_as(column, encoding, beside.decimal)
    look = ColumnLook(name, "as declared", missing, len(encodings.texts_of(filled)), encoding)
    if not isinstance(encoding, encodings.Measured):
        return look
    unread = np.isnan(values[0][column.notna().to_numpy()])
    remarks = column_type.unread_words(filled, unread, encoding.unread)
    return replace(look, suspicious=tuple(remarks), span=_span(values[0], encoding))


def _span(values: Array, encoding: encodings.Measured) -> tuple[str, ...]:
    """Return the smallest, the median and the largest value as read."""
    present = np.sort(values[~np.isnan(values)])
    if len(present) == 0:
        return ()
    return tuple(encoding.shown(float(x)) for x in present[[0, (len(present) - 1) // 2, -1]])


def _without_rare(
    column: "pd.Series", encoding: encodings.Encoding, values: Sequence[Array]
) -> tuple[encodings.Encoding, list[str]]:
    """Return an encoding in which no code is one of few rows, and remarks on them."""
    few = min(RARE, len(column) // FEW)
    varied = []
    for each in values:
        seen = each[~np.isnan(each)]  # what is missing is no value of its own
        varied.append(len(seen) - int(np.unique(seen, return_counts=True)[1].max(initial=0)))
    if max(varied) < few:
        if len(varied) > 1 and int(column.value_counts().max()) <= max(varied):
            return encodings.Drop(), [f"rare values: each in at most {max(varied)} rows"]
        return encodings.Drop(), [f"nearly one value: others in {max(varied)} rows"]
    return encoding.without_rare(column, few), []


def _reasons(seen: _Seen) -> Iterator[tuple[str, str]]:
    """Yield why a column makes no feature: a word for it, and a sentence."""
    for remark in _ids(seen):
        yield "id", remark
    for remark in _leaks(seen):
        yield "leak", remark
    of_texts = seen.fitted.type in ("text", "ordered text")
    if of_texts and _fixed_within(seen.cells, seen.beside.owners):
        yield "owner", "fixed within each owner: it names the owner"


def _ids(seen: _Seen) -> Iterator[str]:
    """Yield why a column is one of ids, if it is: by its name and form, or by its form alone."""
    filled, kind, unnamed = seen.filled, seen.fitted.type, seen.name.startswith(UNNAMED)
    if filled < FEW or kind not in ("number", "text") or _counted_date(seen) != "":
        return
    integral = kind == "text" or seen.whole
    differ = integral and len(seen.texts) > ALL_DISTINCT * filled
    numbered = _numbered(seen.texts)
    if differ and kind == "text":
        yield "an id: nearly all values differ"
    elif differ and (seen.named or unnamed or numbered):
        why = "named as one" if seen.named else "consecutive or padded with zeros"
        why = "without a name" if unnamed else why
        yield f"an id: nearly all values differ, and they are {why}"
    elif differ and filled >= EVEN_FROM and any(map(_even, seen.values[:1])) and not _related(seen):
        yield "an id: whole numbers, nearly all differ, evenly spread and unrelated to the target"
    elif integral and (seen.named or unnamed) and (kind == "text" or numbered):
        yield "an id, by its name"


def _even(values: Array) -> bool:
    """Tell whether values are spread evenly between the least and the largest.

    By the largest distance of their distribution from a straight line, 1.36/√n at 5 %.
    """
    present = np.sort(values[~np.isnan(values)])
    count = len(present)
    line = (present - present[0]) / max(present[-1] - present[0], 1e-300)
    away = np.abs(line - (np.arange(count) + 0.5) / count).max()
    return bool(away < 1.36 / np.sqrt(count))


def _related(seen: _Seen) -> bool:
    """Tell whether the ranks of values go with those of the target, beyond chance."""
    both = ~np.isnan(seen.values[0]) & ~np.isnan(seen.target)
    x, y = seen.values[0][both], seen.target[both]
    if len(x) < FEW or len(np.unique(y)) < 2:
        return False
    return bool(_correlation(_ranks(x), _ranks(y)) > 3 / np.sqrt(len(x)))


def _doubts(seen: _Seen) -> Iterator[str]:
    """Yield why a column that is kept may be one of dates, or of ids."""
    if seen.fitted.type not in ("number", "amount") or seen.filled < FEW:
        return
    dates = _counted_date(seen)
    if dates != "":
        yield dates
        return
    if lost_digits(seen.texts):
        yield "some cells are as 1.23E+11: if these are ids, they lost digits; export them as text"
    if seen.whole and (len(seen.texts) > ALL_DISTINCT * seen.filled or seen.named):
        yield "drop the column if these are ids and not amounts"


def _like_persons(seen: _Seen) -> bool:
    """Tell whether values repeat a few times each, and the name or digits say that they are ids.

    Digits do not where remarks call the texts something else.
    """
    texts = seen.texts
    mean = sum(texts.values()) / len(texts)
    named = seen.named or _PERSON.search(seen.name.lower()) is not None
    codes = all(any(letter.isdigit() for letter in text) for text in texts)
    few = len(texts) >= FEW and max(texts.values()) <= MOST_OF_A_PERSON
    return few and mean >= REPEATED and (named or (codes and len(seen.fitted.remarks) < 2))


def _counted_date(seen: _Seen) -> str:
    """Return which dates numbers may be, with the first; nothing for none."""
    if _DATED.search(seen.name.lower()) is None or len(seen.values) == 0:
        return ""
    numbers = seen.values[0][~np.isnan(seen.values[0])]
    if len(numbers) == 0:
        return ""
    for unit in WORDS["dates"]["counted"]:
        least, most = numbers.min() / unit["of_a_day"], numbers.max() / unit["of_a_day"]
        if unit["first"] < least <= most < unit["last"]:
            first = spelled(numbers.min())
            day = np.datetime64(unit["since"]) + np.timedelta64(int(least), "D")
            return f"{unit['called']}? {first} would be {day}; they are read as numbers"
    texts = {spelled(value) for value in numbers}
    for form, width in (("%y%m%d", 6), ("%Y%j", 7)):
        if all(len(text) == width and column_type.fits(text, form) for text in texts):
            first = min(texts)
            line = column_type.typed(seen.name, kind="date", format=form)
            read = datetime.strptime(first, form)
            return f"dates as {form}? {first} would be {read:%Y-%m-%d}, which {line} reads"
    return ""


def lost_digits(texts: Iterable[str]) -> bool:
    """Tell whether some texts are long whole numbers as a spreadsheet shortens them."""
    return any("+1" in text and _LOST_DIGITS.fullmatch(text.strip()) for text in texts)


def _numbered(texts: Mapping[str, int]) -> bool:
    """Return whether whole numbers are padded with zeros, or follow each other closely."""
    if any(len(text) > 1 and text.startswith("0") for text in texts):
        return True
    values = [float(text) for text in texts if text.lstrip("+-").isdecimal()]
    return len(values) > 0 and max(values) - min(values) < 1.1 * len(values)


def _fixed_within(column: "pd.Series", owners: "pd.Series | None") -> bool:
    """Tell whether each owner's public cells are alike, and those of owners are not."""
    if owners is None:
        return False
    import pandas as pd

    both = pd.DataFrame({"x": column.map(written, na_action="ignore").astype(object),
                         "who": owners.astype(object)}).dropna()  # fmt: skip
    by_owner = both.groupby("who")["x"]
    several = by_owner.size() > 2
    one_each = bool((by_owner.nunique()[several] == 1).all())
    return int(several.sum()) > 1 and one_each and both["x"].nunique() > 1


def _leaks(seen: _Seen) -> Iterator[str]:
    """Yield remarks on a column that reveals the target."""
    for column_values in seen.values:
        present = ~np.isnan(column_values) & ~np.isnan(seen.target)
        x, y = column_values[present], seen.target[present]
        if len(x) < FEW or np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        if np.array_equal(x, y):
            yield "a leak: equal to the target"
        elif len(seen.beside.classes) == 2:
            few = min(np.count_nonzero(y > 0), np.count_nonzero(y <= 0)) < LEAST_OF_A_CLASS
            auc = _auc(x, y)
            if auc >= LEAK_AUC and not few:
                yield f"a leak: AUC {auc:.3f} for the target"
        else:
            close = max(_correlation(x, y), _correlation(_ranks(x), _ranks(y)))
            if close > LEAK:
                yield f"a leak: correlation {close:.3f} with the target"
    share = _told_by_value(seen.cells, seen.target)
    if share > LEAK**2:
        yield f"a leak: its values explain {share * 100:.0f} % of the target's variance"
    yield from _leaks_of_one_class(seen)


def _correlation(x: Array, y: Array) -> float:
    """Return the correlation of values without its sign."""
    return float(abs(np.corrcoef(x, y)[0, 1]))


def _ranks(values: Array) -> Array:
    """Return the rank of each value, of equal ones their mean; SciPy would take long to import."""
    import pandas as pd

    return np.asarray(pd.Series(values).rank())


def _auc(x: Array, y: Array) -> float:
    """Return the area under the ROC curve of values for labels −1 and 1, at least 1/2."""
    positive = y > 0
    n, m = int(positive.sum()), int((~positive).sum())
    area = (_ranks(x)[positive].sum() - n * (n + 1) / 2) / (n * m)
    return float(max(area, 1 - area))


def _leaks_of_one_class(seen: _Seen) -> Iterator[str]:
    """Yield that cells other than the usual one, or than none, are of one class alone."""
    classes, target = seen.beside.classes, seen.target
    if len(classes) < 2:
        return
    labelled = ~np.isnan(target)
    filled = seen.cells.notna().to_numpy()
    texts = seen.cells.map(written, na_action="ignore").astype(object).to_numpy()
    counted = encodings.texts_of(seen.cells[labelled])
    usual = max(counted, key=counted.__getitem__, default="")
    rarer = filled & (texts != usual)
    for rows, cells in ((filled, "it is filled"), (rarer, f"it is not {usual!r}")):
        rows = rows & labelled
        labels, counts = np.unique(target[rows], return_counts=True)
        if len(labels) != 1 or counts[0] < FEW or bool(rows[labelled].all()):
            continue
        if float(np.mean(target[labelled] == labels[0])) ** int(counts[0]) < BY_CHANCE:
            at = int(labels[0] > 0) if len(classes) == 2 else int(labels[0]) - 1
            yield f"a leak: {cells} only where the target is {classes[at]!r}"


def _told_by_value(column: "pd.Series", target: Array) -> float:
    """Return the share of the target's variance that is between values of few, η²."""
    import pandas as pd

    both = pd.DataFrame({"x": column, "y": target}).dropna()
    if len(both) < FEW or both["x"].nunique() > len(both) / 5 or both["y"].var() == 0:
        return 0.0
    groups = both.assign(x=both["x"].map(written)).groupby("x", observed=True)["y"]
    within = float(((both["y"] - groups.transform("mean")) ** 2).sum())
    return 1.0 - within / float(((both["y"] - both["y"].mean()) ** 2).sum())


def _sentinels(seen: _Seen) -> Iterator[str]:
    """Yield values apart from the others that are frequent: they may mean a missing one."""
    values = seen.values[0]
    present = values[~np.isnan(values)]
    distinct, counts = np.unique(present, return_counts=True)
    if len(present) < FEW or len(distinct) < 3:
        return
    numbers = seen.fitted.type != "date"
    behind = _behind_a_scale(distinct) if numbers else range(0)
    rare = _beside_labels(distinct, counts)
    for at in sorted({0, *behind, *rare, len(distinct) - 1}):
        value, share = distinct[at], counts[at] / len(present)
        if at not in rare and (counts[at] < 3 or share < 0.01):
            continue
        sentinel = numbers and value in SENTINELS and (value != 0 or share < 0.5)
        code = value < -1 or counts[at] > MORE_OFTEN * counts[1] or share >= OFTEN
        least = 4 if value == -1 else 3  # -1, 0 and 1 are a scale
        negative = sentinel and value < 0 <= distinct[1] and len(distinct) >= least and code
        many = len(distinct) >= 10
        far = (many or sentinel) and _far(value, present, sentinel and many)
        if at in rare or at in behind or negative or far:
            text = spelled(seen.cells.iloc[np.flatnonzero(values == value)[0]])
            yield (
                f"{text} in {percent(share)} of the cells is "
                f"{'rare beside two labels' if at in rare else 'far from the others'}; add "
                f"--missing {shlex.quote(f'{seen.name}={text}')} if it means a missing value"
            )


def _beside_labels(distinct: Array, counts: Ints) -> set[int]:
    """Return the place of a number for a gap among three values, if it is much rarer than both."""
    at = int(np.argmin(counts))
    code = distinct[at] in (*SENTINELS, *BEHIND_A_SCALE)
    listed = code and (distinct[at] != 0 or distinct[0] == -1)
    rare = len(distinct) == 3 and listed and MORE_OFTEN * counts[at] <= np.sort(counts)[1]
    return {at} if rare else set()


def _behind_a_scale(distinct: Array) -> range:
    """Return the places of values such as 9 and 99 behind whole numbers that begin at 0 or 1."""
    first = int(np.argmax(np.append(np.diff(distinct) != 1, True))) + 1
    scale = distinct[0] in (0, 1) and 2 <= first <= LONGEST_SCALE
    listed = bool(np.isin(distinct[first:], BEHIND_A_SCALE).all())
    return range(first, len(distinct)) if scale and listed else range(0)


def _far(value: float, present: Array, known: bool) -> bool:
    """Tell whether a value is farther from the others than they spread, of a known one half."""
    rest = present[present != value]
    low, middle, high = np.quantile(rest, [0.25, 0.5, 0.75])
    gap = float(np.abs(rest - value).min())
    usual = known and gap > (high - low) / 2
    return bool(usual or gap > 3 * max(high - low, np.abs(rest - middle).max()))
