"""What the cells of a sweep warn of, each thing once."""

import itertools
import re
from collections.abc import Sequence


def gathered(warnings: Sequence[Sequence[str] | None]) -> list[str]:
    """Return every cell's warnings once, naming the cells where not all of them say it.

    Those that differ in their numbers alone are one, if there are more than :data:`SEVERAL` or the
    numbers are of replicates, updates and answers. None stands for a cell that has no result.
    """
    alike: dict[str, dict[str, list[int]]] = {}
    for number, said in enumerate(warnings):
        for sentence in () if said is None else said:
            cells = alike.setdefault(_without_numbers(sentence), {})
            cells.setdefault(sentence, []).append(number)
    found = []
    for sentences in itertools.chain(*map(_together, alike.values())):
        numbers = sorted(itertools.chain(*sentences.values()))
        text = next(iter(sentences)) if len(sentences) == 1 else _merged(list(sentences))
        if len(sentences) > 1 or len(numbers) < len(warnings):
            text = f"cell{'s' * (len(numbers) > 1)} {in_words(numbers)}: {text}"
        found.append(text)
    return found


SEVERAL = 5
"""Sentences that differ in numbers alone and are still said one by one."""
_OF_REPLICATES = re.compile(r"\d+ of \d+ replicates\b")
_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_NUMBERS = re.compile(rf"{_NUMBER}(?: to {_NUMBER})?")
_ANSWERS = re.compile(r"; of (\d+) answers released (.+)$")
_FATE = re.compile(r"(\d+) ([^,]+)")


def _without_numbers(sentence: str) -> str:
    return _NUMBERS.sub("#", _ANSWERS.sub("", sentence))


def _together(sentences: dict[str, list[int]]) -> list[dict[str, list[int]]]:
    """Return sentences that differ in numbers alone as one group, or each as its own."""
    counted = all(_OF_REPLICATES.search(sentence) is not None for sentence in sentences)
    if counted or len(sentences) > SEVERAL:
        return [sentences]
    return [{sentence: cells} for sentence, cells in sentences.items()]


def _merged(sentences: Sequence[str]) -> str:
    """Return warnings that are alike as one, numbers as ranges and fates of answers as shares."""
    heads = [_ANSWERS.sub("", sentence) for sentence in sentences]
    counts = [[tuple(filter(None, ends)) for ends in _NUMBERS.findall(head)] for head in heads]
    ranges = iter([_range(*itertools.chain(*some)) for some in zip(*counts, strict=True)])
    said = _NUMBERS.sub(lambda _: next(ranges), heads[0])
    shares: list[dict[str, float]] = []
    for known in map(_ANSWERS.search, sentences):
        released, fates = ("1", "") if known is None else known.groups()
        shares.append({fate: int(n) / int(released) for n, fate in _FATE.findall(fates)})
    told = []
    for fate in dict.fromkeys(itertools.chain(*shares)):
        part = [100 * share.get(fate, 0.0) for share in shares]
        low, high = (f"{end:.3g}" for end in (min(part), max(part)))
        told.append(f"{low if low == high else f'{low} to {high}'} % {fate}")
    return said + (f"; of the answers released {', '.join(told)}" if told else "")


def _range(*numbers: str) -> str:
    """Return the least and the largest number, as they are written."""
    low, high = min(numbers, key=float), max(numbers, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"


def in_words(numbers: Sequence[int]) -> str:
    """Return ascending numbers, three or more in a row as a range."""
    rows = itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in run] for _, run in rows]
    parts = [[_range(*map(str, run))] if len(run) > 2 else map(str, run) for run in runs]
    return ", ".join(itertools.chain(*parts))
