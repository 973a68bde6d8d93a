"""Numbers and tables as a reader wants them, and numbers as a manifest holds them."""

import difflib
import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, zip_longest
from math import floor, inf, isfinite, isnan, log10, nan
from operator import gt
from shutil import get_terminal_size
from typing import Any

SCREEN = 80  # columns of a pipe
NARROWEST, FOLDED = 40, 12  # columns: the least of a terminal, and of a cell that is folded
MOST_NUMBERS = 6  # more values than this are said as a range


def number(value: float) -> str:
    """Return a number in three significant digits, or whole where it is large."""
    if isnan(value):
        return "undefined"
    if value in (inf, -inf):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:.3g}"


def to_digits(value: float, width: float) -> str:
    """Return a number down to the second digit of how far it may be off, ``width`` > 0."""
    if not (isfinite(value) and isfinite(width)):
        return number(value)
    places = 1 - floor(log10(width))
    if places > 6 or places < -9:
        return f"{value:.3g}"
    return f"{round(value, places) + 0.0:,.{max(0, places)}f}"  # never −0.0


def plus_minus(value: float, half: float) -> str:
    """Return a number with its ±, both to the second digit of the ±; alone where it has none."""
    if not half > 0:
        return number(value)
    return f"{to_digits(value, half)} ± {to_digits(half, half)}"


def within(value: float, low: float, high: float) -> str:
    """Return a number of an interval, to the second digit of half the interval's width.

    In a skewed interval, whose width says nothing of its small numbers, these have digits of their
    own: one that 0 is outside of, and that is far wider than the number is large.
    """
    half = (high - low) / 2
    if not 0 < half < inf or (low * high > 0 and abs(value) < half / 10):
        return number(value)
    return to_digits(value, half)


def interval(low: float, high: float) -> str:
    """Return the ends of an interval, with the digits of :func:`within`.

    One number where both ends are the same; nothing where one is not known.
    """
    if isnan(low) or isnan(high):
        return ""
    ends = [within(end, low, high) for end in (low, high)]
    return " to ".join(ends) if low < high else ends[0]


def estimate(value: float, low: float, high: float, unit: str = "") -> str:
    """Return a number in its unit with its 95 % interval, to the digits that this allows."""
    of = f" {unit}" if unit else ""
    ends = interval(low, high) if isfinite(high - low) else "unknown"
    return f"{within(value, low, high)}{of} (95 % interval {ends})"


def figure(value: float | str | None) -> str:
    """Return a figure of a table in three significant digits: a dash where there is none."""
    result = as_float(value)
    return "–" if result is None or isnan(result) else number(result)


def numbers(values: Iterable[float]) -> str:
    """Return distinct values in words, in ascending order; many as a range."""
    distinct = sorted(set(values))
    if len(distinct) <= MOST_NUMBERS:
        return ", ".join(number(value) for value in distinct)
    return f"{number(distinct[0])} to {number(distinct[-1])}"


def extent(values: Iterable[float]) -> str:
    """Return the least and the largest of some values in four digits, or the one that all are."""
    setting = [float(value) for value in values]
    low, high = min(setting), max(setting)
    return f"{number(low)}" if low == high else f"{number(low)} to {number(high)}"


def percent(share: float) -> str:
    """Return a share in words; neither none nor all where it is not."""
    words = f"{share * 100:.0f} %"
    if share in (0, 1):
        return words
    return {"0 %": "under 1 %", "100 %": "over 99 %"}.get(words, words)


def shorten(text: str, most: int = 24) -> str:
    """Return a text that is cut where it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def key_of(name: str) -> str:
    """Return a key as TOML has it."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else toml_of(name)


def toml_of(value: Any) -> str:
    """Return a value as TOML has it in one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key_of(key)} = {toml_of(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner != "" else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(toml_of, value))}]"
    if value in (inf, -inf):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def duration(seconds: float) -> str:
    """Return about how long something takes."""
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


_NOUNS = (
    "answer canary cell column edge entry figure graph hospital label message node owner processor "
    "query record replicate row run server setting step target task tick unit update value warning"
)
_VERBS = {"are": "is", "have": "has", "were": "was", "belong": "belongs", "gain": "gains"}
_PLURAL = {re.sub("y$", "ie", noun) + "s": noun for noun in _NOUNS.split()} | {"classes": "class"}
_ONE = re.compile(
    r"(?<!owner )(?<!server )(?<!row )(?<![\w.,/−-])1 "
    r"((?:missing (?:or unseen )?|unseen (?:and rare )?|independent |private |public |time )?)"
    rf"({'|'.join(_PLURAL)})\b(?: ({'|'.join(_VERBS)})\b)?"
)
_CUT = re.compile(r"\.(?=[A-Za-z_])")
"""Where a field's path may go on in the next line."""


