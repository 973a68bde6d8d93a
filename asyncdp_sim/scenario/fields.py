"""The fields of scenario files, one by one: what each means, where it stands, and an example."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from asyncdp_sim.scenario.domains import domain, specs, takes_numbers
from asyncdp_sim.scenario.spec import Scenario
from asyncdp_sim.spec import Kind, kind_of

_FILES = ("path", "public_path")


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
        What else its class says of it; may be empty.
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
    """Return the fields that hold tables told at another path, and that path."""
    return _walked()[1]


@cache
def _walked() -> tuple[tuple[TableEntry, ...], Mapping[str, str]]:
    found: dict[str, TableEntry] = {}
    elsewhere: dict[str, str] = {}
    homes: dict[type[BaseModel], str] = {Scenario: ""}
    waiting = [_Place("", "", "", (Scenario,))]
    while len(waiting) > 0:
        place = waiting.pop(0)
        path, members = place.path, place.members
        entry = _table(place)
        before = found.get(path)
        found[path] = entry if before is None else _joined(before, entry)
        for member in members:
            for name, info in member.model_fields.items():
                held = specs(info.annotation)
                new = [each for each in held if each not in homes]
                below = f"{path}.{info.alias or name}".lstrip(".")
                homes |= dict.fromkeys(new, below)
                elsewhere |= [(below, homes[each]) for each in held if homes[each] != below]
                if len(new) > 0:
                    at = f"{below}.term" if get_origin(info.annotation) is dict else below
                    waiting.append(_Place(below, at, info.description or "", tuple(new)))
    return tuple(found.values()), elsewhere


@cache
def fields() -> tuple[Field, ...]:
    """Return every field, table by table."""
    return tuple(each for table in tables() for each in table.fields)


def field_at(path: str) -> tuple[Field, ...]:
    """Return the fields at a dotted path, of whatever kinds."""
    return tuple(each for each in fields() if each.path == path)


def toml(value: Any) -> str:
    """Return a value as TOML writes it in one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {toml(each)}" for key, each in value.items())
        return f"{{ {inner} }}" if inner != "" else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    return key if plain.isascii() and plain.isalnum() else json.dumps(key, ensure_ascii=False)


def _table(place: _Place) -> TableEntry:
    path, kinds, found = place.path, [], list[Field]()
    for member in place.members:
        kind = kind_of(member) if issubclass(member, Kind) else None
        if kind is not None:
            first, _, rest = (member.__doc__ or "").strip().partition("\n")
            line = partial(_line, place.at, _example, member)
            kinds.append(KindEntry(path, kind, _flowing(first), _flowing(rest), line))
        for name, info in member.model_fields.items():
            if name != "kind":
                found.append(_field(place, kind, name, info, member))
    return TableEntry(path, place.meaning, tuple(kinds), _merged(found))


def _field(place: _Place, kind: str | None, name: str, info: FieldInfo, member: Any) -> Field:
    extra = info.json_schema_extra
    unit = extra.get("unit") if isinstance(extra, Mapping) else None
    spelled = info.alias or name
    if kind is not None:
        line = partial(_line, place.at, _with, member, name, info)
    elif "." in place.path:
        line = partial(_line, place.at, lambda: _example(member) | {spelled: _value(info)})
    else:
        line = partial(_line, f"{place.path}.{spelled}".lstrip("."), _value, info)
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


def _line(at: str, example: Callable[..., Any], *of: Any) -> str:
    return f"{at} = {toml(example(*of))}"


def _unit(info: FieldInfo) -> str:
    """Return the unit of what says none: laws are lengths of time."""
    if takes_numbers(info.annotation):
        return ""
    named = {base.__name__ for each in specs(info.annotation) for base in each.__mro__}
    return "time units" if "LawKind" in named else "none"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if value is None:
        return "absent"
    return toml(_plain(value))


def _value(info: FieldInfo) -> Any:
    """Return an example's value, or the default's."""
    if info.examples:
        return info.examples[0]
    if info.is_required() or info.default is None:
        return _example(specs(info.annotation)[0])
    return _plain(info.get_default(call_default_factory=True))


def _example(member: type[BaseModel]) -> dict[str, Any]:
    """Return an example of a table: of a kind its first, else what is required of it."""
    if issubclass(member, Kind):
        return _said(member.examples()[0])
    needed = {n: info for n, info in member.model_fields.items() if info.is_required()}
    return {info.alias or name: _value(info) for name, info in needed.items()}


def _with(member: Any, name: str, info: FieldInfo) -> dict[str, Any]:
    """Return the table of an example of a kind that sets this field."""
    for example in member.examples():
        value = getattr(example, name)
        if value is not None and (info.is_required() or value != info.default):
            return _said(example, name)
    value = info.examples[0] if info.examples else info.get_default(call_default_factory=True)
    return _said(member.examples()[0]) | {name: _plain(value)}


def _said(example: BaseModel, *names: str) -> dict[str, Any]:
    """Return a table without what it leaves at its default; files by their names."""
    table = {"kind": example.kind} if isinstance(example, Kind) else {}
    for name, info in type(example).model_fields.items():
        value = getattr(example, name)
        said = info.is_required() or name in names or value != info.default
        if said and value is not None:
            table[info.alias or name] = Path(value).name if name in _FILES else _plain(value)
    return table


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _said(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _merged(found: Sequence[Field]) -> tuple[Field, ...]:
    """Join what several kinds have alike."""
    alike: dict[Any, Field] = {}
    for each in found:
        key = replace(each, kinds=())
        kept = alike.get(key)
        alike[key] = each if kept is None else replace(kept, kinds=(*kept.kinds, *each.kinds))
    return tuple(alike.values())


def _joined(one: TableEntry, other: TableEntry) -> TableEntry:
    return replace(one, kinds=one.kinds + other.kinds, fields=_merged((*one.fields, *other.fields)))


def _flowing(text: str) -> str:
    """Return paragraphs without their line breaks and marks of reST."""
    blocks = [" ".join(block.split()) for block in text.strip().split("\n\n")]
    return "\n\n".join(block.replace("``", "`") for block in blocks if block != "")


def walked() -> Iterator[str]:
    """Yield every path that stands for something: tables, kinds and fields."""
    for table in tables():
        if table.path != "":
            yield table.path
        yield from (f"{table.path}.{kind.kind}" for kind in table.kinds)
        yield from (each.path for each in table.fields)
