"""Domains of fields in words, and examples of fields and kinds as lines of TOML."""

import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from asyncdp_sim.core.specification import FAMILY_BY_NAME, Spec, Variant, kind_of
from asyncdp_sim.network.table_file import EXAMPLES

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
        return _choice(inside)
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


def _choice(inside: tuple[Any, ...]) -> str:
    spelled = [f'"{option}"' if isinstance(option, str) else str(option) for option in inside]
    return spelled[0] if len(spelled) == 1 else f"one of {', '.join(spelled)}"


def _number(kind: Any, marks: list[Any]) -> str:
    """Return the range of a number, as narrow as all of its constraints make it."""
    low, high, over, under = -math.inf, math.inf, False, False
    finite = False
    for mark in marks:
        for name, strict in (("ge", False), ("gt", True)):
            bound = getattr(mark, name, None)
            if bound is not None and (bound, strict) > (low, over):
                low, over = bound, strict
        for name, strict in (("le", False), ("lt", True)):
            bound = getattr(mark, name, None)
            if bound is not None and (-bound, strict) > (-high, under):
                high, under = bound, strict
        finite |= getattr(mark, "allow_inf_nan", None) is False
    noun = _NUMBERS[kind]
    above = "" if low == -math.inf else f"{'>' if over else '≥'} {_spelled(low)}"
    below = "" if high == math.inf else f"{'<' if under else '≤'} {_spelled(high)}"
    infinite = ", or inf" if kind is float and not finite and below == "" else ""
    range_ = " and ".join(part for part in (above, below) if part != "")
    return f"{noun} {range_}".strip() + infinite


def _spelled(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else f"{bound:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_table(each: Any) -> bool:
    return isinstance(each, type) and issubclass(each, BaseModel)


_FILES = ("path", "public_path")
_M = TypeVar("_M", bound=Spec)


def examples_of(member: type[_M]) -> tuple[_M, ...]:
    """Return examples of a kind for three owners, as ``examples.toml`` beside this module has them.

    They are for the reference and for tests, between them of every way in which it can be set.
    """
    listed = examples().get(member.__name__, [{}])
    return tuple(member(**_with_file(fields)) for fields in listed)


@cache
def examples() -> Mapping[str, list[dict[str, Any]]]:
    """Return the fields of all examples, by class; of one that is not there it is no field."""
    return tomllib.loads(files(__package__).joinpath("examples.toml").read_text("utf-8"))


def _with_file(fields: dict[str, Any]) -> dict[str, Any]:
    path = EXAMPLES / fields.get("path", "")
    return fields | {"path": str(path)} if path.is_file() else fields


def toml(value: Any) -> str:
    """Return a value as TOML writes it in one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner != "" else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    bare = key.replace("_", "").replace("-", "")
    return key if bare.isascii() and bare.isalnum() else json.dumps(key, ensure_ascii=False)


def line_of(at: str, example: Callable[..., Any], *of: Any) -> str:
    """Return the line of TOML that sets a table or field to an example."""
    return f"{at} = {toml(example(*of))}"


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
    needed = {n: info for n, info in member.model_fields.items() if info.is_required()}
    return {info.alias or name: value_of(info) for name, info in needed.items()}


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
        faults = info.is_required() or name in names or value != info.default
        if faults and value is not None:
            table[info.alias or name] = Path(value).name if name in _FILES else plain(value)
    return table


def plain(value: Any) -> Any:
    """Return a value as plain ones: tables and lists."""
    if isinstance(value, BaseModel):
        return _said(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value
