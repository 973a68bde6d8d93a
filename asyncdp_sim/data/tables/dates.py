"""Forms of dates: which one a column's texts have, and whether they show it."""

import re
from collections.abc import Mapping
from datetime import datetime

import numpy as np

from asyncdp_sim.data.tables.text_columns import days

ISO = ""
"""Stands for dates as 2020-05-17, perhaps with a time, which need no format."""
_DAYS = (
    "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y",
    "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y%m%d",
)  # fmt: skip
_MONTHS = ("%b-%Y", "%b %Y", "%B %Y", "%Y-%m", "%Y/%m", "%m/%Y")
_TIMES = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
SHORT = ("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y", "%d-%m-%y", "%b-%y")
"""With two digits for the year, so that the century is not written."""
FITTING = 0.95
"""Share of the cells that a form fits at least: the others are missing."""
_OTHERS = (
    (r"([01]?\d|2[0-3])[.h][0-5]\d([.m][0-5]\d)?s?", "time of day",
     "write them as 06:30 or 06:30:15"),
    (r"\d{1,2}:\d\d(:\d\d)? ?[AaPp]\.?[Mm]\.?", "time of day", "write them as 18:30"),
    (r"-?\d+ days?,? \+?\d+:\d\d(:\d\d(\.\d+)?)?|-?P(T?\d+[YMWDHS])+T?.*|\d{2,3}:\d\d:\d\d",
     "duration", "write them as a number of days, or of hours"),
    (r"\d{4}[- ]?Q[1-4]|Q[1-4][- /]\d{4}", "quarter", "write them as their first day, 2024-04-01"),
    (r"\d{4}-?W\d\d", "week", "write them as their first day, 2024-04-01"),
)  # fmt: skip

OTHERS = {
    "time of day": "times of day",
    "duration": "durations",
    "quarter": "quarters",
    "week": "weeks",
}
"""Times that are not read, and their plurals."""


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
    shares = {form: _share(texts, form, cells) for form in _tried(texts)}
    most = max(shares.values(), default=0.0)
    if most < FITTING:
        return ()
    best = [form for form, share in shares.items() if share == most]
    if ISO in best:
        return (ISO,)
    first = best[0]
    return (first, *(form for form in best[1:] if _differ(texts, first, form)))


def short_forms_of(texts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the forms with two digits for the year that fit nearly all cells."""
    cells = sum(texts.values())
    return tuple(form for form in SHORT if _share(texts, form, cells) >= FITTING) if cells else ()


def several_forms(texts: Mapping[str, int]) -> bool:
    """Tell whether every text is a date in some form."""
    forms = (ISO, *_DAYS, *_MONTHS, *SHORT)
    return len(texts) > 0 and all(any(_fits(text, form) for form in forms) for text in texts)


def other_times(texts: Mapping[str, int]) -> tuple[str, str] | None:
    """Return which times that are not read texts are, and how to write them; None for none."""
    for pattern, kind, advice in _OTHERS:
        form = re.compile(pattern)
        if all(form.fullmatch(text.strip()) is not None for text in texts):
            return kind, f"{OTHERS[kind]} in this form are not read: {advice}"
    return None


def spelled(text: str, form: str) -> str:
    """Return a date in words, as a form reads it."""
    day = datetime.strptime(text.strip(), form)
    return f"{day.day} {day:%B %Y}"


def differing(texts: Mapping[str, int], forms: tuple[str, ...]) -> str:
    """Return a text whose date is another by each form."""
    for text in sorted(texts):
        if all(_fits(text, form) for form in forms):
            read = {datetime.strptime(text.strip(), form) for form in forms}
            if len(read) == len(forms):
                return text
    return next(iter(texts))


def _compact(texts: Mapping[str, int]) -> bool:
    return all(re.fullmatch(r"(19|20)\d{6}", text.strip()) for text in texts)


def _tried(texts: Mapping[str, int]) -> list[str]:
    forms = [ISO, *_DAYS, *_MONTHS]
    if any(":" in text for text in texts):
        forms += [day + time for day in _DAYS for time in _TIMES]
    return forms


def _share(texts: Mapping[str, int], form: str, cells: int) -> float:
    missed, most = 0, (1 - FITTING) * cells
    for text, count in texts.items():
        missed += count * (not _fits(text, form))
        if missed > most:
            return 0.0
    return 1 - missed / cells


def _fits(text: str, form: str) -> bool:
    text = text.strip()
    if form == ISO:
        return not np.isnan(days(text))
    if form == "%Y%m%d" and not _compact({text: 1}):
        return False
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _differ(texts: Mapping[str, int], one: str, two: str) -> bool:
    return any(
        datetime.strptime(text.strip(), one) != datetime.strptime(text.strip(), two)
        for text in texts
        if _fits(text, one) and _fits(text, two)
    )
