"""Every observer: it says who it is, and never learns more than whoever hears every answer."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.describe import describe
from asyncdp_sim.errors import SpecError
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.words import as_json
from asyncdp_sim.forecasts.words import figures as in_words
from asyncdp_sim.on_screen import figures
from asyncdp_sim.privacy.label import label, named_guarantee
from asyncdp_sim.privacy.observers import Observer, ObserverKind
from asyncdp_sim.runs import RunResult, run
from asyncdp_sim.runs.writing import manifest
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec import parse
from tests.conformance.members import examples, said

EACH = pytest.mark.parametrize("observer", examples(Observer), ids=said)
AVERAGING: dict[str, Any] = {
    "schema": 1,
    "id": "averaging",
    "run": {"seed": 4, "updates": 30, "replicates": 2},
    "owners": {"count": 6, "records": 20},
    "data": {"kind": "gaussian", "features": 2},
    "model": {"kind": "ridge", "regularisation": 0.1},
    "protocol": {"kind": "gossip", "graph": {"kind": "ring"}},
    "algorithm": {"kind": "averaging", "step": 0.2},
    "privacy": {
        "epsilon": [0.5, 1.0, 1.0, 2.0, 2.0, 3.0],
        "delta": 1e-6,
        "mechanism": "gaussian",
        "sensitivity": {"kind": "clip", "bound": 1.0},
        "budget": {"kind": "per-owner-cap", "answers": 1},
    },
}


ROUNDS: dict[str, Any] = {
    **{name: part for name, part in AVERAGING.items() if name != "protocol"},
    "id": "rounds",
    "run": {"seed": 4, "updates": 8, "replicates": 2},
    "model": {"kind": "ridge", "regularisation": 0.1, "theta_max": 2.0},
    "protocol": {"kind": "rounds"},
    "algorithm": {"kind": "parameter-server", "step": 0.2},
    "privacy": {
        **AVERAGING["privacy"],
        "sensitivity": {"kind": "domain", "row_norm": 1.0, "target_max": 2.0},
        "budget": {"kind": "horizon"},
    },
}
"""Of an observer that sees models of learning in rounds."""


def base(observer: ObserverKind | None) -> dict[str, Any]:
    """Return a scenario that an observer is of."""
    return ROUNDS if observer is not None and observer.kind == "model" else AVERAGING  # type: ignore[attr-defined]


def scenario(
    observer: ObserverKind | None, of: dict[str, Any] | None = None, **changed: Any
) -> Scenario:
    own = base(observer) if of is None else of
    fields = {**own, **changed}
    privacy = {**own["privacy"], **changed.get("privacy", {})}
    if observer is not None:
        privacy["observer"] = observer.model_dump(exclude_none=True)
    return parse(Scenario, {**fields, "privacy": privacy})


@cache
def outcome(
    observer: ObserverKind | None, graph: str = "ring", like: ObserverKind | None = None
) -> RunResult:
    """Run what an observer, or another one like it, is of."""
    of = base(observer if like is None else like)
    gossip = {} if of is ROUNDS else {"protocol": {"kind": "gossip", "graph": {"kind": graph}}}
    return run(scenario(observer, of, **gossip))


@EACH
@pytest.mark.parametrize("graph", ["ring", "star", "complete"])
def test_nobody_learns_more_than_who_hears_all(observer: ObserverKind, graph: str) -> None:
    heard, seen = outcome(None, graph, observer), outcome(observer, graph)
    assert seen.fingerprints == heard.fingerprints  # whoever listens changes nothing
    assert np.all(seen.ledger.spent <= heard.ledger.spent)
    assert np.all(seen.ledger.spent <= seen.problem.accountant.epsilon)
    assert np.array_equal(seen.ledger.released, heard.ledger.released)
    median = seen.ledger.median
    assert median is None or np.all(median <= seen.ledger.spent)
    assert seen.summary["private"] is True
    assert seen.summary["epsilon_true"] == seen.ledger.spent.max()


@EACH
def test_everything_that_states_an_epsilon_says_whom_it_is_against(observer: ObserverKind) -> None:
    told = manifest(outcome(observer))
    words = observer.words()
    assert f", against {words}" in label([told]).text
    assert f", against {words}" in named_guarantee([told])
    assert ("ε is against", words) in figures(told)


@EACH
def test_check_and_forecast_say_it_too(observer: ObserverKind) -> None:
    asked = scenario(observer)
    assert f"observer: ε is against {observer.words()}" in describe(asked)
    later = "what it learns is known after a run, and never costs more than whoever hears all"
    assert (later in describe(asked)) is not observer.hears_all
    found = forecast(asked)
    assert dict(in_words(found))["ε is against"] == observer.words()
    assert json.loads(as_json(found))["against"] == observer.words()
    silent = replace(found, against=None)
    assert "ε is against" not in dict(in_words(silent))
    assert "against" not in json.loads(as_json(silent))


def test_where_no_observer_is_named_nothing_is_said_of_one() -> None:
    told = manifest(outcome(None))
    assert "against" not in label([told]).text + named_guarantee([told])
    assert "observer" not in told["scenario"]["privacy"]
    assert "ε is against" not in dict(figures(told))


def test_who_differ_are_both_named() -> None:
    one, two = examples(Observer)[:2]
    text = label([manifest(outcome(one)), manifest(outcome(two))]).text
    assert f", against {one.words()} or {two.words()}" in text  # type: ignore[attr-defined]


_NODE = next(each for each in examples(Observer) if each.kind == "node")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            {"algorithm": {"kind": "gossip-graph", "rho": 5.0}},
            "algorithm averaging, given gossip-graph",
        ),
        ({"privacy": {"mechanism": "laplace"}}, "Gaussian noise, given laplace"),
        ({"privacy": {"epsilon": float("inf")}}, "finite ε"),
        ({"privacy": {"overlap": 2}}, "records that one owner has"),
        (
            {"privacy": {"sensitivity": {"kind": "declared", "bound": 1.0}}},
            "bounds that are enforced, given declared",
        ),
        ({"adversary": {"kind": "flip", "owners": [1]}}, "owners that do not lie"),
        ({"acceptance": {"kind": "clip", "bound": 9.0}}, "answers that are taken as they are"),
        (
            {"run": {**AVERAGING["run"], "learning": "live", "target": 0.1}},
            "timing that tells nothing of records",
        ),
    ],
)
def test_a_node_whose_view_is_not_known_is_refused_by_name(
    changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(SpecError) as caught:
        scenario(_NODE, **changed)  # type: ignore[arg-type]
    told = [each.allowed for each in caught.value.faults if each.key == "privacy.observer.kind"]
    assert told == [f"what a node learns is known of {why} only: allowed is transcript"]


@pytest.mark.parametrize("colluding", [[7], [2, 2]])
def test_colluders_are_different_owners(colluding: list[int]) -> None:
    with pytest.raises(SpecError) as caught:
        scenario(type(_NODE)(colluding=colluding))  # type: ignore[call-arg,arg-type]
    [fault] = caught.value.faults
    assert fault.key == "privacy.observer.colluding"
    assert fault.allowed == "allowed are different owners from 1 to 6"
