"""The frozen base of every specification, its number types, and its error text.

A specification is parsed once, at the door, into a frozen pydantic model. Whatever is wrong is
reported in our words: dotted key, what was given, what is allowed. Names of the validation
library never show.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from asyncdp_sim.errors import Fault, SpecError

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelType
else:
    _ModelType = type(BaseModel)

_T = TypeVar("_T")
_CONFLICTS = "fields_that_do_not_fit"


def _number_or_list(value: object) -> str:
    return "list" if isinstance(value, list | tuple) else "number"


Several = Annotated[tuple[_T, ...], Strict(False), Field(min_length=1)]
PerOwner = Annotated[
    Annotated[_T, Tag("number")] | Annotated[Several[_T], Tag("list")],
    Discriminator(_number_or_list),
]
"""One value for all owners, or a list with one value per owner."""


class _SpecType(_ModelType):
    """Turns the validation library's error into ours when a caller constructs a spec."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:  # noqa: N805
        try:
            return super().__call__(*args, **fields)
        except ValidationError as error:
            raise SpecError(faults(error, cls, fields)) from None


class Spec(BaseModel, metaclass=_SpecType):
    """Frozen, strict, without unknown fields.

    Raises
    ------
    SpecError
        At construction, with one :class:`~asyncdp_sim.errors.Fault` per wrong field.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def parse(spec: type[Any], raw: object) -> Any:
    """Build ``spec`` (a Spec or a discriminated union of them) from plain TOML values.

    Raises
    ------
    SpecError
        With every fault found.
    """
    adapter: TypeAdapter[Any] = TypeAdapter(spec)
    try:
        return adapter.validate_python(raw)
    except ValidationError as error:
        raise SpecError(faults(error, spec, raw)) from None


def faults_of(found: Sequence[Fault]) -> PydanticCustomError:
    """Return what a validator raises to report several faults of fields that do not fit."""
    return PydanticCustomError(_CONFLICTS, "fields do not fit together", {"faults": list(found)})


def per_owner(value: _T | tuple[_T, ...], n_owners: int) -> tuple[_T, ...]:
    """Return one value per owner from a single value or a list that has one per owner."""
    return value if isinstance(value, tuple) else (value,) * n_owners


def fields_of_kind(spec: object, path: Sequence[str | int], kind: object) -> set[str] | None:
    """Return the fields that the member of this kind has at ``path``; None if there is none."""
    here = _members_at(spec, None, path)
    named = [member for member in here if _is_kind(member, kind)]
    return {field for member in named for field in member.model_fields} if named else None


def faults(error: ValidationError, spec: object, raw: object) -> list[Fault]:
    """Return what a validation error says, in our words and with the user's own key paths."""
    found: list[Fault] = []
    for item in error.errors(include_url=False):
        key = _user_path(item["loc"], raw)
        kind, context = item["type"], item.get("ctx", {})
        if kind == _CONFLICTS:
            found += [fault.under(_dotted(key)) for fault in context["faults"]]
            continue
        if kind in ("union_tag_invalid", "union_tag_not_found"):
            key = [*key, str(context["discriminator"]).strip("'")]
        given = "nothing" if kind in ("missing", "union_tag_not_found") else _show(item["input"])
        if kind == "union_tag_invalid":
            given = _show(context["tag"])
        if kind == "extra_forbidden":
            given = f"an unknown key {key[-1]!r}"
            allowed = _known_keys(spec, raw, key)
        else:
            allowed = _allowed(kind, context, item["msg"], spec, raw, key)
        found.append(Fault(_dotted(key), given, allowed))
    return found


def _user_path(location: tuple[str | int, ...], raw: object) -> list[str | int]:
    """Drop from a location what only the validation library put there (tags of unions)."""
    path: list[str | int] = []
    here = raw
    for part in location:
        if isinstance(here, Mapping):
            if part in here:
                here = here[part]
            elif part == here.get("kind"):
                continue
            else:
                here = None
        elif isinstance(here, list | tuple) and isinstance(part, int):
            here = here[part] if part < len(here) else None
        else:
            continue
        path.append(part)
    return path


def _dotted(path: list[str | int]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _allowed(
    kind: str,
    context: Mapping[str, Any],
    message: str,
    spec: object,
    raw: object,
    key: list[str | int],
) -> str:
    """Say what may stand where something else was given."""
    bounds = {
        "greater_than": "gt",
        "greater_than_equal": "ge",
        "less_than": "lt",
        "less_than_equal": "le",
    }
    signs = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
    if kind in bounds:
        return f"allowed is a number {signs[bounds[kind]]} {context[bounds[kind]]:g}"
    words = {
        "missing": "this field is required",
        "finite_number": "allowed is a finite number",
        "int_type": "allowed is a whole number",
        "int_from_float": "allowed is a whole number",
        "float_type": "allowed is a number",
        "string_type": "allowed is a text",
        "bool_type": "allowed is true or false",
        "model_type": "allowed is a table",
        "model_attributes_type": "allowed is a table",
        "dict_type": "allowed is a table",
        "tuple_type": "allowed is a list",
        "list_type": "allowed is a list",
        "too_short": "allowed is a list with at least one value",
    }
    if kind in words:
        return words[kind]
    if kind == "literal_error":
        return f"allowed: {context['expected'].replace(chr(39), '').replace(' or ', ', ')}"
    if kind == "union_tag_invalid":
        return f"allowed: {context['expected_tags'].replace(chr(39), '')}"
    if kind == "union_tag_not_found":
        return f"allowed: {', '.join(_kinds(spec, raw, key[:-1]))}"
    return message


def _known_keys(spec: object, raw: object, key: list[str | int]) -> str:
    known = [field for member in _members_at(spec, raw, key[:-1]) for field in member.model_fields]
    near = difflib.get_close_matches(str(key[-1]), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}known keys: {', '.join(known)}"


def _kinds(spec: object, raw: object, path: Sequence[str | int]) -> Iterator[str]:
    for member in _members_at(spec, raw, path):
        yield from (
            get_args(member.model_fields["kind"].annotation)
            if "kind" in member.model_fields
            else ()
        )


def _members_at(spec: object, raw: object, path: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the models that may stand at ``path``; where a kind is given, that one alone."""
    here = list(_members(spec))
    for part in [*path, None]:
        if isinstance(raw, Mapping) and "kind" in raw:
            named = [m for m in here if _is_kind(m, raw["kind"])]
            here = named or here
        if part is None:
            break
        raw = raw.get(part) if isinstance(raw, Mapping) else None
        fields = [
            m.model_fields[part] for m in here if isinstance(part, str) and part in m.model_fields
        ]
        here = [member for field in fields for member in _members(field.annotation)]
    return here


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
