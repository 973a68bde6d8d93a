"""Words of legends, and numbers as a reader of a figure wants them."""

import textwrap
from collections.abc import Sequence

from asyncdp_sim.words import MOST_NUMBERS, as_float, known, number, numbers

MOST_LISTED = 4
ACROSS = 84  # letters of a legend that have room side by side


def lettered(text: str) -> str:
    """Return a text whose ``n_i`` has its index low, as in the papers."""
    return text.replace("n_i", "nᵢ")


def wrapped(text: str, width: int = ACROSS, most: int = 2) -> str:
    """Return a text in lines of so many letters; one that needs more lines is cut, and says so."""
    text = lettered(text)
    found = textwrap.wrap(text, width)
    if len(found) > most:
        found = textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    return "\n".join(found)


def columns(names: Sequence[str]) -> int:
    """Return in how many columns of a legend these names fit, five at most."""
    longest = max(len(line) for name in names for line in name.split("\n"))
    return max(1, min(len(names), 5, 90 // (longest + 6)))


def listed(texts: Sequence[str], between: str = ", ") -> str:
    """Return distinct texts side by side; of many the first and the last, and how many."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= MOST_LISTED:
        return between.join(distinct)
    return f"{distinct[0]} … {distinct[-1]} ({len(distinct)} in all)"


__all__ = [
    "MOST_NUMBERS",
    "as_float",
    "columns",
    "known",
    "lettered",
    "listed",
    "number",
    "numbers",
    "wrapped",
]
