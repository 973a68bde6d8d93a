"""The reference: every field, kind and column, looked up, as pages, and as a JSON schema."""

import json
from pathlib import Path
from shlex import quote

from asyncdp_sim.reference.lookup import entries, look_up
from asyncdp_sim.reference.pages import page_text, pages, topics
from asyncdp_sim.scenario.files import SCHEMA_FILE, write_new
from asyncdp_sim.scenario.spec import Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """Return the JSON schema of scenario files, as the text of its file.

    It says what a field may hold by itself; that fields fit together only loading can tell.
    """
    schema = Scenario.model_json_schema(by_alias=True)
    schema = {"$schema": DIALECT, **schema, "title": "Scenario of asyncdp"}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_beside(file: Path) -> str | None:
    """Write the schema that a scenario's first line names beside it, where there is none.

    Returns
    -------
    str or None
        What was done, or is to be done where there is one of another version; else None.
    """
    place = file.parent / SCHEMA_FILE
    if not place.exists():
        write_new(schema_text(), place, "-o")
        return f"also written: {SCHEMA_FILE}; editors use it to complete and check the file"
    if place.read_bytes() == schema_text().encode():
        return None
    return f"{place} is of another version; to replace it: asyncdp schema -o {quote(str(place))}"


__all__ = [
    "entries",
    "look_up",
    "page_text",
    "pages",
    "schema_text",
    "topics",
    "write_beside",
]
