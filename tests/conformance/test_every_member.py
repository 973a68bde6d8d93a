"""What holds for the members of every family."""

from typing import Any

import pytest
from pydantic import ValidationError

from asyncdp_sim.errors import SpecError
from asyncdp_sim.spec import Spec, parse
from tests.conformance.members import EXAMPLES, FAMILIES, bad_fields, examples, kind, members

ALL = [
    pytest.param(union, spec, id=f"{family}-{spec.kind}-{number}")
    for family, union in FAMILIES.items()
    for number, spec in enumerate(examples(union))
]
BAD = [
    pytest.param(union, member, fields, id=f"{family}-{kind(member)}-{number}")
    for family, union in FAMILIES.items()
    for number, (member, fields) in enumerate(bad_fields(union))
]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_member_has_an_example_and_every_example_a_member(family: str) -> None:
    union = FAMILIES[family]
    kinds = [kind(member) for member in members(union)]
    assert len(kinds) > 0
    assert len(set(kinds)) == len(kinds)
    assert set(EXAMPLES[union]) == set(kinds), "give the new member an example in members.py"


@pytest.mark.parametrize(("union", "spec"), ALL)
def test_a_member_is_found_by_its_kind_and_comes_back_from_plain_values(
    union: Any, spec: Spec
) -> None:
    raw = spec.model_dump()
    again = parse(union, raw)
    assert type(again) is type(spec)
    assert again == spec


@pytest.mark.parametrize(("union", "spec"), ALL)
def test_a_member_is_frozen(union: Any, spec: Spec) -> None:  # noqa: ARG001
    for name in type(spec).model_fields:
        with pytest.raises(ValidationError):
            setattr(spec, name, None)


@pytest.mark.parametrize(("union", "member", "fields"), BAD)
def test_bad_parameters_are_refused_at_construction(
    union: Any,  # noqa: ARG001
    member: type[Spec],
    fields: dict[str, Any],
) -> None:
    with pytest.raises(SpecError) as caught:
        member(**fields)
    faults = caught.value.faults
    assert len(faults) > 0
    for fault in faults:
        assert fault.key.split(".")[0].split("[")[0] in {*member.model_fields, *fields}
        assert "pydantic" not in str(fault)


def test_a_bad_parameter_was_found_for_every_member_with_fields() -> None:
    refused = {kind(case.values[1]) for case in BAD}
    assert refused == {kind(m) for union in FAMILIES.values() for m in members(union)}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_kind_names_the_right_ones(family: str) -> None:
    union = FAMILIES[family]
    with pytest.raises(SpecError) as caught:
        parse(union, {"kind": "no-such-kind"})
    told = str(caught.value)
    assert "no-such-kind" in told
    assert all(kind(member) in told for member in members(union))
