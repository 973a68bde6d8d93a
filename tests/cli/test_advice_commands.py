"""``asyncdp audit`` and ``asyncdp forecast``: what they print, and what they refuse."""

import json
from pathlib import Path

import pytest

from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, rates
from tests.tables import table

SOUND = SMALL.replace("epsilon = 1.0", 'epsilon = 1.0\nbudget = { kind = "horizon" }')
EXACT = (
    SMALL.replace('kind = "gamma"\nrate = 1.0\ncv = 0.5', 'kind = "poisson"\nrate = 1.0')
    .replace('{ kind = "clip", bound = 1.0 }', '{ kind = "declared", bound = 5.0 }')
    .replace("theta_max = 10.0\n", "")
)
pytestmark = pytest.mark.usefixtures("here")


FILES = {"sound.toml": SOUND, "exact.toml": EXACT, "sweep.toml": SWEEP, "table.toml": ON_A_TABLE}


@pytest.fixture
def here(here: Path) -> Path:
    rates(here / "rates.csv")
    return here


@pytest.mark.long
def test_a_first_verdict_on_an_entry_of_the_catalogue_takes_seconds(command):
    assert command.done("audit", "lending-sound").seconds <= 30


def test_a_forecast_as_json(command):
    found = json.loads(command.done("forecast", "exact.toml", "--json").out)
    assert found["psi_half_width"] > 0
    assert found["label"] == "no private record was read"
    assert len(found["owners"]) == 3


@pytest.mark.long
def test_private_records_are_read_only_where_that_is_asked_for(command):
    told = json.loads(command.done("forecast", "table.toml", "--json").out)
    assert (told["reads"], told["release"], told["owners"]) == ("public", True, [])


@pytest.mark.long
def test_advice_is_json_too(command):
    """All that is asked for together, in the words of --json: plain values, mean and interval."""
    asked = ("--set", "algorithm.rho=1e-4", "--tune", "--invite", "--market", "1,1,1",
             "--target", "1")  # fmt: skip
    told = json.loads(command.done("forecast", "exact.toml", *asked, "--json").out)
    assert list(told) == ["invite", "tune", "market"]
    best = told["tune"]["best"]
    updates = best["setting"]["updates"]
    assert told["tune"]["scenario"]["run"]["updates"] == updates
    assert best["simulated"]["half_width"] >= 0
    assert len(told["market"]["purchase"]["epsilon"]) == 3
    assert told["invite"]["scenario"] is None  # nobody is invited
    assert {*told["invite"]["best"]["coalition"]} == {"members", "records", "rho", "answers"}
    assert {*told["invite"]["best"]["simulated"]} == {"psi", "half_width", "runs"}
    [line] = [
        line
        for line in command.done("forecast", "exact.toml", *asked[:3]).out.splitlines()
        if line.startswith("best ")
    ]
    assert f"ψ {best['simulated']['psi']:#.3g} " in line
    assert f"T = {updates}" in line


REFUSED = table(__file__, "refused.toml")["advice"]


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_attacked_or_forecast_is_refused(words, command):
    assert REFUSED[words] in command.refused(*words.split())


def test_other_protocols_are_in_json_where_asked_for(command):
    options = ("--own-best", "linear", "--set", "run.updates=20", "--alternatives")
    found = json.loads(command.done("forecast", "sound.toml", *options, "--json").out)
    moments, sums = found["alternatives"]
    assert moments["settings"]["algorithm"] == {"kind": "noisy-statistics"}
    assert sums["settings"]["privacy"]["observer"] == {"kind": "aggregate"}
    assert found["alternatives"][0].keys() == {
        "protocol", "settings", "refused", "consortium", "owners", "difference",
    }  # fmt: skip
    without = json.loads(command.done("forecast", "sound.toml", *options[:-1], "--json").out)
    assert without["alternatives"] == []
    assert without["consortium"] == found["consortium"]
