"""Rules that hold for the members of every family, and what a member cannot leave open."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import Spec, Variant, kind_of, members, parse
from asyncdp_sim.network.graphs import GraphsInTurn
from asyncdp_sim.network.protocols.gossip import EdgeClock
from asyncdp_sim.scenario import fields as domains
from tests.conformance.members import FAMILIES, FORMS, bad_fields, examples
from tests.together import together

# Rules that hold for the members of every family.

EVERY = FAMILIES | FORMS
ALL = [
    pytest.param(union, spec, id=f"{family}-{kind_of(type(spec))}-{number}")
    for family, union in EVERY.items()
    for number, spec in enumerate(examples(union))
]
BAD = {
    f"{family}-{kind_of(member)}": (member, list(bad_fields(member)))
    for family, union in EVERY.items()
    for member in members(union)
}


@together
@pytest.mark.parametrize("family", EVERY)
def test_every_member_has_a_kind_of_its_own_and_an_example(family):
    union = EVERY[family]
    kinds = [kind_of(member) for member in members(union)]
    assert len(kinds) > 0
    assert len(set(kinds)) == len(kinds)
    assert all(len(domains.examples_of(member)) > 0 for member in members(union))


def test_examples_are_of_classes_that_are_there():
    named = {member.__name__ for union in EVERY.values() for member in members(union)}
    assert domains.examples().keys() <= named | {GraphsInTurn.__name__}


def test_edges_may_have_every_clock_that_ticks():
    ticking = {each for each in members(FAMILIES["clock"]) if not each.saturated}
    remedy = "add the clock to EdgeClock in asyncdp_sim/network/protocols/gossip.py"
    assert {*members(EdgeClock)} == ticking, remedy


def test_a_class_whose_example_is_missing_is_named_with_the_file():
    class Long(Spec):
        length: int

    file = "asyncdp_sim/scenario/examples.toml"
    with pytest.raises(SpecError, match=f"^Long in {file}: length: given nothing"):
        domains.examples_of(Long)


@together
@pytest.mark.parametrize(("union", "spec"), ALL)
def test_a_member_is_found_by_its_kind_and_comes_back_from_plain_values(union, spec):
    again = parse(union, spec.model_dump())
    assert type(again) is type(spec)
    assert again == spec
    assert hash(again) == hash(spec)  # sweeps keep what was made of it


@together
@pytest.mark.parametrize(("union", "spec"), ALL)
def test_a_member_is_frozen(union, spec):  # noqa: ARG001
    for name in type(spec).model_fields:
        with pytest.raises(SpecError):
            setattr(spec, name, None)


@together
@pytest.mark.parametrize(("member", "bad"), BAD.values(), ids=BAD)
def test_bad_parameters_are_refused_at_construction(member, bad):
    assert len(bad) > 0
    for fields in bad:
        faults = refusal(member, fields)
        usual = domains.examples_of(member)[0].model_dump()
        changed = {name: value for name, value in fields.items() if usual.get(name) != value}
        remedy = "if it should, say so in [not_so_bad] of members.toml"
        assert len(faults) > 0, f"{kind_of(member)} takes {changed}: {remedy}"
        for fault in faults:
            assert fault.key.split(".")[0].split("[")[0] in {*member.model_fields, *fields}
            assert "pydantic" not in str(fault)


@together
@pytest.mark.parametrize("family", ["availability", "channel"])
def test_examples_fit_three_owners(family):
    assert all(spec.faults(3) == [] for spec in examples(FAMILIES[family]))


def refusal(member: type[Spec], fields: dict[str, Any]) -> Sequence[Fault]:
    """Return what a member has against these fields: nothing, if it takes them."""
    try:
        member(**fields)
    except SpecError as refused:
        return refused.faults
    return ()


@together
@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_kind_names_the_right_ones(family):
    union = FAMILIES[family]
    with pytest.raises(SpecError) as caught:
        parse(union, {"kind": "no-such-kind"})
    told = str(caught.value)
    assert "no-such-kind" in told
    assert all(kind_of(member) in told for member in members(union))


# A member of a family cannot leave open what the rest of the house asks of it.


class Family(Variant):
    """A family with one trait and one method."""

    loud: ClassVar[bool]

    @abstractmethod
    def speak(self) -> str:
        """Say something."""


class Dog(Family):
    """A whole member."""

    loud = True
    kind: Literal["dog"] = "dog"

    def speak(self) -> str:
        return "wow"


def test_a_whole_member_is_made():
    assert Dog().speak() == "wow"
    assert (members(Dog), members(Annotated[Dog, Field()])) == ((Dog,), (Dog,))
    assert kind_of(Dog) == "dog"


def test_a_member_that_leaves_something_open_fails_when_it_is_defined():
    with pytest.raises(TypeError, match="Cat leaves open: loud, speak"):

        class Cat(Family):
            kind: Literal["cat"] = "cat"

    class Sized(Family):
        size: ClassVar[int]

    with pytest.raises(TypeError, match="Puppy leaves open: size"):

        class Puppy(Sized, Dog):
            kind: Literal["puppy"] = "puppy"
