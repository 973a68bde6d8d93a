"""Each field of each example changes something: the network, the models, or what is charged.

An example is put into the first scenarios that take it. Each field is given other values, until one
changes what a run does. Neither a digest nor a description counts, which repeat what is written.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import Spec, kind_of, members
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, parse
from tests.cli.scenes import SMALL
from tests.conformance.members import FAMILIES, examples
from tests.one_in import one_in
from tests.properties.rough_networks import values
from tests.tables import composed, table

TABLE = table(__file__, "every_field.toml")
PLACES, SETTINGS = TABLE["places"], [composed(TABLE["parts"], case) for case in TABLE["settings"]]
BESIDE = {name: composed({}, [fields]) for name, fields in TABLE["beside"].items()}


@cache
def base(number: int) -> str:
    """Return the small scenario of a number, as JSON."""
    raw: dict[str, Any] = tomllib.loads(SMALL)
    raw["algorithm"]["rho"] = 20.0
    for name, fields in SETTINGS[number].items():
        raw[name] = {**raw[name], **fields} if name == "privacy" else fields
    raw = {name: fields for name, fields in raw.items() if fields is not None}
    if raw["privacy"].get("mechanism") == "none":
        del raw["privacy"]["sensitivity"], raw["privacy"]["epsilon"]
    return json.dumps(raw)


def within(number: int, path: list[str], fields: Any) -> dict[str, Any]:
    """Return a base with these fields at a place."""
    raw: dict[str, Any] = json.loads(base(number))
    at = raw
    for name in path[:-1]:
        at = at.setdefault(name, {})
    at[path[-1]] = fields
    return raw


@cache
def of_text(text: str) -> tuple[bytes, ...] | None:
    try:
        result = run(parse(Scenario, json.loads(text)))
    except (SpecError, DataError):
        return None
    return (
        *(trace.exchanges.tobytes() for trace in result.traces),
        *(trace.updates.tobytes() for trace in result.traces),
        np.ascontiguousarray(result.learned.models).tobytes(),
        np.ascontiguousarray(result.ledger.spent).tobytes(),
        repr(result.guarantee).encode(),
    )


def effect(raw: Mapping[str, Any]) -> tuple[bytes, ...] | None:
    """Return what a run does, or None where the scenario is refused."""
    return of_text(json.dumps(raw, sort_keys=True))


def others(member: Spec, name: str) -> Iterator[Any]:
    """Yield other values of a field of an example, as they are written."""
    usual = getattr(member, name)
    found: list[Any] = []
    if type(usual) in (int, float):
        found += [usual * 2, usual // 2 if type(usual) is int else usual / 2, usual + 1]
        found += [0.45 * usual] if type(usual) is float else []
    if isinstance(usual, tuple) and len(usual) > 0:
        found.append(usual[::-1])
        if all(type(each) is float for each in usual):
            found.append(tuple(2 * each for each in usual))
    if name == "numbers":
        yield tuple(range(2, 2 + len(member.groups)))
        return
    if name in TABLE["listed"] and not isinstance(usual, int):
        yield from TABLE["listed"][name]
        return
    found += values(type(member).model_fields[name].annotation, frozenset(), lambda _: True)
    for value in found:
        if value != usual:
            yield value.model_dump(mode="json") if isinstance(value, Spec) else value


def differs(family: str, member: Spec, name: str) -> bool:
    """Return whether another value of a field changes a run."""
    fields = {
        each: value
        for each, value in BESIDE.get(name, {}).items()
        if each in type(member).model_fields
    }
    path, written = PLACES[family], {**said_of(member), **fields}
    fits = [n for n in range(len(SETTINGS)) if effect(within(n, path, written)) is not None]
    for number in fits:
        usual = effect(within(number, path, written))
        for value in others(member, name):
            seen = effect(within(number, path, {**written, name: value}))
            if seen is not None and seen != usual:
                return True
    return False


def said_of(member: Spec) -> dict[str, Any]:
    """Return an example as it is written in a scenario."""
    return {"kind": kind_of(type(member)), **member.model_dump(mode="json", exclude_unset=True)}


def fitting(family: str, member: type[Spec]) -> list[Spec]:
    """Return the examples of a member that some scenario takes."""
    path, found = PLACES[family], []
    for each in examples(FAMILIES[family]):
        if type(each) is member:
            tried = (effect(within(n, path, said_of(each))) for n in range(len(SETTINGS)))
            found += [each] if any(seen is not None for seen in tried) else []
    return found


EACH = [
    pytest.param(family, member, id=f"{family}-{kind_of(member)}")
    for family in PLACES
    for member in members(FAMILIES[family])
    if kind_of(member) != "table"
]


@one_in(6, ("family", "member"), EACH)
def test_every_field_changes_something(family, member):
    known = fitting(family, member)
    assert len(known) > 0
    names = [name for name in member.model_fields if name != "kind"]
    idle = {name for name in names if not any(differs(family, each, name) for each in known)}
    of_text.cache_clear()
    assert idle == set(TABLE["idle"].get(f"{family}-{kind_of(member)}", ()))
