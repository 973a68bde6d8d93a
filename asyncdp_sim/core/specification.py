"""The frozen base of every specification, its number types, and the families of its kinds.

The mark of a family's union finds the member that a table names, also one from outside.

A specification is parsed once, at the door, into a frozen pydantic model. Whatever is wrong is
reported in our words (see :mod:`asyncdp_sim.core.validation`).
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    Strict,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema
from typing_extensions import override

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.gone import KINDS
from asyncdp_sim.core.plugins import Place, is_outside
from asyncdp_sim.core.validation import TAGS, faults_in, faults_of, show

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Tally = Annotated[int, Field(ge=0, le=2**31 - 1)]
LONGEST = 1e9
"""Time units of a duration, and of a mean one, at most."""
Duration = Annotated[float, Field(ge=0, le=LONGEST)]
"""Time units, 0 to 10⁹: what the integer clock can count."""

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelType
else:
    _ModelType = type(BaseModel)

_T = TypeVar("_T")
_S = TypeVar("_S", bound="Spec")


def about(
    meaning: str,
    unit: str | None = None,
    *,
    domain: str | None = None,
    example: Any = None,
) -> Any:
    """Return the annotation of a field, for the reference and the JSON schema.

    Of most fields ``fields.toml`` beside their module says the same, by class.

    Parameters
    ----------
    meaning : str
        Begins with the papers' symbol where there is one.
    unit : str, optional
        Of numbers; "none" where they have none.
    domain : str, optional
        What its type and constraints do not say.
    example : object, optional
        A value, where no example of its kind has one.
    """
    content = {"unit": unit, "domain": domain}
    extra: Any = {name: text for name, text in content.items() if text is not None}
    examples = None if example is None else [example]
    return Field(description=meaning, examples=examples, json_schema_extra=extra)


def trait(of: Callable[[Any], Any]) -> Any:
    """Return a trait that a member's fields decide, as ``of`` works it out of the member."""
    return property(of)


def one_or_several(value: object) -> str:
    """Return the tag of a value, or of a list of them."""
    return TAGS[1] if isinstance(value, list | tuple) else TAGS[0]


class Mark:
    """Marks fields with a value for each owner, in their annotations."""


EACH_OWNER = Mark()
"""Of fields that may hold a list with one value per owner."""
OWNER_NUMBERS = Mark()
"""Of fields that hold numbers of owners, in one list or in several."""

Several = Annotated[tuple[_T, ...], Strict(False), Field(min_length=1)]
OneOrSeveral = Annotated[
    Annotated[_T, Tag(TAGS[0])] | Annotated[Several[_T], Tag(TAGS[1])],
    Discriminator(one_or_several),
]
"""One value, or a list of values."""
PerOwner = Annotated[OneOrSeveral[_T], EACH_OWNER]
"""One value for all owners, or a list with one value per owner."""


class _SpecType(_ModelType):
    """Turns the validation library's error into ours when a caller constructs a spec."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:  # noqa: N805
        try:
            return super().__call__(*args, **fields)
        except ValidationError as error:
            raise SpecError(faults_in(error, cls, fields)) from None


class Spec(BaseModel, metaclass=_SpecType):
    """Frozen, strict, without unknown fields.

    Raises
    ------
    SpecError
        At construction, with one :class:`~asyncdp_sim.core.errors.Fault` per wrong field.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse, as a specification never changes."""
        rule = "nothing can be set in a scenario: scenario.replace(…) returns a changed copy"
        raise SpecError([Fault(name, show(value), rule)])

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of fields that do not fit together."""
        return iter(())

    @model_validator(mode="after")
    def _fields_fit_together(self) -> Self:
        wrong = list(self.own_faults())
        if len(wrong) > 0:
            raise faults_of(wrong)
        return self

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Let fields mean what ``fields.toml`` of their part of the package says."""
        super().__pydantic_init_subclass__(**kwargs)
        ours, _, part = cls.__module__.partition(".")
        meanings = _meanings(part.partition(".")[0]) if ours == __name__.partition(".")[0] else {}
        for name, words in meanings.get(cls.__name__, {}).items():
            field, stated = cls.model_fields[name], about(**words)
            field.description, field.examples = stated.description, stated.examples
            field.json_schema_extra = stated.json_schema_extra


@cache
def _meanings(part: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what fields of a part of the package mean, by class, as far as a file says it."""
    file = Path(__file__).parents[1] / part / "fields.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


