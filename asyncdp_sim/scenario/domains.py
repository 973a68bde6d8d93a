"""Domains of fields in words, read from their types and constraints."""

import math
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from asyncdp_sim.spec.base import kind_of
from asyncdp_sim.spec.registry import FAMILY_BY_NAME

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
