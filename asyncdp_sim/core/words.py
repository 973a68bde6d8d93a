"""Numbers and tables as a reader wants them, and numbers as a manifest holds them."""

import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate, chain, groupby
from math import inf, isnan, nan

SCREEN = 80  # columns
MOST_NUMBERS = 6  # more values than this are said as a range


def number(value: float) -> str:
    """Return a number in three significant digits, or whole where it is large."""
    if isnan(value):
        return "undefined"
    if value in (inf, -inf):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"


def figure(value: float | str | None) -> str:
    """Return a figure of a table in four digits: ∞ where it is infinite, a dash where none is."""
    result = as_float(value)
    if result is None or isnan(result):
        return "–"
    return number(result) if result in (inf, -inf) else f"{result:.4g}"


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
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def duration(seconds: float) -> str:
    """Return about how long something takes."""
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def ranges(counts: Sequence[int]) -> str:
    """Return ascending whole numbers, three or more in a row as a range."""
    rows = groupby(enumerate(counts), key=lambda pair: pair[1] - pair[0])
    runs = [[count for _, count in run] for _, run in rows]
    parts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run) for run in runs]
    return ", ".join(chain(*parts))


def aligned(rows: Sequence[Sequence[str]], width: int = SCREEN) -> list[str]:
    """Return a table as lines of right-aligned columns.

    One that is wider than the screen is cut between columns into several tables, one below
    another, each of which begins with the first column; a cell wider than half the screen is
    folded.
    """
    columns = list(zip(*rows, strict=True))
    if sum(max(map(len, column)) + 2 for column in columns) - 2 <= width:
        return _lines(columns)
    folded = [[textwrap.wrap(cell, width // 2) or [""] for cell in column] for column in columns]
    heights = [max(map(len, row)) for row in zip(*folded, strict=True)]
    tall = [_stretched(column, heights) for column in folded]
    first, rest = tall[0], tall[1:]
    lines: list[str] = []
    while len(rest) > 0:
        room = width - max(map(len, first))
        wide = accumulate(max(map(len, column)) + 2 for column in rest)
        count = max(1, sum(end <= room for end in wide))
        lines += [""] * (len(lines) > 0) + _lines([first, *rest[:count]])
        rest = rest[count:]
    return lines


def _lines(columns: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    ]


def _stretched(column: Sequence[list[str]], heights: Sequence[int]) -> list[str]:
    """Return the lines of folded cells, as many of each as the tallest cell of its row has."""
    filled = (cell + [""] * (n - len(cell)) for cell, n in zip(column, heights, strict=True))
    return list(chain(*filled))


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
    above = f"<p><b>{escape(title)}</b></p>" if title else ""
    body = "".join(_row(row) for row in rows)
    below = "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
    return f"<div>{above}<table>{body}</table>{below}</div>"


def _row(row: Sequence[object]) -> str:
    name, *values = (escape(str(cell)) for cell in row)
    cells = "".join(f'<td style="text-align:left">{value}</td>' for value in values)
    return f'<tr><th style="text-align:left">{name}</th>{cells}</tr>'
