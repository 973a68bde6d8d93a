"""Warnings of results: records with their numbers in fields, which are put into words last.

A manifest holds the words, ``warnings``, and beside them the fields, ``warning_fields``. What
several cells of a sweep warn of is one record whose numbers are spans, said once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from asyncdp_sim.core.words import agreed, ranges


@dataclass(frozen=True)
class Extent:
    """The least and the largest of a number, of cells or in a result; one where both read alike.

    Of 3 and 5 updates a sentence says "3 to 5", of 3 and 3 it says "3".
    """

    low: float
    high: float

    def __format__(self, spec: str) -> str:
        low, high = f"{self.low:{spec}}", f"{self.high:{spec}}"
        return low if low == high else f"{low} to {high}"


NumberOrRange = int | float | Extent
"""A number of a warning, or its range: over several cells, or within one result."""


@dataclass(frozen=True)
class Listed:
    """Numbers of owners: the first few of them, and how many more there are."""

    first: tuple[NumberOrRange, ...]
    more: NumberOrRange | None = None

    @classmethod
    def from_numbers(cls, numbers: Sequence[int]) -> "Listed":
        """Return up to five of the numbers, and the count of the others."""
        more = len(numbers) - 5
        return cls(tuple(map(int, numbers[:5])), more if more > 0 else None)

    def __format__(self, spec: str) -> str:
        """Return the owners in words; with the format ``their``, the word its or their."""
        single = len(self.first) == 1
        if spec == "their":
            return "its" if single else "their"
        listed = ", ".join(f"{number}" for number in self.first)
        more = "" if self.more is None else f" and {self.more} more"
        return f"owner{'s' * (not single)} {listed}{more}"


def spanned(values: Sequence[Any]) -> Any:
    """Return the field of one record for several alike: numbers become the span of all.

    Numbers of owners are labels, which become those of all records.
    """
    if isinstance(values[0], Listed):
        owners = {number for value in values for number in value.first}
        return (
            values[0]
            if len(owners) == len(values[0].first)
            else Listed.from_numbers(sorted(owners))
        )
    if not _is_number(values[0]):
        return values[0]
    ends = [(v.low, v.high) if isinstance(v, Extent) else (v, v) for v in values]
    return Extent(min(low for low, _ in ends), max(high for _, high in ends))


def _shape(value: Any) -> Any:
    """Return the part of a field that alike records share: all but its numbers."""
    if isinstance(value, Listed) and value.more is None:
        return Listed
    return NumberOrRange if _is_number(value) else value


def _is_number(value: Any) -> bool:
    """Return whether a field is a number; True and False, which Python counts as such, are not."""
    return isinstance(value, NumberOrRange) and not isinstance(value, bool)


@dataclass(frozen=True)
class Notice:
    """One warning: its fields, and the sentence that says them.

    A subclass gives the sentence, ``text``, with its fields in braces, or overrides
    :meth:`describe`.
    """

    text: ClassVar[str]
    counted: ClassVar[bool] = False
    """Whether it counts replicates: cells with other counts are then said together, however few
    they are."""

    @classmethod
    def kind(cls) -> str:
        """Return the name of this warning in a manifest."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()

    def describe(self) -> str:
        """Return the sentence."""
        return agreed(self.text.format(**vars(self)))

    def alike(self) -> tuple[Any, ...]:
        """Return what records of different numbers that may be said together have in common."""
        return (type(self), *((name, _shape(value)) for name, value in vars(self).items()))

    def with_others(self, others: Sequence[Self]) -> Self:
        """Return one record for this one and others that are :meth:`alike`."""
        both = (self, *others)
        return replace(
            self, **{n: spanned([vars(notice)[n] for notice in both]) for n in vars(self)}
        )

    def content(self) -> dict[str, Any]:
        """Return the fields as a manifest holds them: a span is a list of its two ends."""
        return {
            "kind": self.kind(),
            **{name: for_manifest(value) for name, value in vars(self).items()},
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the record that a result's manifest holds."""
        return cls(
            **{name: from_manifest(value) for name, value in content.items() if name != "kind"}
        )


@dataclass(frozen=True)
class Noted(Notice):
    """A warning without a class of its own: its sentence, and the values in it by name."""

    sentence: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def from_sentence(cls, text: "str | FormattedMessage", within: str = "{}") -> "Noted":
        """Return the record of a sentence; ``within`` is a longer one, whose ``{}`` it replaces."""
        if not isinstance(text, FormattedMessage):
            text = FormattedMessage("{line}", line=text)
        return cls(within.replace("{}", text.sentence), tuple(text.fields.items()))

    def describe(self) -> str:
        """Return the sentence."""
        return agreed(self.sentence.format(**dict(self.values)))

    def alike(self) -> tuple[Any, ...]:
        """Return the sentence and what stands in it, without numbers."""
        return Noted, self.sentence, tuple((name, _shape(value)) for name, value in self.values)

    def with_others(self, others: Sequence[Self]) -> Self:
        """Return one sentence with numbers as spans."""
        columns = zip(*(other.values for other in (self, *others)), strict=True)
        spans = ((column[0][0], spanned([value for _, value in column])) for column in columns)
        return replace(self, values=tuple(spans))

    def content(self) -> dict[str, Any]:
        """Return the sentence, and its values by name."""
        values = {name: for_manifest(value) for name, value in self.values}
        return {"kind": self.kind(), "sentence": self.sentence, "values": values}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the record that a result's manifest holds."""
        values = ((name, from_manifest(value)) for name, value in content["values"].items())
        return cls(content["sentence"], tuple(values))


class FormattedMessage(str):
    """A sentence that keeps the numbers it was made with."""

    sentence: str
    fields: dict[str, Any]

    def __new__(cls, sentence: str, **fields: Any) -> Self:
        """Fill in a sentence that has fields in braces."""
        text = super().__new__(cls, agreed(sentence.format(**fields)))
        text.sentence, text.fields = sentence, fields
        return text

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.sentence,), self.fields


