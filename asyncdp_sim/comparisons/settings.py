"""Scenarios compared field by field, in the words of a scenario file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncdp_sim.faults import show


@dataclass(frozen=True)
class Setting:
    """A field in which two scenarios differ.

    Attributes
    ----------
    field : str
        Its dotted path.
    first, second : object
        What stands there; None where the field is absent.
    """

    field: str
    first: Any
    second: Any

    def words(self) -> tuple[str, str, str]:
        """Return the field and what both scenarios say."""
        return self.field, _said(self.first), _said(self.second)


def changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Setting]:
    """Return the fields in which two resolved scenarios differ, in the order of the file."""
    ours, theirs = dict(_fields(first)), dict(_fields(second))
    return [
        Setting(path, ours.get(path), theirs.get(path))
        for path in dict.fromkeys((*ours, *theirs))
        if ours.get(path) != theirs.get(path)
    ]


def _fields(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted paths and values; lists are values."""
    for key, value in table.items():
        if isinstance(value, Mapping) and len(value) > 0:
            yield from _fields(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _said(value: Any) -> str:
    return "–" if value is None else show(value)
