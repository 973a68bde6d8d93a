"""Numbers as a reader of a figure wants them."""

import textwrap
from collections.abc import Iterable, Sequence
from math import inf, isnan

MOST_NUMBERS = 6  # more values than this are said as a range
ACROSS = 84  # letters of a legend that have room side by side


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


def as_float(value: object) -> float | None:
    """Return a number from a manifest, where infinities are texts and absent is null."""
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def wrapped(text: str, width: int = ACROSS, most: int = 2) -> str:
    """Return a text in lines of so many letters; one that needs more lines is cut, and says so."""
    found = textwrap.wrap(text, width)
    if len(found) > most:
        found = textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    return "\n".join(found)


def columns(names: Sequence[str]) -> int:
    """Return in how many columns of a legend these names fit, four at most."""
    longest = max(len(line) for name in names for line in name.split("\n"))
    return max(1, min(len(names), 4, 90 // (longest + 6)))
