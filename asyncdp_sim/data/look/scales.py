"""Texts that stand in an order other than the alphabet's: scales in words, and ranges."""

import re
from collections.abc import Callable, Sequence

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
            spelled = _spelling(next(iter(words.values())))
            return tuple(words.get(word, spelled(word)) for word in scale)
    return None


def _spelling(example: str) -> Callable[[str], str]:
    return str.upper if example.isupper() else str.capitalize if example[:1].isupper() else str


def _ranges(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return texts such as "18 to 29", "< 1 year" and "10+ years" by the numbers in front."""
    found = [_RANGE.match(value.strip()) for value in values]
    if len(values) < 3 or len(values) > MOST_RANGES or None in found:
        return None
    keys = [(float(m["number"]), m["less"] == "") for m in found if m is not None]
    if len(set(keys)) < len(keys):
        return None
    return tuple(value for _, value in sorted(zip(keys, values, strict=True)))
