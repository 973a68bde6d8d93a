"""Scenarios compared field by field, in the words of a scenario file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncdp_sim.faults import show
from asyncdp_sim.scenario import leaves


@dataclass(frozen=True)
class OtherSetting:
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


def changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[OtherSetting]:
    """Return the fields in which two resolved scenarios differ, in the order of the file."""
    ours, theirs = dict(leaves(first)), dict(leaves(second))
    return [
        OtherSetting(path, ours.get(path), theirs.get(path))
        for path in dict.fromkeys((*ours, *theirs))
        if ours.get(path) != theirs.get(path)
    ]


def _said(value: Any) -> str:
    return "–" if value is None else show(value)
