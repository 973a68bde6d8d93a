"""The mark of a family's union: it finds the member that a table names, also one from outside."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.gone import KINDS
from asyncdp_sim.spec.base import Spec, Variant, kind_of
from asyncdp_sim.spec.plugins import Place, is_outside
from asyncdp_sim.spec.validation import faults_of

Members = Mapping[str, type[Variant]]
"""The members of a family that are listed in its union, by ``kind``."""
_MEMBERS = "asyncdp_members"
"""Where a family's schema keeps them."""


class _Family:
    """Selects the member of a union by its ``kind``, and accepts members that are not listed.

    Such a member is an object whose class has the base that all members listed have in common, or
    a table whose ``kind`` names one by its file; it is written as that table again.

    Parameters
    ----------
    alone : bool
        Whether a kind may stand without a table around it, as ``mechanism = "laplace"`` does.
    brief : bool
        Whether one of which nothing else is said is written so.
    """

    def __init__(self, *, alone: bool = False, brief: bool = False) -> None:
        self._alone, self._brief = alone, brief

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        members = _listed_in(schema).items()
        columns = {kind: member.__pydantic_core_schema__ for kind, member in members}
        listed = handler(core_schema.tagged_union_schema({**columns}, discriminator="kind"))
        if len(members) == 1:
            [listed] = listed["oneOf"]
        outside = {"type": "string", "pattern": "^python:"}
        named: JsonSchemaValue = {"required": ["kind"]}
        table = {"type": "object", "properties": {"kind": outside}, **named}
        if not self._alone:
            return {"anyOf": [{"allOf": [listed, named]}, table]}
        return {"anyOf": [{"enum": [kind for kind, _ in members]}, outside, listed, table]}

    def __get_pydantic_core_schema__(
        self, union: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return a schema that asks for a member's own when a member is met: most never are."""
        listed = get_args(union) if get_origin(union) in (Union, UnionType) else (union,)
        members = {kind_of(member): member for member in listed}
        taken = _taken_alone if self._alone else _taken
        written = _written_alone if self._brief else _written
        return core_schema.no_info_plain_validator_function(
            partial(taken, members),
            serialization=core_schema.plain_serializer_function_ser_schema(
                partial(written, members), info_arg=True
            ),
            metadata={_MEMBERS: members},
        )


FAMILY = _Family()
"""Stands beside the union of a family: ``Clock = Annotated[PoissonClock | GammaClock, FAMILY]``."""

FAMILY_BY_NAME = _Family(alone=True, brief=True)
"""The same of a family whose members a scenario may name by their ``kind`` alone."""

FAMILY_IN_TABLES = _Family(alone=True)
"""The same, but all members are written as tables, as scenarios and digests have them."""


def base_of(listed: tuple[type[Spec], ...]) -> type[Spec] | None:
    """Return the base class of a family: what its members have in common besides being a kind."""
    for base in reversed(listed[0].__mro__):
        value = issubclass(base, Spec) and base not in Variant.__mro__
        if value and base not in listed and all(issubclass(member, base) for member in listed):
            return base
    return None


def _listed_in(schema: Any) -> Members:
    """Return the members that a family's schema keeps, inside what wraps it."""
    while _MEMBERS not in schema.get("metadata", {}):
        schema = schema["schema"]
    result: Members = schema["metadata"][_MEMBERS]
    return result


def _taken(members: Members, given: Any) -> Any:
    """Return the member that is given, or built from its table."""
    listed = tuple(members.values())
    if type(given) in listed:  # most are: all that cells of a sweep have in common
        return given
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if isinstance(kind, str) and kind.startswith("python:"):
        with _in_words("kind"):
            member = _found(listed, kind)
        with _in_words(""):
            return member(**{name: value for name, value in given.items() if name != "kind"})
    if _is_from_outside(given, listed):
        with _in_words(""):
            _require_member(listed, type(given), f"a {type(given).__name__}")
        return given
    return _named(members, given).model_validate(given)


def _named(members: Members, given: Any) -> type[Variant]:
    """Return the listed member whose table or object is given; of one alone, that one."""
    if not isinstance(given, Mapping | BaseModel | type):
        raise PydanticKnownError("model_attributes_type")
    kind = given.get("kind") if isinstance(given, Mapping) else getattr(given, "kind", None)
    gone = isinstance(kind, str) and kind in KINDS
    if len(members) == 1 and not gone:
        return next(iter(members.values()))
    if kind is None:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
    if not isinstance(kind, str) or kind not in members:
        if gone:
            with _in_words("kind"):
                raise SpecError([Fault("", repr(kind), f"this kind is gone: {KINDS[kind]}")])
        remedy = ", ".join(repr(member) for member in members)
        content = {"discriminator": "'kind'", "tag": str(kind), "expected_tags": remedy}
        raise PydanticKnownError("union_tag_invalid", content)
    return members[kind]


def _written(members: Members, given: Any, how: SerializationInfo) -> Any:
    """Return the table of a member; the kind of one from outside is its place."""
    table = given.model_dump(
        mode=how.mode,
        by_alias=how.by_alias,
        exclude_unset=how.exclude_unset,
        exclude_defaults=how.exclude_defaults,
        exclude_none=how.exclude_none,
        context=how.context,
    )
    outside = _is_from_outside(given, tuple(members.values()))
    return {**table, "kind": str(Place.from_class(type(given)))} if outside else table


def _is_from_outside(given: object, listed: tuple[type[Spec], ...]) -> bool:
    return isinstance(given, Spec) and type(given) not in listed and is_outside(type(given))


def _taken_alone(members: Members, given: Any) -> Any:
    table = given if isinstance(given, Mapping | Spec) else {"kind": given}
    return _taken(members, table)


def _written_alone(members: Members, given: Any, how: SerializationInfo) -> Any:
    table = _written(members, given, how)
    fields = type(given).model_fields.items()
    faults = any(getattr(given, name) != field.default for name, field in fields)
    return table if faults else table["kind"]


def _found(listed: tuple[type[Spec], ...], kind: str) -> Any:
    """Return the class that a kind names by its place."""
    place = Place.named(kind)
    if place is None:
        remedy = "allowed is python:FILE.py:CLASS, or python:MODULE:CLASS"
        raise SpecError([Fault("", repr(kind), remedy)])
    member = place.found()
    _require_member(listed, member, repr(kind))
    return member


def _require_member(listed: tuple[type[Spec], ...], member: Any, given: str) -> None:
    """Raise unless a class can be a member of the family of those listed."""
    base = base_of(listed)
    if base is None:
        remedy = f"allowed: {', '.join(kind_of(item) for item in listed)}"
    elif not (isinstance(member, type) and issubclass(member, base)):
        remedy = f"allowed is a class whose base is {base.__name__}"
    elif "kind" not in member.model_fields or member.model_fields["kind"].is_required():
        remedy = f"allowed is a class with a kind, beneath {base.__name__}"
    elif not is_outside(member):
        remedy = f"allowed is kind = {kind_of(member)!r}, of this package"
    else:
        return
    raise SpecError([Fault("", given, remedy)])


@contextmanager
def _in_words(key: str) -> Iterator[None]:
    """Hand faults found inside a validator to the caller, which reports all of them."""
    try:
        yield
    except SpecError as error:
        raise faults_of([fault.under(key) for fault in error.faults]) from None
