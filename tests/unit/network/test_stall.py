"""Ends of runs: those which get nowhere do end, and say so."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, learner, simulate
from asyncdp_sim.network.availability import OnOff, Outages
from asyncdp_sim.network.channels import Csma, Ideal
from asyncdp_sim.network.laws import Constant, Exponential, Gamma
from asyncdp_sim.network.protocols import Broadcast, Dispatch, Push, Request, dispatch
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.trace import Ending, ExchangeOutcome, Trace
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

DEAF = Ideal(loss_query=(1.0, 0.0))
"""Owner 1 never hears a query; owner 2 hears all."""


def ended(**fields: Any) -> Trace:
    network = Network(**{"answers_allowed": (2, 2), "updates": 50, **fields})
    return simulate(network, Streams(1).within("replicate", 1))


CASES = table(__file__, "stall.toml")
NOWHERE, SAID = CASES["nowhere"], CASES["said"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 attempts in a row, or 100 looks, 20 clock ticks (10 time units) apart."""
    monkeypatch.setattr(learner, "ATTEMPTS", 300)
    monkeypatch.setattr(learner, "_SILENT", 100)
    monkeypatch.setattr(learner, "_BETWEEN", 20)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fields", NOWHERE.values(), ids=NOWHERE)
def test_owners_that_get_nowhere_end_the_run(fields):
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


@pytest.mark.parametrize("fields", CASES["at_once"].values(), ids=CASES["at_once"])
@pytest.mark.parametrize(
    "protocol", [Dispatch(tasks=3), Dispatch(tasks=2, to="same", queue="none")]
)
def test_tasks_that_fail_at_once_are_handed_out_again(protocol, fields):
    many = {"answers_allowed": (1000, 1000), "compute": Exponential(mean=1.0)}
    trace = ended(protocol=protocol, **many, **fields)
    assert trace.ending is Ending.updates
    assert trace.owners["attempts"].sum() > 50 * 50


def test_tasks_that_fail_now_and_then_end_no_run(monkeypatch):
    monkeypatch.setattr(dispatch, "ATTEMPTS", 30)
    many = {"answers_allowed": (1000, 1000), "compute": Constant(value=1.0)}
    trace = ended(protocol=Dispatch(tasks=3), channel=Ideal(loss_query=0.5), **many)
    assert trace.ending is Ending.updates
    assert trace.owners["attempts"].sum() > 50 + 30


@one_in(3, "fields", CASES["endless"].values(), ids=CASES["endless"])
def test_attempts_that_fail_at_one_tick_without_end_end_the_run(fields):
    trace = ended(compute=Constant(value=1.0), **fields)
    assert trace.ending is Ending.stalled
    assert 10**5 <= trace.owners["attempts"].sum() <= 2 * 10**5


@pytest.mark.usefixtures("impatient")
def test_outages_within_outages_are_comings_and_goings(monkeypatch):
    """Each owner is in four, away but for 3e-7 of the time: it hardly ever comes or goes itself."""
    monkeypatch.setattr(learner, "_COMINGS", 2000)
    dark = Outages(
        groups=((1, 2), (1, 2), (1, 2), (1, 2)),
        gap=Exponential(mean=0.0025),
        length=Constant(value=0.1),
    )
    trace = ended(availability=dark, until=200.0)
    assert trace.ending is Ending.stalled
    assert trace.end_tick < 40 * 10**9


@pytest.mark.long
def test_the_real_patience_is_a_hundred_thousand_attempts():
    trace = ended(channel=DEAF)
    assert trace.ending is Ending.stalled
    assert 10**5 <= trace.owners["attempts"][0] < 1.2 * 10**5


@together
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fields", NOWHERE.values(), ids=NOWHERE)
def test_a_horizon_comes_first(fields):
    trace = ended(until=20.0, **fields)
    assert trace.ending is Ending.horizon
    assert trace.end_tick == 20 * 10**9


