"""Owners that there are not, named by any part: a fault says so, whatever stands beside it."""

from typing import Any

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import members
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.privacy.observers import Observer
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.fields import examples_of
from tests.scenes import fields
from tests.tables import table
from tests.together import together

OUT_OF_RANGE = table(__file__, "out_of_range.toml")


def scenario(n_owners: int, *parts: dict[str, Any]) -> dict[str, Any]:
    raw: dict[str, Any] = fields(
        run={"updates": 6, "replicates": 1, "seed": 1},
        owners={"count": n_owners, "records": 5},
        model={"regularisation": 1e-3},
        protocol={"kind": "request"},
        algorithm={"rho": 1.0},
        privacy={"mechanism": "laplace"},
    )
    for part in parts:
        for key, value in part.items():
            whole = "kind" in value or key not in raw
            raw[key] = value if whole else {**raw[key], **value}
    return raw


def written(member: Any) -> dict[str, Any]:
    found: dict[str, Any] = examples_of(member)[0].model_dump(mode="json", exclude_none=True)
    return found


@together
@pytest.mark.parametrize("n_owners", [1, 3])
@pytest.mark.parametrize("part", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_it_is_refused_beside_whatever_else(part, n_owners):
    others = [
        *({"privacy": {"observer": written(each)}} for each in members(Observer)),
        *({"algorithm": written(each)} for each in members(AnyAlgorithm)),
        *({"protocol": written(each)} for each in members(Protocol)),
    ]
    assert len(others) > 15
    for other in others:
        with pytest.raises(SpecError):
            parse(Scenario, scenario(n_owners, other, part))