class CachedSpec(Spec):
    """A spec that works something out once (``cached_property``); its copies do so anew."""

    @property
    def remembered(self) -> dict[str, Any]:
        """What was worked out of it once, by name."""
        return self._remembered

    @cached_property
    def _remembered(self) -> dict[str, Any]:  # not among its fields, as of another name it would be
        return {}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy that remembers nothing of what this one has worked out."""
        twin = super().model_copy(update=update, deep=deep)
        for name in [name for name in twin.__dict__ if name not in type(self).model_fields]:
            del twin.__dict__[name]
        return twin


class Plugin(Spec):
    """A member of a family: one way to do what the family does.

    A family is a union, which is its only register. Its base class lists what the rest of the
    house asks of a member: traits, which are class variables with a line each and no value
    (``slotted: ClassVar[bool]``), and methods marked with :func:`abc.abstractmethod`.

    A scenario names a :class:`Variant`; any other plugin has a form of its own there, such as a
    number, which is ``called`` something.

    Raises
    ------
    TypeError
        When a member is defined that leaves a trait or a method of its family open.
    """

    called: ClassVar[str] = ""
    needed_fields: ClassVar[tuple[str, ...]] = ()
    """Fields, or properties in their place, that every member of the family has."""
    of_everybody: ClassVar[bool] = False
    """Whether it names all owners by their numbers, so that none can be left out of it."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a member that leaves something open; a base class of a family may."""
        super().__pydantic_init_subclass__(**kwargs)
        left = open_traits(cls) if cls.is_whole() else []
        if len(left) > 0:
            raise TypeError(f"{cls.__name__} leaves open: {', '.join(left)}")

    @classmethod
    def is_whole(cls) -> bool:
        """Return whether it is a member, and no base class."""
        return cls.called != ""

    @property
    def outside(self) -> bool:
        """Whether it is not part of the package, so that nobody vouches for it."""
        return is_outside(type(self))

    def of_some(self, places: Sequence[int]) -> "Plugin":
        """Return the member that says the same of some of the owners alone; see :func:`picked`."""
        return picked(self, places)


class Variant(Plugin):
    """A member of a discriminated union, found by its ``kind``, which a base class has not."""

    if TYPE_CHECKING:  # a family may put it before the fields that its members share, or behind
        kind: str

    @classmethod
    @override
    def is_whole(cls) -> bool:
        field = cls.model_fields.get("kind")
        return field is not None and not field.is_required()


def open_traits(member: type[Plugin]) -> list[str]:
    """Return the traits and methods that the bases of a member ask for and it does not have."""
    traits = [name for name in member.__class_vars__ if not hasattr(member, name)]
    own = {name for base in member.__mro__ if base not in Variant.__mro__ for name in vars(base)}
    ours = sorted(name for name in own if not name.startswith("__"))  # a look builds the others
    abstract = [n for n in ours if getattr(getattr(member, n, None), "__isabstractmethod__", False)]
    fields = {*member.model_fields}
    lacking = [n for n in member.needed_fields if n not in fields and not hasattr(member, n)]
    return sorted(traits) + abstract + lacking


def outsiders(spec: Spec, at: str) -> Iterator[tuple[str, "Plugin"]]:
    """Yield every member of a specification that is from outside, with its key path and kind."""
    if isinstance(spec, Plugin) and spec.outside:
        yield f"{at}.kind = {spec.model_dump().get('kind', spec.called)}", spec
    for name in type(spec).model_fields:
        value, key = getattr(spec, name), f"{at}.{name}" if at else name
        inner = value.values() if isinstance(value, dict) else (value,)
        for item in value if isinstance(value, tuple) else inner:
            if isinstance(item, Spec):
                yield from outsiders(item, key)


def members(family: Any) -> tuple[type[Variant], ...]:
    """Return the members of a family, in the order of its union; of a single class, itself."""
    inner = get_args(family)[0] if get_origin(family) is Annotated else family
    return (inner,) if isinstance(inner, type) else get_args(inner)


def member(family: Any, kind: object) -> type[Any] | None:
    """Return the member of a family with this ``kind``; None where it has none."""
    return next((item for item in members(family) if kind_of(item) == kind), None)


def kind_of(member: type[Spec]) -> str:
    """Return the ``kind`` by which a scenario names a member, or what its form is called."""
    field = member.model_fields.get("kind")
    return str(getattr(member, "called", "") if field is None else field.default)


def parse(spec: Any, raw: object) -> Any:
    """Build ``spec`` (a Spec or a discriminated union of them) from plain TOML values.

    Raises
    ------
    SpecError
        With every fault found.
    """
    is_spec = isinstance(spec, type) and issubclass(spec, Spec)
    validate = spec.model_validate if is_spec else TypeAdapter(spec).validate_python
    try:
        return validate(raw)
    except ValidationError as error:
        raise SpecError(faults_in(error, spec, raw)) from None


