"""Ends of runs: those which get nowhere do end, and say so."""

import numpy as np
import pytest

from asyncdp_sim.network import learner
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.trace import Ending, ExchangeOutcome
from tests import traces
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

TABLE = table(__file__, "ends.toml")
NOWHERE, SAID, SHORT = TABLE["nowhere"], TABLE["said"], TABLE["patience"]["short"]


def ended(owners=2, answers=2, *, events=False, **fields):
    network = traces.network(owners, answers, **{"updates": 50, **fields})
    return traces.traced(network, events=events)


def facts(trace):
    """Return what cases say of a trace; of each owner, or one number."""
    ticks, releases = trace.updates["tick"], trace.exchanges["release_tick"]
    fates = ("applied", "lost", "in_flight")
    return {fate: trace.ended(ExchangeOutcome[fate]).tolist() for fate in fates} | {
        "ending": trace.ending.name,
        "updates": trace.n_updates,
        "events": len(trace.events),
        "by": sorted(set(trace.updates["owner"].tolist())),
        "end": trace.end_tick / 1e9,
        "after_last_release": (trace.end_tick - releases.max(initial=0)) / 1e9,
        "longest_pause": np.diff(ticks).max(initial=0) / 1e9,
        "released": trace.released.tolist(),
        "attempts": trace.owners["attempts"].tolist(),
    }


def set_patience(monkeypatch, constants):
    for name, value in constants.items():
        monkeypatch.setattr(f"asyncdp_sim.network.{name}", value)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["said"], marks=[pytest.mark.long] * case.get("long", False))
        for case in TABLE["ends"]
    ],
)
def test_a_run_ends_as_it_should(case, monkeypatch):
    set_patience(monkeypatch, TABLE["patience"][case["patience"]] if "patience" in case else {})
    trace = ended(**case["with"], events=True)
    found = facts(trace)
    assert found | case["then"] == found
    for name, least in case.get("from", {}).items():
        assert np.sum(found[name]) >= least
    for name, beyond in case.get("below", {}).items():
        assert np.sum(found[name]) < beyond
    if trace.ending is Ending.spent:
        assert trace.end_tick == trace.exchanges["end_tick"].max()


@pytest.mark.parametrize("fields", NOWHERE.values(), ids=NOWHERE)
def test_owners_that_get_nowhere_end_the_run(fields, monkeypatch):
    set_patience(monkeypatch, SHORT)
    trace = ended(**fields)
    assert trace.ending is Ending.stalled
    assert trace.released.tolist() == [0, 2]
    assert trace.updates["owner"].tolist() == [2, 2]
    attempts = int(trace.owners["attempts"][0])
    if fields.get("protocol", {}).get("kind") == "broadcast":
        assert attempts == 0
        assert 900 * 10**9 < trace.end_tick < 2200 * 10**9  # it is silent: 100 looks
    else:
        assert 300 <= attempts < 360


@together
@pytest.mark.parametrize("fields", NOWHERE.values(), ids=NOWHERE)
def test_a_horizon_comes_first(fields, monkeypatch):
    set_patience(monkeypatch, SHORT)
    trace = ended(until=20.0, **fields)
    assert (trace.ending, trace.end_tick) == (Ending.horizon, 20 * 10**9)


@one_in(3, "fields", TABLE["endless"].values(), ids=TABLE["endless"])
def test_attempts_that_fail_at_one_tick_without_end_end_the_run(fields):
    trace = ended(compute={"kind": "constant", "value": 1.0}, **fields)
    assert trace.ending is Ending.stalled
    assert 10**5 <= trace.owners["attempts"].sum() <= 2 * 10**5


def test_the_watch_never_shows_in_the_tables(monkeypatch):
    """However often it looks: at the shortest, between any two clock ticks."""
    seldom = ended(**TABLE["watched"])
    monkeypatch.setattr(learner, "_BETWEEN", 1)
    often = ended(**TABLE["watched"])
    assert often.exchanges.tolist() == seldom.exchanges.tolist()
    assert often.owners.tolist() == seldom.owners.tolist()
    assert often.end_tick == seldom.end_tick


@pytest.mark.parametrize("case", SAID.values(), ids=SAID)
def test_the_warning_says_why(case, monkeypatch):
    """A run that reaches update T has nothing to explain."""
    set_patience(monkeypatch, SHORT)
    scenario = TABLE["scenario"]
    parts = scenario | case["changed"] | {"run": scenario["run"] | case.get("run", {})}
    outcome = run(parse(Scenario, parts))
    assert [said for said in outcome.warnings if " ended after " in said] == case["sentences"]
