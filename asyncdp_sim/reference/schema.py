"""The JSON schema of scenario files, by which editors complete and check them."""

from typing import Any

from asyncdp_sim.scenario.spec import Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of scenario files.

    It says what a field may hold by itself; that fields fit together only loading can tell.
    """
    found = Scenario.model_json_schema(by_alias=True)
    return {"$schema": DIALECT, **found, "title": "Scenario of asyncdp"}
