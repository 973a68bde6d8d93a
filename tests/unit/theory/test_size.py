"""Sizes of runs, reported before they start: what cannot fit is refused at every door."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import asyncdp_sim as ad
from asyncdp_sim.audits import audit
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.theory.predict import all as predictions
from asyncdp_sim.theory.predict.all import require_room
from tests.cli.scenes import SMALL
from tests.one_in import one_in
from tests.tables import table
from tests.unit.scenario.test_taking_part import naming as written

# Sizes of runs, told beforehand: what cannot fit is refused at every door, and nothing else.

ENDLESS = {"run": {"updates": 2**31 - 1, "record_every": 2**31 - 1}}
"""540 GB and more: of one replicate."""


def read(*parts: dict[str, Any]) -> Scenario:
    return parse(Scenario, written(3, *parts))


TABLE = table(__file__, "size.toml")


@one_in(5, "case", TABLE["measured"].values(), ids=TABLE["measured"])
def test_memory_grows_as_it_is_told(case):
    """Twice as long a run, so that what every run takes drops out."""
    scenario, events = read({"run": {"replicates": 2}}, case["parts"]), case["events"]
    longer = scenario.replace(run={"updates": 2 * scenario.run.updates})
    peaks = []
    run(scenario, events=events)  # what is imported, or found once, is there from now on
    for each in (scenario, longer):
        tracemalloc.start()
        run(each, events=events)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    told = [predictions.size(each, events=events).growing for each in (scenario, longer)]
    assert 1 / 3 < (peaks[1] - peaks[0]) / (told[1] - told[0]) < 3


def refused(key: str, call: Callable[..., Any], *given: Any) -> str:
    """Return what is said to be given where a call is refused for want of memory."""
    with pytest.raises(SpecError) as error:
        call(*given)
    [fault] = error.value.faults
    assert fault.key == key
    assert fault.allowed.startswith("allowed is what fits into the ")
    return fault.given


DOORS = {
    "run": run,
    "forecast": forecast,
    "simulate": ad.simulate,
    "audit": lambda scenario: audit(scenario, answers=100, runs=4, confidence=0.9),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_cannot_fit_is_refused_at_every_door(door, monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 2.1e8)
    given = refused("run.updates", DOORS[door], read({"run": {"updates": 50_000}}))
    assert given.startswith("50000 in 1 replicate, which takes about ")


def test_a_cell_that_cannot_fit_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 2.1e8)
    swept = read({"sweep": {"run.updates": [5, 50_000]}})
    refused("run.updates", sweep, swept, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_check_refuses_it_too(command):
    endless = ("--set", "run.updates=2147483647", "--set", "run.replicates=9")
    line = command.refused("check", "vary-availability", *endless)
    assert "run.updates: given 2147483647 in 9 replicates, which takes about " in line


def test_events_and_owners_and_rows_take_room(monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 2.5e8)
    scenario = read({"run": {"updates": 10**5}})
    require_room(scenario)
    with pytest.raises(SpecError, match="and keep no events"):
        require_room(scenario, events=True)
    given = refused("owners.count", require_room, parse(Scenario, written(20_000)))
    assert given.startswith("20000, which takes about ")
    crowd = {"clock": {"kind": "poisson", "rate": 1.0, "population": "superposed"}}
    require_room(parse(Scenario, written(20_000, crowd)))
    given = refused("owners.records", require_room, scenario.replace(owners={"records": 10**7}))
    assert given.startswith(f"{10**7 * scenario.owners.count:,} of all owners, which take about ")


@pytest.mark.parametrize("part", TABLE["ended"].values(), ids=TABLE["ended"])
def test_what_ends_earlier_is_not_refused(part, monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 3.0e8)
    require_room(read(ENDLESS, part))


def test_what_takes_long_is_told(monkeypatch):
    monkeypatch.setattr(predictions, "machine_memory", lambda: 64 * 2.0**30)
    assert predictions.size_notes(read({"run": {"updates": 10**6}})) == []
    assert predictions.size_notes(read({"run": {"updates": 4 * 10**7}})) == [
        "a run takes about 25 min of one processor, and 12.6 GiB; of fewer run.updates or "
        "run.replicates it takes less"
    ]
    rare = {"availability": {"kind": "bernoulli", "probability": 1e-6}}
    [said] = predictions.size_notes(read({"run": {"updates": 1000}}, rare))
    assert said.startswith("a run takes about 17 min")
    monkeypatch.setattr(predictions, "machine_memory", lambda: 12 * 2.0**30)
    [said] = predictions.size_notes(read({"run": {"updates": 2 * 10**7}}))
    assert "6.41 GiB" in said


def test_the_page_says_the_constants():
    page = " ".join(Path("docs/how-long.md").read_text(encoding="utf-8").split())
    point = f"{predictions.POINT} + {predictions.NUMBER} p"
    answer, tick = predictions.OF_ANSWER * 1e6, predictions.OF_TICK * 1e6
    event, update = predictions.OF_EVENT * 1e6, predictions.OF_UPDATE * 1e6
    assert f"{predictions.ANSWER} B · A + {predictions.EVENT} B · E + ({point}) B" in page
    assert f"{answer:g} µs · A + {tick:g} µs for each other" in page
    assert f"{event:g} µs · E) + {update:g} µs · U" in page
    updates, replicates = 1000, 100
    cell = replicates * predictions.OF_ANSWER * updates + predictions.OF_UPDATE * updates
    assert f"by this formula they take {100 * cell:.0f} s one by one" in page
    assert f"{predictions.OWNER // 1000} kB · N ({predictions.OF_CROWD / 1000:g} kB where" in page


# A run whose updates take longer than time can be counted is refused before it starts.

SLOW = SMALL.replace("rate = 1.0", "rate = 1e-9").replace("updates = 12", "updates = 200")
FILES = {"slow.toml": SLOW}
RATE_ONE = {"kind": "poisson", "rate": 1.0}
SAID = (
    "slow.toml: run.updates: given 200, which take 6.67e+10 time units; allowed is what takes "
    "4.61e+09, as time is counted in steps of 1e-09: choose a time unit 100 times as long, by "
    "which rates grow and durations fall, or set run.until"
)


@pytest.mark.usefixtures("here")
def test_every_door_refuses_it_and_proposes_the_unit(command):
    """Found by attack: the run ended after 10 of 200 updates, with a late note."""
    for verb in ("check", "run"):
        assert command.refused(verb, "slow.toml") == SAID


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("parts", TABLE["refused"], ids=["clocks", "exchanges", "no predictions"])
def test_what_ends_before_its_updates_is_refused_and_nothing_else(parts, here):
    slow = ad.load(here / "slow.toml").replace(**{"clock": RATE_ONE, **parts})
    with pytest.raises(ad.SpecError, match=r"run.updates: given 200, which take"):
        require_room(slow)
    require_room(slow.replace(run={"until": 1e9}))
    require_room(slow.replace(run={"updates": 3}))
