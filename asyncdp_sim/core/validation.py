"""Validation errors in our words: dotted key, the value given, and the values allowed.

Names of the validation library never show. Below, ``spec`` is a model class or an annotation,
``raw`` the table as the user gave it (None for one of any kind), ``item`` one entry of pydantic's
``errors()``, and ``path`` or ``key`` the keys that lead to a value.

Of ``epsilon = -1`` in the table ``[privacy]`` pydantic's entry says ``loc: ("privacy", "epsilon",
"<number>")``, where the last part is our tag of a union, ``type: "greater_than"``, ``input: -1``
and ``ctx: {"gt": 0.0}``. The fault has the key ``privacy.epsilon``, and is printed as

    privacy.epsilon: given -1; allowed is a number > 0
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from itertools import chain
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.gone import instead_of_field
from asyncdp_sim.core.plugins import Place

_CONFLICTS = "fields_that_do_not_fit"
_BOUNDS = {
    "greater_than": ("gt", ">"),
    "greater_than_equal": ("ge", "≥"),
    "less_than": ("lt", "<"),
    "less_than_equal": ("le", "≤"),
}
_WORDS = {
    "missing": "this field is required",
    "finite_number": "allowed is a finite number",
    "int_type": "allowed is a whole number",
    "int_from_float": "allowed is a whole number",
    "float_type": "allowed is a number",
    "string_type": "allowed is a text",
    "string_unicode": "allowed is a text",
    "bool_type": "allowed is true or false",
    "model_type": "allowed is a table",
    "model_attributes_type": "allowed is a table",
    "dict_type": "allowed is a table",
    "tuple_type": "allowed is a list",
    "list_type": "allowed is a list",
    "string_too_short": "allowed is a text of one letter or more",
    "too_short": "allowed is a list with at least one value",
}
"""By pydantic's type of error."""
MOST_FAULTS = 1000
"""Of one table: nobody reads more, and 100,000 take a minute to write."""
TAGS = ("<number>", "<list>", "<text>", "<table>")
"""Labels of numbers, lists, texts and tables in a union of them; never part of a key."""


def faults_of(conflicts: Sequence[Fault]) -> PydanticCustomError:
    """Return the error that a validator raises to report several faults of fields that conflict."""
    context = {"faults": list(conflicts)}
    return PydanticCustomError(_CONFLICTS, "fields do not fit together", context)


def fields_of_kind(spec: object, path: Sequence[str | int], kind: object) -> set[str] | None:
    """Return the fields that the member of this kind has at ``path``; None if there is none."""
    place = Place.named(kind)  # of custom code, "python:FILE.py:CLASS"
    if place is not None:
        try:
            return set(getattr(place.found(), "model_fields", ()))
        except SpecError as error:
            key = ".".join([*map(str, path), "kind"])
            raise SpecError([fault.under(key) for fault in error.faults]) from None
    here = _members_at(spec, None, path)
    named = [member for member in here if _is_kind(member, kind)]
    return {field for member in named for field in member.model_fields} if named else None


def faults_in(error: ValidationError, spec: object, raw: object) -> list[Fault]:
    """Return every fault of a validation error, with the user's own key paths."""
    problems: list[Fault] = []
    for item in error.errors(include_url=False):
        if len(problems) >= MOST_FAULTS:
            more = error.error_count() - MOST_FAULTS
            problems.append(Fault("", f"{more:,} more mistakes", "mend those above first"))
            break
        key = _user_path(item["loc"], raw)
        if item["type"] == _CONFLICTS:
            problems += [fault.under(_dotted(key)) for fault in item["ctx"]["faults"]]
            continue
        problem = _fault(item, key, spec, raw)
        if problem is None:
            continue
        last = problems[-1] if len(problems) > 0 else None
        if last is not None and (last.key, last.given) == (problem.key, problem.given):
            other = problem.allowed.removeprefix("allowed is ")  # of another member of a union
            problems[-1] = replace(last, allowed=f"{last.allowed} or {other}")
        else:
            problems.append(problem)
    return problems


def _fault(
    item: Mapping[str, Any], key: list[str | int], spec: object, raw: object
) -> Fault | None:
    """Return the fault of a pydantic error at ``key``; None if its values have faults instead."""
    error_type, value = item["type"], item["input"]
    if error_type == "extra_forbidden":
        return _unknown_key(key, value, spec, raw)
    if error_type == "too_short" and isinstance(value, Sequence) and len(value) > 0:
        return None  # pydantic counts valid values alone, and every other one has its own fault
    if error_type == "missing" and key[-1] != item["loc"][-1]:
        key = [*key, item["loc"][-1]]  # a field of a kind that was given without a table
    wrong_kind = error_type in ("union_tag_invalid", "union_tag_not_found")
    if wrong_kind and not _stands_alone(raw, key):
        key = [*key, "kind"]
        value = dict(value).get("kind") if isinstance(value, Mapping | BaseModel) else None
    absent = error_type in ("missing", "union_tag_not_found")
    text = "nothing" if absent else show(value)
    return Fault(_dotted(key), text, _allowed(item, spec, raw, key))