def did_you_mean(asked: str, names: Iterable[str], count: int = 1, cutoff: float = 0.5) -> str:
    """Return the question which of the names was meant, with a space after it; "" if none is near.

    Parameters
    ----------
    asked : str
    names : iterable of str
    count : int
        Names in the question, at most.
    cutoff : float
        Similarity that a name needs, in [0, 1].
    """
    near = difflib.get_close_matches(asked, list(names), n=count, cutoff=cutoff)
    if len(near) == 0:
        return ""
    first = f"{', '.join(near[:-1])} or " if len(near) > 1 else ""
    return f"did you mean {first}{near[-1]}? "


def agreed(text: str) -> str:
    """Return a text in which a noun after the number 1, and its verb, are in the singular."""
    return _ONE.sub(lambda m: f"1 {m[1]}{_PLURAL[m[2]]}{f' {_VERBS[m[3]]}' if m[3] else ''}", text)


def sentence(text: str) -> str:
    """Return a text as a sentence: it begins with a capital, and ends with a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def ranges(counts: Sequence[int]) -> str:
    """Return ascending whole numbers, three or more in a row as a range."""
    rows = groupby(enumerate(counts), key=lambda pair: pair[1] - pair[0])
    runs = [[count for _, count in run] for _, run in rows]
    parts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run) for run in runs]
    return ", ".join(chain(*parts))


def some_of(texts: Sequence[object], most: int) -> str:
    """Return the first texts, and how many more there are: ``a, b and 3 more``."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(map(str, texts[:most])) + more


def screen_width() -> int:
    """Return the columns of the terminal: those of COLUMNS if it is set, 80 in a pipe."""
    return max(NARROWEST, get_terminal_size((SCREEN, 24)).columns)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of right-aligned columns; a row is never cut.

    Headers, then cells of the widest columns, are folded until the table fits; numbers never.

    Parameters
    ----------
    rows : sequence of sequence of str
        The header first.
    """
    rows = [[agreed(cell) for cell in row] for row in rows]
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [
        min(FOLDED, max(len(word) for cell in column for word in _words(cell)))
        for column in columns
    ]
    room = screen_width() - 2 * (len(widths) - 1)
    while sum(widths) > room and any(map(gt, widths, least)):
        _, _, widest = max(
            (size > max((len(cell) for cell in columns[n][1:]), default=0), size, n)
            for n, size in enumerate(widths)
            if size > least[n]
        )
        widths[widest] -= 1
    lines = list[str]()
    for row in rows:
        cells = [_fold(cell, size) for cell, size in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            texts = (f"{part:>{size}}" for part, size in zip(parts, widths, strict=True))
            lines.append("  ".join(texts).rstrip())
    return lines


def _words(cell: str) -> list[str]:
    """Return the words of a cell; a field's path is cut after its dots."""
    return _CUT.sub(r".\v", cell).split() or [""]


def _fold(cell: str, width: int) -> list[str]:
    if len(cell) <= width:
        return [cell]
    text = _CUT.sub(r".\v", cell)  # no space, which may stand after the dots of a name
    lines = textwrap.wrap(text, width, expand_tabs=False, replace_whitespace=False)
    return [line.replace("\v", "") for line in lines]


def as_float(value: object) -> float | None:
    """Return a number from a manifest, where infinities are texts and absent is null."""
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def known(value: object, otherwise: float = nan) -> float:
    """Return a number as it is read back, and something else for what is none."""
    result = as_float(value)
    return otherwise if result is None else result


def html_table(
    rows: Iterable[Sequence[object]], *, title: str = "", said: Sequence[str] = ()
) -> str:
    """Return rows as an HTML table for a notebook; all that stands in it is text, and is escaped.

    Parameters
    ----------
    rows : iterable of sequence
        The first cell of each names the others.
    title : str
        Above the table.
    said : sequence of str
        Sentences below it.
    """
    from html import escape  # a third of what help takes beside typer

    body, left = "", 'style="text-align:left"'
    for row in rows:
        name, *values = (escape(agreed(str(cell))) for cell in row)
        cells = "".join(f"<td {left}>{value}</td>" for value in values)
        body += f"<tr><th {left}>{name}</th>{cells}</tr>"
    above = f"<p><b>{escape(agreed(title))}</b></p>" if title else ""
    below = "".join(f"<p>{escape(agreed(sentence))}</p>" for sentence in said)
    return f"<div>{above}<table>{body}</table>{below}</div>"
