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
    said = extra.get("domain") if isinstance(extra, Mapping) else None
    if said is None:
        return read
    return f"{said}, {read}" if any(mark in read for mark in "<>≤≥") else str(said)


def takes_numbers(annotation: Any) -> bool:
    """Tell whether a type has numbers in it, not those of tables."""
    return any(
        each in _NUMBERS or (get_origin(each) is Literal and _is_number(get_args(each)[0]))
        for each in parts(annotation)
    )


def specs(annotation: Any) -> tuple[type[BaseModel], ...]:
    """Return the tables that a type has in it, kinds and others, in their order."""
    found = [each for each in parts(annotation) if _is_table(each)]
    return tuple(dict.fromkeys(found))


def parts(annotation: Any) -> Iterator[Any]:
    """Yield the types that a type is made of: without marks, unions, lists and tables by name."""
    inner, _ = _bare(annotation, ())
    origin = get_origin(inner)
    if origin in (Union, UnionType):
        for each in get_args(inner):
            yield from parts(each)
    elif origin is tuple or origin is list:
        yield from parts(get_args(inner)[0])
    elif origin is dict:
        yield from parts(get_args(inner)[1])
    else:
        yield inner


def _bare(annotation: Any, marks: Any) -> tuple[Any, list[Any]]:
    """Return a type without its marks, and these, those of fields taken apart."""
    found = list(marks)
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        found += more
    return annotation, [
        part
        for mark in found
        for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])
    ]


def _words(annotation: Any, marks: Any) -> str:
    inner, found = _bare(annotation, marks)
    origin, inside = get_origin(inner), get_args(inner)
    if origin in (Union, UnionType):
        return _either(inside, found)
    if origin is Literal:
        return _choice(inside)
    if origin is tuple or origin is list:
        return f"a list of {_words(inside[0], ())}"
    if inner is bool:
        return "true or false"
    if inner in _NUMBERS:
        return _number(inner, found)
    if origin is dict:
        return f"a table of {_words(inside[1], ())}"
    if _is_table(inner):
        return "a table"
    return "text" if inner is str else "any value"


def _either(inside: tuple[Any, ...], marks: list[Any]) -> str:
    options = [each for each in inside if each is not NoneType]
    tables = [each for each in options if _is_table(_bare(each, ())[0])]
    kinds = [kind_of(each) for each in tables if "kind" in each.model_fields]
    said = [_words(each, marks if len(options) == 1 else ()) for each in options]
    if len(kinds) > 0 and len(kinds) == len(options):
        alone = "the name of a kind, or " if any(each is FAMILY_BY_NAME for each in marks) else ""
        return f"{alone}a table whose kind is one of {', '.join(kinds)}"
    listed = [f"a list of {words}" for words in said]
    short = ["a list of them" if words in listed else words for words in said]
    return ", or ".join(dict.fromkeys(short))


def _choice(inside: tuple[Any, ...]) -> str:
    spelled = [f'"{each}"' if isinstance(each, str) else str(each) for each in inside]
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
