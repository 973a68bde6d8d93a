"""The fields of scenario files, one by one: what each means, where it stands, and an example."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from asyncdp_sim.core.specification import Variant, kind_of
from asyncdp_sim.scenario.domains import (
    domain,
    example_of,
    example_with,
    line_of,
    plain,
    specs,
    takes_numbers,
    toml,
    value_of,
)
from asyncdp_sim.scenario.spec import Scenario


@dataclass(frozen=True)
class Field:
    """A field of a table, or of some of its kinds.

    Attributes
    ----------
    table : str
        Path of the table it stands in; empty of the top.
    name : str
    kinds : tuple of str
        The kinds of the table that have it so; none where the table has no kinds.
    meaning, unit, domain, default : str
        "required" and "absent" are defaults too.
    write_example : callable
        Writes a line of TOML; only when asked, since examples of all kinds take a while.
    """

    table: str
    name: str
    kinds: tuple[str, ...]
    meaning: str
    unit: str
    domain: str
    default: str
    write_example: Callable[[], str] = field(compare=False)

    @cached_property
    def example(self) -> str:
        """A line of TOML."""
        return self.write_example()

    @property
    def path(self) -> str:
        """Its dotted path."""
        return f"{self.table}.{self.name}".lstrip(".")


@dataclass(frozen=True)
class KindEntry:
    """A kind of a table.

    Attributes
    ----------
    table, kind, meaning : str
    more : str
        The rest of its class's docstring; may be empty.
    write_example : callable
        Writes a line of TOML.
    """

    table: str
    kind: str
    meaning: str
    more: str
    write_example: Callable[[], str] = field(compare=False)

    @cached_property
    def example(self) -> str:
        """A line of TOML."""
        return self.write_example()


@dataclass(frozen=True)
class TableEntry:
    """A table of scenario files.

    Attributes
    ----------
    path : str
        Empty of the top.
    meaning : str
    kinds : tuple of KindEntry
        None where it is one table with no kinds.
    fields : tuple of Field
    """

    path: str
    meaning: str
    kinds: tuple[KindEntry, ...]
    fields: tuple[Field, ...]


class _Place(NamedTuple):
    """The place of a table, the head of its examples, what it is for, and its kinds."""

    path: str
    at: str
    meaning: str
    members: tuple[type[BaseModel], ...]


def tables() -> tuple[TableEntry, ...]:
    """Return every table, the top first; a table that stands in several places where it is first.

    Laws are those of ``compute``, and clocks of edges those of ``clock``.
    """
    return _walked()[0]


def told_elsewhere() -> Mapping[str, str]:
    """Return the fields whose tables are described at another path, and that path."""
    return _walked()[1]


@cache
def _walked() -> tuple[tuple[TableEntry, ...], Mapping[str, str]]:
    by_name: dict[str, TableEntry] = {}
    elsewhere: dict[str, str] = {}
    homes: dict[type[BaseModel], str] = {Scenario: ""}
    waiting = [_Place("", "", "", (Scenario,))]
    while len(waiting) > 0:
        place = waiting.pop(0)
        path, members = place.path, place.members
        entry = _table(place)
        before = by_name.get(path)
        if before is not None:
            fields = _merged((*before.fields, *entry.fields))
            entry = replace(before, kinds=before.kinds + entry.kinds, fields=fields)
        by_name[path] = entry
        for member in members:
            for name, info in member.model_fields.items():
                held = specs(info.annotation)
                new = [table for table in held if table not in homes]
                below = f"{path}.{info.alias or name}".lstrip(".")
                homes |= dict.fromkeys(new, below)
                elsewhere |= [(below, homes[table]) for table in held if homes[table] != below]
                if len(new) > 0:
                    at = f"{below}.term" if get_origin(info.annotation) is dict else below
                    waiting.append(_Place(below, at, info.description or "", tuple(new)))
    return tuple(by_name.values()), elsewhere


@cache
def fields() -> tuple[Field, ...]:
    """Return every field, table by table."""
    return tuple(item for table in tables() for item in table.fields)


def field_at(path: str) -> tuple[Field, ...]:
    """Return the fields at a dotted path, of whatever kinds."""
    return tuple(item for item in fields() if item.path == path)


def _table(place: _Place) -> TableEntry:
    path, kinds, result = place.path, [], list[Field]()
    for member in place.members:
        kind = kind_of(member) if issubclass(member, Variant) else None
        if kind is not None:
            first, _, rest = (member.__doc__ or "").strip().partition("\n")
            line = partial(line_of, place.at, example_of, member)
            kinds.append(KindEntry(path, kind, _flowing(first), _flowing(rest), line))
        for name, info in member.model_fields.items():
            if name != "kind":
                result.append(_field(place, kind, name, info, member))
    return TableEntry(path, place.meaning, tuple(kinds), _merged(result))


def _field(place: _Place, kind: str | None, name: str, info: FieldInfo, member: Any) -> Field:
    extra = info.json_schema_extra
    unit = extra.get("unit") if isinstance(extra, Mapping) else None
    spelled = info.alias or name
    if kind is not None:
        line = partial(line_of, place.at, example_with, member, name, info)
    elif "." in place.path:
        line = partial(line_of, place.at, lambda: example_of(member) | {spelled: value_of(info)})
    else:
        line = partial(line_of, f"{place.path}.{spelled}".lstrip("."), value_of, info)
    return Field(
        place.path,
        spelled,
        () if kind is None else (kind,),
        info.description or "",
        _unit(info) if unit is None else str(unit),
        domain(info),
        _default(info),
        line,
    )


def _unit(info: FieldInfo) -> str:
    """Return the unit of what says none: laws are lengths of time."""
    if takes_numbers(info.annotation):
        return ""
    named = {base.__name__ for spec in specs(info.annotation) for base in spec.__mro__}
    return "time units" if "LawKind" in named else "none"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if value is None:
        return "absent"
    return toml(plain(value))


def _merged(found: Sequence[Field]) -> tuple[Field, ...]:
    """Join what several kinds have alike."""
    alike: dict[Any, Field] = {}
    for result in found:
        key = replace(result, kinds=())
        kept = alike.get(key)
        alike[key] = result if kept is None else replace(kept, kinds=(*kept.kinds, *result.kinds))
    return tuple(alike.values())


def _flowing(text: str) -> str:
    """Return paragraphs without their line breaks and marks of reST."""
    blocks = [" ".join(block.split()) for block in text.strip().split("\n\n")]
    return "\n\n".join(block.replace("``", "`") for block in blocks if block != "")
