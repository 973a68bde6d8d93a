"""The fields of scenario files: what each means, where it stands, its domain, an example."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Spec, Variant, kind_of
from asyncdp_sim.core.words import toml_of
from asyncdp_sim.network.table_file import EXAMPLES
from asyncdp_sim.scenario.files import FILES
from asyncdp_sim.scenario.spec import Scenario

_NUMBERS = {int: "whole numbers", float: "numbers"}


def domain(field: FieldInfo) -> str:
    """Return the values that a field takes, but for absence."""
    read = _words(field.annotation, field.metadata)
    extra = field.json_schema_extra
    text = extra.get("domain") if isinstance(extra, Mapping) else None
    if text is None:
        return read
    return f"{text}, {read}" if any(mark in read for mark in "<>≤≥") else str(text)


def takes_numbers(annotation: Any) -> bool:
    """Tell whether a type has numbers in it, not those of tables."""
    return any(
        part in _NUMBERS or (get_origin(part) is Literal and _is_number(get_args(part)[0]))
        for part in parts(annotation)
    )


def specs(annotation: Any) -> tuple[type[BaseModel], ...]:
    """Return the tables that a type has in it, kinds and others, in their order."""
    matches = [part for part in parts(annotation) if _is_table(part)]
    return tuple(dict.fromkeys(matches))


def parts(annotation: Any) -> Iterator[Any]:
    """Yield the types that a type is made of: without marks, unions, lists and tables by name."""
    inner, _ = _bare(annotation, ())
    origin = get_origin(inner)
    if origin in (Union, UnionType):
        for item in get_args(inner):
            yield from parts(item)
    elif origin is tuple or origin is list:
        yield from parts(get_args(inner)[0])
    elif origin is dict:
        yield from parts(get_args(inner)[1])
    else:
        yield inner


def _bare(annotation: Any, marks: Any) -> tuple[Any, list[Any]]:
    """Return a type without its marks, and these, those of fields taken apart."""
    result = list(marks)
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        result += more
    return annotation, [
        part
        for mark in result
        for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])
    ]


def _words(annotation: Any, marks: Any) -> str:
    inner, result = _bare(annotation, marks)
    origin, inside = get_origin(inner), get_args(inner)
    if origin in (Union, UnionType):
        return _either(inside, result)
    if origin is Literal:
        spelled = list(map(toml_of, inside))
        return spelled[0] if len(spelled) == 1 else f"one of {', '.join(spelled)}"
    if origin is tuple or origin is list:
        return f"a list of {_words(inside[0], ())}"
    if inner is bool:
        return "true or false"
    if inner in _NUMBERS:
        return _number(inner, result)
    if origin is dict:
        return f"a table of {_words(inside[1], ())}"
    if _is_table(inner):
        return "a table"
    return "text" if inner is str else "any value"


def _either(inside: tuple[Any, ...], marks: list[Any]) -> str:
    options = [item for item in inside if item is not NoneType]
    tables = [item for item in options if _is_table(_bare(item, ())[0])]
    kinds = [kind_of(item) for item in tables if "kind" in item.model_fields]
    text = [_words(item, marks if len(options) == 1 else ()) for item in options]
    if len(kinds) > 0 and len(kinds) == len(options):
        alone = "the name of a kind, or " if any(item is FAMILY_BY_NAME for item in marks) else ""
        return f"{alone}a table whose kind is one of {', '.join(kinds)}"
    listed = [f"a list of {words}" for words in text]
    short = ["a list of them" if words in listed else words for words in text]
    return ", or ".join(dict.fromkeys(short))


def _number(kind: Any, marks: list[Any]) -> str:
    """Return the range of a number, as narrow as all of its constraints make it."""
    finite = any(getattr(mark, "allow_inf_nan", None) is False for mark in marks)
    low = max(_bounds(marks, ge=False, gt=True), default=None)
    high = min(_bounds(marks, le=True, lt=False), default=None)  # of equal ends the open one
    ends = []
    if low is not None:
        ends.append(f"{'>' if low[1] else '≥'} {_spelled(low[0])}")
    if high is not None:
        ends.append(f"{'≤' if high[1] else '<'} {_spelled(high[0])}")
    infinite = ", or inf" if kind is float and not finite and high is None else ""
    return f"{_NUMBERS[kind]} {' and '.join(ends)}".strip() + infinite


def _bounds(marks: list[Any], **names: bool) -> Iterator[tuple[float, bool]]:
    """Yield the bounds that marks of these names set, each with what stands beside its name."""
    for mark in marks:
        for name, beside in names.items():
            if getattr(mark, name, None) is not None:
                yield getattr(mark, name), beside


def _spelled(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else f"{bound:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_table(each: Any) -> bool:
    return isinstance(each, type) and issubclass(each, BaseModel)


_M = TypeVar("_M", bound=Spec)


def examples_of(member: type[_M]) -> tuple[_M, ...]:
    """Return examples of a kind for three owners, as ``examples.toml`` beside this module has them.

    They are for the reference and for tests, between them of every way in which it can be set.

    Raises
    ------
    SpecError
        If the class refuses one, or has none and does not do without fields.
    """
    every = examples().get(member.__name__, [{}])
    try:
        return tuple(member(**_with_file(fields)) for fields in every)
    except SpecError as error:
        where = f"{member.__name__} in asyncdp_sim/scenario/examples.toml"
        raise SpecError(error.faults, where) from None


@cache
def examples() -> Mapping[str, list[dict[str, Any]]]:
    """Return the fields of all examples, by class; of one that is not there it is no field."""
    return tomllib.loads(files(__package__).joinpath("examples.toml").read_text("utf-8"))


def _with_file(fields: dict[str, Any]) -> dict[str, Any]:
    path = EXAMPLES / fields.get("path", "")
    return fields | {"path": str(path)} if path.is_file() else fields


def line_of(at: str, example: Callable[..., Any], *of: Any) -> str:
    """Return the line of TOML that sets a table or field to an example."""
    return f"{at} = {toml_of(example(*of))}"


def value_of(info: FieldInfo) -> Any:
    """Return an example's value, or the default's."""
    if info.examples:
        return info.examples[0]
    if info.is_required() or info.default is None:
        return example_of(specs(info.annotation)[0])
    return plain(info.get_default(call_default_factory=True))


def example_of(member: type[BaseModel]) -> dict[str, Any]:
    """Return an example of a table: of a kind its first, else what is required of it."""
    if issubclass(member, Variant):
        return _said(examples_of(member)[0])
    fields = member.model_fields.items()
    return {info.alias or name: value_of(info) for name, info in fields if info.is_required()}


def example_with(member: Any, name: str, info: FieldInfo) -> dict[str, Any]:
    """Return the table of an example of a kind that sets this field."""
    for example in examples_of(member):
        value = getattr(example, name)
        if value is not None and (info.is_required() or value != info.default):
            return _said(example, name)
    value = info.examples[0] if info.examples else info.get_default(call_default_factory=True)
    return _said(examples_of(member)[0]) | {name: plain(value)}


def _said(example: BaseModel, *names: str) -> dict[str, Any]:
    """Return a table without what it leaves at its default; files by their names."""
    table = {"kind": example.kind} if isinstance(example, Variant) else {}
    for name, info in type(example).model_fields.items():
        value = getattr(example, name)
        is_set = info.is_required() or name in names or value != info.default
        if is_set and value is not None:
            table[info.alias or name] = Path(value).name if name in FILES else plain(value)
    return table


def plain(value: Any) -> Any:
    """Return a value as plain ones: tables and lists."""
    if isinstance(value, BaseModel):
        return _said(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


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
    return "absent" if value is None else toml_of(plain(value))


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
