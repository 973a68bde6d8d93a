"""Settings of a scenario that are not as a paper states them."""

from collections.abc import Mapping
from operator import attrgetter

from asyncdp_sim.scenario import Scenario


def otherwise(scenario: Scenario, stated: Mapping[str, object]) -> dict[str, object]:
    """Return the fields, by their dotted names, whose values are not the stated ones."""
    found = {name: attrgetter(name)(scenario) for name in stated}
    return {name: value for name, value in found.items() if value != stated[name]}
