"""Examples of fields and kinds, as a scenario writes them in a line of TOML."""

import json
import math
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from asyncdp_sim.network.table_file import EXAMPLES
from asyncdp_sim.scenario.domains import specs
from asyncdp_sim.spec.base import Spec, Variant

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
