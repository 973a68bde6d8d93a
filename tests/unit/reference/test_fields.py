"""Every field says what it means, in which unit and domain; its example is one."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from asyncdp_sim.core.specification import Spec, kind_of, members
from asyncdp_sim.network.table_file import EXAMPLES
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.fields import domain, fields, specs, tables, takes_numbers
from tests.conformance.members import FAMILIES
from tests.reproducibility.runs import scenario


def reachable(spec: type[Spec] = Scenario) -> Iterator[type[Spec]]:
    """Yield every table of a scenario, each once."""
    seen, waiting = set(), [spec]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            yield each
            waiting += [s for info in each.model_fields.values() for s in specs(info.annotation)]


def test_every_field_has_a_meaning_a_unit_and_a_domain() -> None:
    silent = []
    for spec in reachable():
        for name, info in spec.model_fields.items():
            if name == "kind":
                continue
            extra = info.json_schema_extra or {}
            said = (info.description or "").strip()
            unit = not takes_numbers(info.annotation) or extra.get("unit", "") != ""
            if said == "" or said.endswith(".") or not unit or "any value" in domain(info):
                silent.append((spec.__name__, name))
    assert silent == []


def test_the_reference_has_every_field_of_every_kind() -> None:
    told = {(kind, each.name) for each in fields() for kind in each.kinds}
    kinds = {kind.kind for table in tables() for kind in table.kinds}
    for family in FAMILIES.values():
        for member in members(family):
            assert kind_of(member) in kinds
            assert (member.__doc__ or "").strip() != ""
            own = {(kind_of(member), name) for name in member.model_fields if name != "kind"}
            assert own - told == set()
    assert len(list(reachable())) > 80
    assert all(each.unit != "" and each.domain != "" for each in fields())


def test_domains_are_those_of_constraints() -> None:
    known = {(each.path, each.kinds): each.domain for each in fields()}
    assert known["run.until", ()] == "numbers > 0 and ≤ 1000000000"
    assert known["run.seed", ()] == f"whole numbers ≥ 0 and ≤ {2**63 - 1}"
    assert known["privacy.epsilon", ()] == "numbers > 0, or inf, or a list of them"
    assert known["privacy.delta", ()] == "numbers > 0 and < 1"
    assert known["channel.persistence", ("csma",)] == 'numbers > 0 and ≤ 1, or "non-persistent"'
    assert known["protocol.reach", ("servers",)] == 'whole numbers ≥ 2, or "all"'
    [rates] = [domain for (path, _), domain in known.items() if path == "clock.rate"]
    assert rates == "numbers > 0, or a list of them"
    assert known["run.alone", ()] == "true or false"
    named = "the name of a kind, or a table whose kind is one of laplace, gaussian, "
    assert known["privacy.mechanism", ()].startswith(named)


def test_defaults_are_those_of_the_fields() -> None:
    known = {(each.path, each.kinds): each.default for each in fields()}
    assert known["run.updates", ()] == "required"
    assert known["run.until", ()] == "absent"
    assert known["clock", ()] == '{ kind = "poisson" }'
    assert known["payload.header_bytes", ()] == "40"


FIELDS = {info.alias or name: info for name, info in Scenario.model_fields.items()}


@cache
def of_section(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(FIELDS[name].rebuild_annotation())


def lines() -> list[tuple[str, str]]:
    """Return every example with the path of the table that it is of, "" of a scenario's own."""
    found = [(each.table if each.kinds else each.path, each.example) for each in fields()]
    return found + [(kind.table, kind.example) for table in tables() for kind in table.kinds]


def test_every_example_is_a_line_that_is_valid() -> None:
    watts = dict.fromkeys(("idle", "listening", "computing", "sending", "receiving"), 1.0)
    base = scenario(energy=watts).plain()
    for path, line in lines():
        assert "\n" not in line
        table = tomllib.loads(line)
        [top] = table
        if top == "sweep":
            continue
        given = table[top]
        section = FIELDS[top]
        plain = [each for each in specs(section.annotation) if "kind" not in each.model_fields]
        if isinstance(given, dict) and plain and "kind" not in given:
            parse(plain[0], base.get(top, {}) | placed(given))
        elif "." in path:
            assert any(takes(each, inner(given, path)) for each in annotations(path)), line
        else:
            of_section(top).validate_python(placed(given))


def placed(value: Any) -> Any:
    """Return a table whose files are those of the package's examples, where it has them."""
    if isinstance(value, dict):
        return {key: placed(each) for key, each in value.items()}
    there = isinstance(value, str) and (EXAMPLES / Path(value).name).is_file()
    return str(EXAMPLES / value) if there else value


def inner(given: Any, path: str) -> Any:
    for key in path.split(".")[1:]:
        given = given[key]
    if path == "data.columns":
        assert list(given) == ["term"]
    return placed(given)


@cache
def annotations(path: str) -> list[Any]:
    """Return the types of the fields at a path below a table."""
    name = path.rpartition(".")[2]
    infos = [s.model_fields[name] for s in reachable() if name in s.model_fields]
    return [TypeAdapter(info.rebuild_annotation()) for info in infos]


def takes(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except ValueError:
        return False
    return True


def test_an_example_that_is_none_would_be_seen() -> None:
    with pytest.raises(ValueError, match="tag"):
        of_section("channel").validate_python({"kind": "canal"})
    assert not any(takes(each, {"kind": "clip"}) for each in annotations("privacy.sensitivity"))
