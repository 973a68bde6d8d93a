"""Second readings of the papers, and settings of a scenario that are not as a paper states them."""

from collections.abc import Mapping
from operator import attrgetter
from types import SimpleNamespace

from asyncdp_sim.scenario import Scenario
from tests.tables import composed, table


def read_again(name: str) -> SimpleNamespace:
    """Return what a paper states, by the file here that was written from reading it again."""
    return SimpleNamespace(**table(__file__, f"{name}.toml"))


def by_number(stated: Mapping[str, float]) -> dict[float, float]:
    """Return values that are stated by numbers."""
    return {float(number): value for number, value in stated.items()}


def otherwise(scenario: Scenario, stated: Mapping[str, object]) -> dict[str, object]:
    """Return the fields, by their dotted names, whose values are not the stated ones."""
    wanted = composed({}, [stated])
    found = {name: attrgetter(name)(scenario) for name in wanted}
    return {name: value for name, value in found.items() if value != wanted[name]}
