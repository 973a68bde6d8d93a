"""Amounts as people write them: with a currency, thousands apart, or a sign behind."""

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Literal

from typing_extensions import override

from asyncdp_sim.data.tables.encodings.kind import Cells, Measured, by_text

if TYPE_CHECKING:
    import pandas as pd

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
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return math.nan
    value = _pointed(re.sub(r"['\s]", "", found["digits"]).rstrip(".,"), decimal)
    return -value if "−" in (found["sign"] + found["inner"]).replace("-", "−") else value


def _pointed(digits: str, decimal: str) -> float:
    """Return digits with points and commas as a number."""
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) == 2:
        before, after = digits[: digits.rindex(marks[-1])], digits[digits.rindex(marks[-1]) + 1 :]
    elif len(marks) == 1 and (marks[0] == decimal or _GROUPS.fullmatch(digits) is None):
        before, _, after = digits.partition(marks[0])
    else:
        before, after = digits, ""
    whole = before.replace(".", "").replace(",", "")
    return float(f"{whole}.{after}") if (whole + after).isascii() else math.nan
