"""Any scenario, however its parts fit together, is described or refused by ``check``.

What it calls valid runs.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import tomli_w

from tests.bad_input.damage import ended
from tests.cli.command import Command
from tests.cli.scenes import SMALL
from tests.fresh import fresh_seed, none_escapes
from tests.properties.rough_scenarios import random_scenario

FEW, SOME, MANY = 20, 200, 2000
"""By default, among the long tests, and at night."""
Escapes = Callable[[int, int], list[str]]


@pytest.fixture
def escapes(here: Path, command: Command) -> Escapes:
    """Return what ended without a verdict, with its scenario."""
    file = here / "any.toml"

    def tried(seed: int, count: int) -> list[str]:
        draw, found = Random(seed), []
        for number in range(count):
            text = tomli_w.dumps(random_scenario(draw))
            file.write_text(text, encoding="utf-8")
            how = ended(command, ("check", file.name))
            if how is not None:
                found.append(f"{number}: {how}\n{text}")
            elif 'id = "small"' in text and command("check", file.name).code == 0:
                out = here / f"out-{number}"
                ran = command("run", file.name, "--out", out)
                if ran.code == 2:
                    found.append(f"{number}: valid, but run says {ran.err}\n{text}")
                shutil.rmtree(out, ignore_errors=True)
        return found

    return tried


@pytest.mark.parametrize("count", [FEW, pytest.param(SOME, marks=pytest.mark.long)])
def test_a_scenario_is_described_or_refused(count: int, escapes: Escapes):
    assert escapes(count, count) == []


@pytest.mark.nightly
def test_many_are(escapes: Escapes, record_property):
    none_escapes(record_property, MANY, escapes(fresh_seed(), MANY))


NAMED = "none, constant, exponential or gamma"
ROUNDS = """[protocol]
kind = "rounds"
deadline = 2.0
[algorithm]
kind = "parameter-server"
step = 0.1
local_step = 0.1
local_steps = 3
"""
REQUEST = """[protocol]
kind = "request"
timeout = 2.0
[algorithm]
kind = "fedbuff"
buffer = 1
step = 0.1
server_step = 1.0
local_steps = 3
"""


@pytest.mark.parametrize("learning", [ROUNDS, REQUEST], ids=["rounds", "request"])
@pytest.mark.parametrize(
    ("law", "key", "allowed"),
    [
        ('kind = "lognormal"\nmean = 0.1\ncv = 1.0', ".kind", NAMED),
        ('kind = "uniform"\nlow = 0.1\nhigh = 1.0', ".kind", NAMED),
        ('kind = "constant"\nvalue = 9e8', "", "at most 1e9 for all of them together"),
    ],
    ids=["lognormal", "uniform", "too long"],
)
def test_a_time_that_nothing_says_is_refused_before_it_is_asked_for(
    learning: str, law: str, key: str, allowed: str, here: Path, command: Command
):
    """Found by random scenarios: a timeout was held against the least time of no law at all."""
    text = SMALL.replace('kind = "lognormal"\nmean = 0.1\ncv = 1.0', law)
    text = text.replace('[algorithm]\nkind = "async-gossip"\nrho = 0.01', learning)
    (here / "local.toml").write_text(text, encoding="utf-8")
    for verb in ("check", "run"):
        said = command.refused(verb, "local.toml")
        assert f" compute{key}: " in said
        assert said.endswith(allowed)
