"""Scenarios as plain tables: dotted paths as ``--set`` and ``[sweep]`` use them, TOML and JSON."""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.files import from_toml
from asyncdp_sim.core.validation import fields_of_kind, show

Raw = dict[str, Any]
"""A scenario as TOML tables."""


def set_path(spec: object, raw: Raw, path: str, value: Any) -> list[str]:
    """Set a dotted path in plain tables; return in words what was dropped for it.

    Setting ``X.kind`` drops X's fields that the new kind lacks, and one of two fields that exclude
    each other replaces the other.
    """
    *parents, last = keys(path)
    table: Any = raw
    for depth, parent in enumerate(parents, 1):
        inner = table.setdefault(parent, {})
        if isinstance(inner, str) and fields_of_kind(spec, parents[:depth], inner) is not None:
            inner = table[parent] = {"kind": inner}  # a kind that stood alone
        table = inner
        if not isinstance(table, dict):
            remedy = f"{parent!r} is not a table, so nothing can be set below it"
            raise SpecError([Fault(path, show(value), remedy)])
    if last == "kind" and table.get("kind") != value:
        keep = fields_of_kind(spec, parents, value)
        dropped = sorted(key for key in table if keep is not None and key not in keep)
        for key in dropped:
            del table[key]
        table["kind"] = value
        where = ".".join(parents)
        return [f"{path} = {value}: dropped {where}.{key}, which it lacks" for key in dropped]
    table[last] = value
    other = EITHER.get(keys(path))
    if other is None or table.pop(other, None) is None:
        return []
    return [f"{path} = {value}: replaces {'.'.join([*parents, other])}"]


EITHER: dict[tuple[str, ...], str] = {("algorithm", "step"): "rho", ("algorithm", "rho"): "step"}
"""Fields of which a scenario gives one, and the other of the two beside it."""


@lru_cache(maxsize=64)  # each cell of a sweep sets the same
def keys(path: str) -> tuple[str, ...]:
    """Split a dotted path as TOML does.

    Raises
    ------
    SpecError
        If it is not a dotted path.
    """
    matches: list[str] = []
    try:
        table: Any = from_toml(f"{path} = 0")
    except ValueError:
        table = {}
    while isinstance(table, dict) and len(table) == 1:
        [(key, table)] = table.items()
        matches.append(key)
    if table != 0:
        remedy = "allowed is a dotted path such as privacy.epsilon"
        raise SpecError([Fault("", show(path), remedy)])
    return tuple(matches)


def leaves(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted paths of nested tables and what stands there; lists are values."""
    for key, value in table.items():
        if isinstance(value, Mapping) and len(value) > 0:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


VARIANT = "variant"
"""The swept name whose values are tables of dotted paths, each with a ``name``."""


def variant_faults(values: list[Any]) -> Iterator[Fault]:
    """Yield what is wrong with a list of variants."""
    names: list[object] = []
    for variant in values:
        if not isinstance(variant, Mapping) or not isinstance(variant.get("name"), str):
            remedy = 'allowed are tables with a text "name" and dotted paths'
            yield Fault(VARIANT, show(variant), remedy)
            continue
        if variant["name"] in names:
            yield Fault(VARIANT, show(variant["name"]), "allowed is each name once")
        names.append(variant["name"])
        for path in variant:
            try:
                first = keys(path)[0]
            except SpecError as error:
                yield from error.faults
                continue
            if first in ("schema", "id", "sweep"):
                yield Fault(VARIANT, path, "allowed is a field of the run")


def variant_settings(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the dotted paths that a swept value sets, and what it sets them to."""
    if path == VARIANT:
        yield from ((inner, item) for inner, item in value.items() if inner != "name")
    else:
        yield path, value


def spoken(path: str, value: Any) -> Any:
    """Return a swept value as tables and pictures show it: a variant by its name."""
    return value["name"] if path == VARIANT else value


def jsonable(value: Any) -> Any:
    """Return plain tables ready for JSON: infinities as the texts "inf" and "-inf", NaN as null."""
    if isinstance(value, str | int):  # before all that takes longer to tell
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, Mapping):
        return {"null" if key is None else key: jsonable(inner) for key, inner in value.items()}
    return value


def toml(tables: Raw) -> str:
    """Return tables as TOML."""
    import tomli_w  # only where a scenario is written

    return tomli_w.dumps(tables)


def listed(value: Any) -> Any:
    """Return plain tables anew, with lists for tuples."""
    if isinstance(value, dict):
        return {key: listed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [listed(inner) for inner in value]
    return value
