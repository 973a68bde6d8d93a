"""Every observer: it says who it is, and never learns more than an observer of every answer."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits import first_audit
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.privacy.observers import Observer, ObserverKind
from asyncdp_sim.results.manifest import digest
from asyncdp_sim.runs.run import manifest, run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.forecast import as_json
from asyncdp_sim.sentences.forecast import figures as in_words
from asyncdp_sim.sentences.label import label, named_guarantee
from asyncdp_sim.sentences.result import figures
from asyncdp_sim.sentences.scenario import describe
from tests.conformance.members import examples, said
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

_NODE = next(each for each in examples(Observer) if each.kind == "node")
_SUMS = next(each for each in examples(Observer) if each.kind == "aggregate")
EACH = pytest.mark.parametrize("observer", examples(Observer), ids=said)
TABLE = table(__file__, "observers.toml")
AVERAGING, SUMMED, ROUNDS = (TABLE[name] for name in ("averaging", "summed", "rounds"))
"""Of observers of nodes, of sums (one update, since owners answer once), and of models."""


def base(observer: ObserverKind | None) -> dict[str, Any]:
    """Return a scenario that an observer is of."""
    if observer is not None and observer.sees_sums:
        return SUMMED
    return ROUNDS if observer is not None and observer.kind == "model" else AVERAGING


def scenario(observer, of=None, **changed):
    own = base(observer) if of is None else of
    fields = {**own, **changed}
    privacy = {**own["privacy"], **changed.get("privacy", {})}
    if observer is not None:
        privacy["observer"] = observer.model_dump(exclude_none=True)
    return parse(Scenario, {**fields, "privacy": privacy})


@cache
def outcome(observer, graph="ring", like=None):
    """Run what an observer, or another one like it, is of."""
    of = base(observer if like is None else like)
    gossip = (
        {} if of is not AVERAGING else {"protocol": {"kind": "gossip", "graph": {"kind": graph}}}
    )
    return run(scenario(observer, of, **gossip))


@pytest.mark.oracle("ε of every owner against an observer")
@EACH
@one_in(3, "graph", ["ring", "star", "complete"])
def test_nobody_learns_more_than_who_hears_all(observer, graph):
    if observer.sees_sums:
        assert_sums_cost_no_more(observer)
        return
    heard, seen = outcome(None, graph, observer), outcome(observer, graph)
    assert seen.fingerprints == heard.fingerprints  # whoever listens changes nothing
    assert np.all(seen.ledger.spent <= heard.ledger.spent)
    assert np.all(seen.ledger.spent <= seen.problem.accountant.epsilon)
    assert np.array_equal(seen.ledger.released, heard.ledger.released)
    median = seen.ledger.median
    assert median is None or np.all(median <= seen.ledger.spent)
    assert seen.summary["private"] is True
    assert seen.summary["epsilon_true"] == seen.ledger.spent.max()


def assert_sums_cost_no_more(observer: ObserverKind) -> None:
    """All answers of rounds cost the strictest its budget, and nobody more than its own."""
    seen = run(scenario(observer))
    assert np.array_equal(seen.ledger.released, np.ones((2, 6)))
    assert np.all(seen.ledger.spent <= seen.problem.accountant.epsilon)
    assert np.ptp(seen.ledger.spent) == 0
    assert seen.ledger.spent[0, 0] == pytest.approx(0.5)
    assert seen.ledger.median is None
    assert seen.summary["private"] is True
    assert seen.summary["epsilon_true"] == seen.ledger.spent.max()


@EACH
def test_everything_that_states_an_epsilon_says_whom_it_is_against(observer):
    told = manifest(run(scenario(observer)) if observer.sees_sums else outcome(observer))
    words = observer.describe()
    assert f", against {words}" in label([told]).text
    assert f", against {words}" in named_guarantee([told])
    assert ("ε is against", words) in figures(told)


@EACH
def test_check_and_forecast_say_it_too(observer):
    asked = scenario(observer)
    assert f"observer: ε is against {observer.describe()}" in describe(asked)
    later = "its ε is known after a run, and is at most that against an observer of all answers"
    assert (later in describe(asked)) is not observer.by_count
    found = forecast(asked)
    assert dict(in_words(found))["ε is against"] == observer.describe()
    assert json.loads(as_json(found))["against"] == observer.describe()
    assert ("ε spent" in dict(in_words(found))) is not observer.by_count
    assert json.loads(as_json(found))["known_after"] is not observer.by_count
    silent = replace(found, against=None)
    assert "ε is against" not in dict(in_words(silent))
    assert "against" not in json.loads(as_json(silent))


@together
@pytest.mark.parametrize(("observer", "told"), TABLE["told_of_sums"])
def test_check_tells_of_sums_what_runs_do(observer, told):
    assert told in describe(scenario(type(_SUMS)(**observer)))


def test_where_all_are_as_strict_nobody_is_named():
    said = describe(scenario(_SUMS, privacy={"epsilon": 1.0}))
    assert not any("strictest" in line for line in said)


def test_where_no_observer_is_named_nothing_is_said_of_one():
    told = manifest(outcome(None))
    assert "against" not in label([told]).text + named_guarantee([told])
    assert "observer" not in told["scenario"]["privacy"]
    assert "ε is against" not in dict(figures(told))


@pytest.mark.parametrize(
    ("field", "kind"), [("observer", "model"), ("observer", "transcript"), ("budget", "horizon")]
)
def test_a_kind_alone_is_its_table_and_keeps_its_digest(field, kind):
    alone, table = (
        scenario(None, ROUNDS, privacy={"budget": {"kind": "horizon"}, field: value})
        for value in (kind, {"kind": kind})
    )
    assert alone.plain() == table.plain()
    assert alone.plain()["privacy"][field]["kind"] == kind
    assert digest(alone.plain()) == digest(table.plain())


def test_who_differ_are_both_named():
    one, two = examples(Observer)[:2]
    text = label([manifest(outcome(one)), manifest(outcome(two))]).text
    assert f", against {one.describe()}; or {two.describe()}" in text


OBSERVERS = {"sums": _SUMS, "node": _NODE}


@together
@pytest.mark.parametrize("name", OBSERVERS)
def test_what_is_not_known_of_an_observer_is_refused_by_name(name):
    observer, tells = OBSERVERS[name], TABLE["tells"][name]
    for changed, why in TABLE["unknown"]["both"] + TABLE["unknown"][name]:
        with pytest.raises(SpecError) as caught:
            scenario(observer, **changed)
        told = [each for each in caught.value.faults if each.key == "privacy.observer.kind"]
        known, _, given = why.partition(", given ")
        allowed = f"{tells} is known only of {known}: allowed is transcript"
        assert [each.allowed for each in told] == [allowed]
        assert told[0].given.partition(" with ")[2] == given


@together
@pytest.mark.parametrize(("observer", "fields", "changed", "key", "allowed"), TABLE["refused"])
def test_what_does_not_fit_an_observer_is_one_line(observer, fields, changed, key, allowed):
    """So many have to be left, and no owner may be twice in a buffer, or among colluders."""
    with pytest.raises(SpecError) as caught:
        scenario(type(OBSERVERS[observer])(**fields), **changed)
    [fault] = caught.value.faults
    assert fault.key == f"privacy.observer.{key}"
    assert allowed in fault.allowed


def test_canaries_are_not_told_by_sums():
    with pytest.raises(SpecError, match="need single answers, which are not seen here"):
        first_audit(scenario(_SUMS), canaries=4, confidence=0.9)
