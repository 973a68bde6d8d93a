"""Networks whose parts do not fit together, or make no sense: refused by name, in one line each."""

from typing import Any

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.network import Network
from tests.tables import table
from tests.together import together

CASES = table(__file__, "refused.toml")


def parsed(fields: dict[str, Any]) -> Network:
    return parse(Network, {key: None if x == "null" else x for key, x in fields.items()})


@together
@pytest.mark.parametrize("case", CASES["refused"], ids=str)
def test_it_is_refused_in_a_line(case: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as refused:
        parsed(CASES["of"][case["of"]] | case["with"])
    [fault] = refused.value.faults
    assert str(fault).startswith(case["said"])


@pytest.mark.parametrize("name", ["crowd", "gossip", "rounds", "servers", "three"])
def test_nothing_is_refused_of_the_networks_themselves(name: str) -> None:
    parsed(CASES["of"][name])
