"""Parts of a scenario as tables, TOML and JSON, made once for cells that have them in common."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from asyncdp_sim.scenario.derived import ScenarioFacts
from asyncdp_sim.scenario.paths import Raw


def jsonable(value: Any) -> Any:
    """Return plain tables ready for JSON: infinities as the texts "inf" and "-inf", NaN as null."""
    if isinstance(value, str | int):  # before all that takes longer to tell
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, Mapping):
        return {"null" if key is None else key: jsonable(inner) for key, inner in value.items()}
    return value


_A_PLACE = re.compile("path|python:")
"""What the text of each part has in it that names a file."""


@dataclass(frozen=True, eq=False)
class WrittenPart:
    """A part of a scenario in plain words, every default filled in; not to be changed.

    Attributes
    ----------
    key : str
        What a scenario file calls it.
    value : object
        A table, list, number or text that is ready for TOML.
    """

    key: str
    value: Any

    @cached_property
    def toml(self) -> str:
        """Its lines of a scenario file; those of a table begin with its name in brackets."""
        return toml({self.key: self.value})

    @cached_property
    def json(self) -> Any:
        """The same, ready for JSON."""
        return jsonable(self.value)

    @cached_property
    def placed(self) -> bool:
        """Whether it may name a file, by its place: where it is written matters then."""
        return _A_PLACE.search(self.toml) is not None

    def copied(self) -> Raw:
        """Return it as tables that may be changed."""
        return {self.key: listed(self.value)}


def written_parts(scenario: ScenarioFacts) -> Iterator[WrittenPart]:
    """Yield the parts of a scenario that are there, in the order of its fields."""
    for name in type(scenario).model_fields:
        part = getattr(scenario, name)
        if part is not None and (name != "sweep" or len(part) > 0):
            yield _written(_Field(scenario, name))


def together(texts: Iterator[str]) -> str:
    """Return the TOML of parts as that of one file: tables come after whatever is none."""
    every = list(texts)
    lines = "".join(text for text in every if not text.startswith("["))
    return "\n".join([lines, *(text for text in every if text.startswith("["))])


def toml(tables: Raw) -> str:
    """Return tables as TOML."""
    import tomli_w  # only where a scenario is written

    return tomli_w.dumps(tables)


def listed(value: Any) -> Any:
    """Return plain tables anew, with lists for tuples."""
    if isinstance(value, dict):
        return {key: listed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [listed(inner) for inner in value]
    return value


class _Field:
    """A field of a scenario as a key: another one's is the same where it is the same object.

    One that is merely equal may be written otherwise, as 0.0 and −0.0 are.
    """

    def __init__(self, scenario: ScenarioFacts, name: str) -> None:
        self.scenario = scenario
        self.name = name
        self._part = getattr(scenario, name)

    def __hash__(self) -> int:
        return hash((self.name, id(self._part)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Field) and self.name == other.name and self._part is other._part


@lru_cache(maxsize=40)  # the fields of a scenario, and some that differ from cell to cell
def _written(field: _Field) -> WrittenPart:
    content = field.scenario.model_dump(by_alias=True, exclude_none=True, include={field.name})
    [(key, value)] = content.items()
    return WrittenPart(key, listed(value))
