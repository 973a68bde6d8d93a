"""Numbers as a reader wants them, and as a manifest holds them."""

from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from math import inf, isnan

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


def numbers(values: Iterable[float]) -> str:
    """Return distinct values in words, in ascending order; many as a range."""
    distinct = sorted(set(values))
    if len(distinct) <= MOST_NUMBERS:
        return ", ".join(number(value) for value in distinct)
    return f"{number(distinct[0])} to {number(distinct[-1])}"


def extent(values: Iterable[float]) -> str:
    """Return the least and the largest of some values in four digits, or the one that all are."""
    given = [float(value) for value in values]
    low, high = min(given), max(given)
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def ranges(counts: Sequence[int]) -> str:
    """Return ascending whole numbers, three or more in a row as a range."""
    rows = groupby(enumerate(counts), key=lambda pair: pair[1] - pair[0])
    runs = [[count for _, count in run] for _, run in rows]
    parts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run) for run in runs]
    return ", ".join(chain(*parts))


def as_float(value: object) -> float | None:
    """Return a number from a manifest, where infinities are texts and absent is null."""
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except ValueError:
            return None
    return None
