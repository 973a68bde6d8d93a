"""The file of what ``asyncdp list`` says of privacy, which takes validating every scenario."""

import json

from asyncdp_sim.scenario.catalogue import catalogue


def marks() -> str:
    """Return the file: each name with what its settings say of privacy."""
    found = {entry.name: entry.privacy for entry in catalogue()}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
