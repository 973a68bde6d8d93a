"""Faults of the privacy part of a scenario, where choices do not fit together."""

from typing import Any

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Declared, Privacy
from tests.tables import table
from tests.together import together

CASES = table(__file__, "privacy_faults.toml")["cases"]


@together
@pytest.mark.parametrize(("fields", "keys"), CASES)
def test_what_does_not_fit_three_owners_is_named(fields: dict[str, Any], keys: list[str]) -> None:
    faults = parse(Privacy, fields).faults(3, Ridge(regularisation=1.0))
    assert [fault.key for fault in faults] == keys


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), [1.0, 0.0], []])
def test_epsilon_must_be_positive(epsilon: object) -> None:
    with pytest.raises(SpecError) as caught:
        Privacy(epsilon=epsilon, sensitivity=Declared(bound=5.0))
    assert all(fault.key.startswith("epsilon") for fault in caught.value.faults)