def if_any(sentence: str, **fields: object) -> tuple[str, ...]:
    """Return a sentence whose first field is a count, unless this is 0."""
    return (FormattedMessage(sentence, **fields),) if next(iter(fields.values())) != 0 else ()


def read_notices(manifest: Mapping[str, Any]) -> list[Notice]:
    """Return the warnings of a result's manifest; those of one without fields as they are."""
    lines = [str(line) for line in manifest["warnings"]]
    kept = manifest.get("warning_fields")
    if not isinstance(kept, list) or len(kept) != len(lines):
        return [Noted.from_sentence(line) for line in lines]
    kinds = {notice.kind(): notice for notice in _descendants(Notice)}
    return [_read_notice(kinds, *pair) for pair in zip(lines, kept, strict=True)]


def _read_notice(kinds: Mapping[str, type[Notice]], line: str, content: Any) -> Notice:
    """Return the record that says a line, or the line where none does: another version wrote it."""
    try:
        result = kinds[content["kind"]].from_content(content)
        return result if result.describe() == line else Noted.from_sentence(line)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return Noted.from_sentence(line)


def _descendants(kind: type[Notice]) -> Iterator[type[Notice]]:
    for item in kind.__subclasses__():
        yield item
        yield from _descendants(item)


def for_manifest(value: Any) -> Any:
    """Return a field as a manifest holds it."""
    if isinstance(value, Listed):
        return {
            "first": [for_manifest(item) for item in value.first],
            "more": for_manifest(value.more),
        }
    return [value.low, value.high] if isinstance(value, Extent) else value


def from_manifest(value: Any) -> Any:
    """Return a field of one result's manifest as it was: a list is the two ends of a span."""
    if isinstance(value, Mapping):
        return Listed(tuple(value["first"]), value["more"])
    return Extent(*value) if isinstance(value, list) else value


MOST_LISTED = 5
"""Up to so many warnings that differ only in numbers are listed one by one."""


@dataclass(frozen=True)
class Gathered:
    """A warning of some cells.

    Attributes
    ----------
    notice : Notice
        Of numbers that differ, as spans, or of one cell.
    cells : tuple of int
        Whose it is, in ascending order.
    everywhere : bool
        Whether every cell of the sweep says just that.
    """

    notice: Notice
    cells: tuple[int, ...]
    everywhere: bool

    def describe(self) -> str:
        """Return the sentence, behind the cells that it is of where it is not of all alike."""
        if self.everywhere:
            return self.notice.describe()
        cells = f"cell{'s' * (len(self.cells) > 1)} {ranges(self.cells)}"
        return f"{cells}: {self.notice.describe()}"

    def content(self) -> dict[str, Any]:
        """Return the fields as a manifest holds them."""
        return self.notice.content() | {"cells": list(self.cells)}


def gathered(warnings: Sequence[Sequence[Notice] | None]) -> list[Gathered]:
    """Return every warning of the cells once, naming the cells where not all have it.

    Those that differ in their numbers alone are one, if there are more than
    :data:`MOST_LISTED` or what they count is replicates. None stands for a cell that has no result.
    """
    alike: dict[Any, dict[str, tuple[Notice, set[int]]]] = {}
    for number, notices in enumerate(warnings):
        for notice in notices or ():
            same = alike.setdefault(notice.alike(), {})
            same.setdefault(notice.describe(), (notice, set()))[1].add(number)
    result = []
    for same in alike.values():
        first, *rest = (notice for notice, _ in same.values())
        if len(rest) > 0 and (first.counted or len(same) > MOST_LISTED):
            cells = {number for _, numbers in same.values() for number in numbers}
            result.append(Gathered(first.with_others(rest), tuple(sorted(cells)), everywhere=False))
        else:
            result += [
                Gathered(notice, tuple(sorted(cells)), len(cells) == len(warnings))
                for notice, cells in same.values()
            ]
    return result
