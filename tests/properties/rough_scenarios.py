"""Random scenarios: parts of a small or a published one are drawn anew, or single fields of them.

Many do not fit together, and are to be refused.
"""

import tomllib
from random import Random
from typing import Any

from asyncdp_sim.core.specification import Spec
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.catalogue import catalogue
from asyncdp_sim.scenario.paths import listed
from tests.cli.scenes import SMALL
from tests.drawn import Domain, NothingFitsError

NUMBERS = (0.0, 1e-3, 0.05, 0.25, 0.5, 1.0, 3.0, 20.0)
TEXTS = ("schema_version", "id", "title", "description", "source", "sweep")
MOST = 6
"""Parts drawn anew in one scenario: with all of them nearly none is valid."""
MOST_OWNERS = 20


def random_scenario(draw: Random) -> dict[str, Any]:
    """Return the tables of a scenario."""
    scenario = _base(draw)
    numbers = Domain(draw.choice, scenario.owners.count, NUMBERS)
    raw = scenario.plain()
    raw.pop("sweep", None)
    parts = [name for name in Scenario.model_fields if name not in TEXTS]
    for name in draw.sample(parts, draw.randint(1, MOST)):
        part = getattr(scenario, name)
        if isinstance(part, Spec) and (name in ("run", "owners") or draw.random() < 0.5):
            _redraw(raw[name], draw.choice(list(type(part).model_fields)), type(part), numbers)
        else:
            _redraw(raw, name, Scenario, numbers)
    return raw


def _redraw(table: dict[str, Any], name: str, spec: type[Spec], numbers: Domain) -> None:
    """Put another value into a field, or none."""
    field = spec.model_fields[name]
    try:
        drawn = numbers.value(field.annotation, field.metadata)
    except (LookupError, NothingFitsError, TypeError):  # of a type that is not drawn
        return
    table.pop(name, None)
    if drawn is not None:
        table[name] = _written(drawn)


def _base(draw: Random) -> Scenario:
    if draw.random() < 0.7:
        return parse(Scenario, tomllib.loads(SMALL))
    while True:
        scenario = draw.choice(catalogue()).scenario()
        if not scenario.reads_a_file and scenario.owners.count <= MOST_OWNERS:
            return scenario


def _written(drawn: Any) -> Any:
    if isinstance(drawn, Spec):
        return listed(drawn.model_dump(by_alias=True, exclude_none=True))
    return [_written(each) for each in drawn] if isinstance(drawn, tuple) else drawn
