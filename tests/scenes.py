"""The small scenario that most tests vary: ridge regression by asynchronous gossip."""

from collections.abc import Mapping
from typing import Any

import tomli_w

from asyncdp_sim.core.specification import parse
from asyncdp_sim.scenario import Scenario
from tests.tables import table

EXACT = {"epsilon": None, "mechanism": "none", "sensitivity": None}
"""Privacy of answers without noise."""


def fields(**changes: Any) -> dict[str, Any]:
    """Return its tables; a change with a kind takes a table's place, and others go into it.

    What is changed to None is left out.
    """
    found = table(__file__, "scenes.toml")
    for key, value in changes.items():
        joins = isinstance(value, Mapping) and "kind" not in value
        found[key] = {**found.get(key, {}), **value} if joins else value
    return {key: _given(value) for key, value in found.items() if value is not None}


def _given(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {key: value for key, value in part.items() if value is not None}


def scenario(**changes: Any) -> Scenario:
    """Return it with such changes."""
    found: Scenario = parse(Scenario, fields(**changes))
    return found


def text(**changes: Any) -> str:
    """Return its file with such changes."""
    return tomli_w.dumps(fields(**changes))
