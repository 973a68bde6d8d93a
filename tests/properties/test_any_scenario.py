"""Any scenario, however its parts fit together, is described or refused by ``check``.

What it calls valid runs.
"""

import shutil
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tomli_w

from asyncdp_sim.core.specification import Spec
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.catalogue import catalogue
from asyncdp_sim.scenario.paths import listed
from tests.bad_input.damage import ended
from tests.cli.command import Command
from tests.cli.scenes import SMALL
from tests.drawn import Domain, NothingFitsError
from tests.fresh import fresh_seed, none_escapes
from tests.tables import table

# Random scenarios: parts of a small or a published one are drawn anew, or single fields of them.
#
# Many do not fit together, and are to be refused.

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


FEW, SOME, MANY = 20, 200, 2000
"""By default, among the long tests, and at night."""


def escapes(command: Command, folder: Path, seed: int, count: int) -> list[str]:
    """Return what ended without a verdict, with its scenario."""
    draw, found = Random(seed), []
    for number in range(count):
        text = tomli_w.dumps(random_scenario(draw))
        (folder / "any.toml").write_text(text, encoding="utf-8")
        how = ended(command, ("check", "any.toml"))
        if how is not None:
            found.append(f"{number}: {how}\n{text}")
        elif 'id = "small"' in text and command("check", "any.toml").code == 0:
            ran = command("run", "any.toml", "--out", "out")
            if ran.code == 2:
                found.append(f"{number}: valid, but run says {ran.err}\n{text}")
            shutil.rmtree(folder / "out", ignore_errors=True)
    return found


@pytest.mark.parametrize("count", [FEW, pytest.param(SOME, marks=pytest.mark.long)])
def test_a_scenario_is_described_or_refused(count, command, here):
    assert escapes(command, here, count, count) == []


@pytest.mark.nightly
def test_many_are(command, here, record_property):
    none_escapes(record_property, MANY, escapes(command, here, fresh_seed(), MANY))


TABLE = table(__file__, "any_scenario.toml")
LEARNING = TABLE["learning"]


@pytest.mark.parametrize("learning", LEARNING.values(), ids=LEARNING)
@pytest.mark.parametrize("law", TABLE["laws"], ids=lambda law: law["what"])
def test_a_time_that_nothing_says_is_refused_before_it_is_asked_for(learning, law, here, command):
    """Found by random scenarios: a timeout was held against the least time of no law at all."""
    text = SMALL.replace('kind = "lognormal"\nmean = 0.1\ncv = 1.0', law["text"])
    text = text.replace('[algorithm]\nkind = "async-gossip"\nrho = 0.01', learning)
    (here / "local.toml").write_text(text, encoding="utf-8")
    for verb in ("check", "run"):
        said = command.refused(verb, "local.toml")
        assert f" compute{law['key']}: " in said
        assert said.endswith(law["allowed"])