@pytest.mark.usefixtures("impatient")
def test_slow_is_not_stalled():
    """Hundreds of attempts may fail in all, and owners may be away for long, time and again."""
    rare = ended(channel=Ideal(loss_query=0.95), answers_allowed=(20, 20), updates=20)
    assert rare.ending is Ending.updates
    assert rare.owners["attempts"].sum() > 310
    away = OnOff(on=Constant(value=50.0), off=Constant(value=600.0))
    late = ended(availability=away, answers_allowed=(300, 300), updates=300)
    assert late.ending is Ending.updates
    assert late.end_tick > 1000 * 10**9
    brief = OnOff(on=Constant(value=0.001), off=Constant(value=1.0))
    seldom = ended(availability=brief, updates=4)
    assert seldom.ending is Ending.updates
    assert np.diff(seldom.updates["tick"]).max() > 1100 * 10**9


def test_the_watch_never_shows_in_the_tables(monkeypatch):
    """However often it looks: at the shortest, between any two clock ticks."""
    fields = {
        "answers_allowed": (60, 60),
        "updates": 100,
        "channel": Csma(airtime=0.1, propagation_delay=0.01, loss=0.3, retransmissions=1),
        "compute": Exponential(mean=0.1),
    }
    seldom = ended(**fields)
    monkeypatch.setattr(learner, "_BETWEEN", 1)
    often = ended(**fields)
    assert often.exchanges.tolist() == seldom.exchanges.tolist()
    assert often.owners.tolist() == seldom.owners.tolist()
    assert often.end_tick == seldom.end_tick


@pytest.mark.parametrize("protocol", [Request(), Push(), Broadcast(interval=1.0)])
def test_every_budget_spent(protocol):
    trace = ended(protocol=protocol, compute=Exponential(mean=0.1))
    assert trace.ending is Ending.spent
    assert trace.released.tolist() == [2, 2]
    assert trace.end_tick == trace.exchanges["end_tick"].max()


def test_spent_waits_for_answers_under_way():
    """The last answers are released long before they arrive, or are lost."""
    channel = Ideal(loss=(0.0, 1.0))
    trace = ended(protocol=Push(), latency=Latency(answer=Constant(value=9.0)), channel=channel)
    assert trace.ending is Ending.spent
    assert trace.ended(ExchangeOutcome.applied, ExchangeOutcome.lost).tolist() == [2, 2]
    assert trace.ended(ExchangeOutcome.in_flight).tolist() == [0, 0]
    assert trace.end_tick == trace.exchanges["release_tick"].max() + 9 * 10**9


TABLE = table(__file__, "nobody_asks.toml")


@pytest.mark.parametrize(
    "fields",
    TABLE["nobody"],
    ids=["a script ends", "all have left", "one is never there", "one tick each"],
)
def test_nobody_asks_any_more(fields):
    trace = ended(**fields)
    assert trace.ending is Ending.silent
    assert trace.released.tolist() != [2, 2]
    assert len(trace.updates) < 50


def test_a_first_period_beyond_the_clock_is_cut():
    wild = OnOff(on=Gamma(mean=1e9, cv=100.0), off=Constant(value=1.0))
    assert ended(answers_allowed=(3,), until=1.0, availability=wild).end_tick == 10**9


def early_ends(run_: dict[str, Any], **parts: Any) -> list[str]:
    outcome = run(parse(Scenario, {**CASES["scenario"], **parts, "run": run_}))
    return [said for said in outcome.warnings if " ended after " in said]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("case", SAID.values(), ids=SAID)
def test_the_warning_says_why(case):
    whole = CASES["scenario"]["run"]
    parts = dict(case["changed"])
    until = {"until": parts.pop("until")} if "until" in parts else {}
    assert early_ends(whole | until, **parts) == [case["sentence"]]


def test_a_run_that_reaches_update_t_has_nothing_to_explain():
    assert early_ends({"updates": 4, "replicates": 2}) == []