def per_owner(value: _T | tuple[_T, ...], n_owners: int) -> tuple[_T, ...]:
    """Return one value per owner from a single value or a list that has one per owner."""
    return value if isinstance(value, tuple) else (value,) * n_owners


def own(value: _T | tuple[_T, ...], owner: int) -> _T:
    """Return the value of an owner (from 0), from a single value or a list with one per owner."""
    return value[owner] if isinstance(value, tuple) else value


def picked(spec: _S, places: Sequence[int]) -> _S:
    """Return a specification restricted to some of the owners, at these places (from 0).

    Lists with one value per owner keep those of these owners; numbers of owners become places
    among them, those of others go.
    """
    changes: dict[str, Any] = {}
    numbers = {place + 1: number for number, place in enumerate(places, 1)}
    for name, field in type(spec).model_fields.items():
        value = getattr(spec, name)
        if isinstance(value, Plugin):
            changes[name] = value.of_some(places)
        elif isinstance(value, Spec):
            changes[name] = picked(value, places)
        elif isinstance(value, tuple) and _has(field, EACH_OWNER):
            changes[name] = tuple(value[place] for place in places)
        elif isinstance(value, tuple) and _has(field, OWNER_NUMBERS):
            changes[name] = _renumbered(value, numbers)
    return spec.model_copy(update=changes)


def _has(field: FieldInfo, mark: Mark) -> bool:
    """Tell whether a field is marked, itself or what it may hold besides nothing."""
    inner = (m for part in get_args(field.annotation) for m in getattr(part, "__metadata__", ()))
    return any(item is mark for item in (*field.metadata, *inner))


def _renumbered(value: tuple[Any, ...], numbers: Mapping[int, int]) -> tuple[Any, ...]:
    """Return numbers by their new ones, without those that have none."""
    if any(isinstance(item, tuple) for item in value):
        return tuple(_renumbered(item, numbers) for item in value)
    return tuple(numbers[item] for item in value if item in numbers)


def wrong_length(
    key: str, value: object, count: int, what: str = "number", each: str = "owner"
) -> list[Fault]:
    """Return a fault where a list does not have one value per owner, or per whatever it is.

    One value may stand for all of them where it is called ``what``; nothing may where that is "".
    """
    if not isinstance(value, tuple) or len(value) == count:
        return []
    plural = "" if len(value) == 1 else "s"
    alone = f"one {what}, or " if what != "" else ""
    remedy = f"allowed is {alone}a list with one per {each}, {count} in all"
    return [Fault(key, f"{len(value)} value{plural}", remedy)]


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
        return core_schema.no_info_plain_validator_function(
            partial(_taken, members, self._alone),
            serialization=core_schema.wrap_serializer_function_ser_schema(
                partial(_written, members, self._brief), schema=core_schema.any_schema()
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


def _taken(members: Members, alone: bool, given: Any) -> Any:
    """Return the member that is given, or built from its table, or from its kind alone."""
    listed = tuple(members.values())
    if alone and not isinstance(given, Mapping | Spec):
        given = {"kind": given}
    if type(given) in listed:  # most are: all that cells of a sweep have in common
        return given
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if isinstance(kind, str) and kind.startswith("python:"):
        with _reported_at("kind"):
            member = _found(listed, kind)
        with _reported_at(""):
            return member(**{name: value for name, value in given.items() if name != "kind"})
    if _is_from_outside(given, listed):
        with _reported_at(""):
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
            with _reported_at("kind"):
                raise SpecError([Fault("", repr(kind), f"this kind is gone: {KINDS[kind]}")])
        remedy = ", ".join(repr(member) for member in members)
        content = {"discriminator": "'kind'", "tag": str(kind), "expected_tags": remedy}
        raise PydanticKnownError("union_tag_invalid", content)
    return members[kind]


def _written(
    members: Members, brief: bool, given: Any, to_table: SerializerFunctionWrapHandler
) -> Any:
    """Return the table of a member, or its kind; the kind of one from outside is its place."""
    table = to_table(given)
    if _is_from_outside(given, tuple(members.values())):
        table["kind"] = str(Place.from_class(type(given)))
    fields = type(given).model_fields.items()
    is_set = any(getattr(given, name) != field.default for name, field in fields)
    return table["kind"] if brief and not is_set else table


def _is_from_outside(given: object, listed: tuple[type[Spec], ...]) -> bool:
    return isinstance(given, Spec) and type(given) not in listed and is_outside(type(given))


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
def _reported_at(key: str) -> Iterator[None]:
    """Hand faults found inside a validator to the caller, which reports all of them."""
    try:
        yield
    except SpecError as error:
        raise faults_of([fault.under(key) for fault in error.faults]) from None