def _unknown_key(key: list[str | int], value: object, spec: object, raw: object) -> Fault:
    """Return the fault of a key that no field has, or has no more."""
    instead = instead_of_field(_dotted(key))
    if instead is None:
        return Fault(_dotted(key), f"an unknown key {key[-1]!r}", _known_keys(spec, raw, key))
    table_or_field = "table" if isinstance(value, Mapping) else "field"
    return Fault(_dotted(key), show(value), f"this {table_or_field} is gone: {instead}")


def _user_path(location: tuple[str | int, ...], raw: object) -> list[str | int]:
    """Drop from a location what only the validation library put there (tags of unions)."""
    path: list[str | int] = []
    here = raw
    for part in location:
        if isinstance(here, Mapping):
            if part in here:
                here = here[part]
            elif part == here.get("kind") or part in TAGS:
                continue
            else:
                here = None
        elif isinstance(here, list | tuple) and isinstance(part, int):
            here = here[part] if part < len(here) else None
        else:
            continue
        path.append(part)
    return path


def _stands_alone(raw: object, path: Sequence[str | int]) -> bool:
    """Return whether a kind was given without a table around it; False where ``path`` is missing.

    Not only tables and objects have a key ``kind``: so has a class, which Python may give.
    """
    for part in path:
        if not isinstance(raw, Mapping) or part not in raw:
            return False
        raw = raw[part]
    return not isinstance(raw, Mapping | BaseModel | type)


def _dotted(path: list[str | int]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")


def show(value: object) -> str:
    """Return a value as TOML would spell it, cut short where it is long."""
    text = _spelled(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_spelled(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    if isinstance(value, int) and value.bit_length() > 10_000:
        return hex(value)  # Python refuses to write so many decimal digits
    return value.isoformat() if isinstance(value, date | time) else repr(value)


def _allowed(item: Mapping[str, Any], spec: object, raw: object, key: list[str | int]) -> str:
    """Return what may stand where something else was given."""
    error_type, context = item["type"], item.get("ctx", {})
    if error_type in _BOUNDS:
        name, sign = _BOUNDS[error_type]
        limit = context[name]
        if isinstance(limit, int):  # pydantic gives the limit the field's type
            return f"allowed is a whole number {sign} {limit}"
        return f"allowed is a number {sign} {limit:g}"
    if error_type in _WORDS:
        return _WORDS[error_type]
    if error_type == "literal_error":
        return "allowed: " + str(context["expected"]).replace("'", "").replace(" or ", ", ")
    if error_type == "union_tag_invalid":
        return "allowed: " + str(context["expected_tags"]).replace("'", "")
    if error_type == "union_tag_not_found":
        fields = (member.model_fields.get("kind") for member in _members_at(spec, raw, key[:-1]))
        kinds = (get_args(field.annotation) for field in fields if field is not None)
        return f"allowed: {', '.join(chain(*kinds))}"
    message: str = item["msg"]
    return message


def _known_keys(spec: object, raw: object, key: list[str | int]) -> str:
    """Return the keys that a table has, after a field of another table or one spelled alike."""
    names, elsewhere = _names_at(spec, raw, key[:-1]), list[str]()
    if key[-1] not in _names_at(spec, None, key[:-1]):  # no field of another kind of this table
        tables = [str(name) for name in _names_at(spec, raw, [])]
        elsewhere = [f"{t}.{key[-1]}" for t in tables if key[-1] in _names_at(spec, raw, [t])]
    near = difflib.get_close_matches(str(key[-1]), names, n=1, cutoff=0.5)
    meant = " or ".join(map(repr, elsewhere or near))  # the same name outranks a similar spelling
    hint = f"did you mean {meant}? " if meant != "" else ""
    return f"{hint}known keys: {', '.join(names)}"


def _names_at(spec: object, raw: object, path: Sequence[str | int]) -> list[str]:
    """Return the names of all fields of the table at ``path``."""
    members = _members_at(spec, raw, path)
    fields = chain(*(member.model_fields.items() for member in members))
    return list(dict.fromkeys(field.alias or name for name, field in fields))


def _members_at(spec: object, raw: object, path: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the models that may stand at ``path``: where ``raw`` gives a kind, that one alone.

    With ``raw`` None: those of every kind.
    """
    here = list(_members(spec))
    named_freely = False
    for part in path:
        if named_freely:  # ``part`` is a key of the user's own, such as a column's name
            named_freely = False
        else:
            here = _narrowed(here, raw)
            fields = [
                model.model_fields[part]
                for model in here
                if isinstance(part, str) and part in model.model_fields
            ]
            named_freely = any(get_origin(field.annotation) is dict for field in fields)
            several = [member for field in fields for member in _members(field.annotation)]
            here = list(dict.fromkeys(several))  # a law, or a list of them
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return here if named_freely else _narrowed(here, raw)


def _narrowed(models: list[type[BaseModel]], raw: object) -> list[type[BaseModel]]:
    """Return those of the kind that ``raw`` gives; all if it gives none, or an unknown one."""
    if not isinstance(raw, Mapping) or "kind" not in raw:
        return models
    return [model for model in models if _is_kind(model, raw["kind"])] or models


def _is_kind(model: type[BaseModel], kind: object) -> bool:
    field = model.model_fields.get("kind")
    return field is not None and kind in get_args(field.annotation)


def _members(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models inside an annotation, looking through unions, Annotated and tuples."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not Literal:
        for inner in get_args(annotation):
            yield from _members(inner)
