"""The decision that a forecast begins with: ten lines at most, true, and the same everywhere."""

import json
from dataclasses import replace
from typing import Any

import pytest

from asyncdp_sim.forecasts import Forecast, forecast
from asyncdp_sim.forecasts.changes import changes
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.forecasts.words import (
    SUBSTITUTE,
    TO_KNOW,
    UNKNOWN,
    as_json,
    decide,
    decision_lines,
    lines,
)
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.test_errors import RAW, on_a_table

EXACT: dict[str, Any] = {
    "data": {"held_out": 0.0},
    "model": {"theta_max": None},
    "privacy": {"epsilon": 1000.0, "sensitivity": {"kind": "declared", "bound": 8.0}},
}
NAMES = ["Decision", "Break-even ε", "How good", "How soon", "At what privacy", "How sure",
         "What would change it"]  # fmt: skip


def made(**parts: Any) -> Scenario:
    return Scenario.model_validate(RAW).replace(**parts)


LOGISTIC = {"kind": "logistic", "regularisation": 1e-3}
CASES: dict[str, dict[str, Any]] = {
    "rows held out": {},
    "small budgets": {"privacy": {"epsilon": 0.1}},
    "large budgets": {"privacy": {"epsilon": 1e5}},
    "without privacy": {"privacy": {"mechanism": "none"}},
    "no rows held out": {"data": {"held_out": 0.0}},
    "exact": EXACT,
    "exact, small budgets": EXACT | {"privacy": EXACT["privacy"] | {"epsilon": 0.1}},
    "labels": {"model": LOGISTIC, "data": {"labels": True}},
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_it_is_in_ten_lines_begins_all_that_is_printed_and_groups_owners_by_verdict(case):
    scenario = made(**CASES[case])
    found = forecast(scenario)
    tried = changes(population(scenario, private=False), found.worth)
    told = decision_lines(decide(found, tried))
    assert len(told) <= 10
    assert [line[:20].strip() for line in told if line[0] != " "] == NAMES
    assert lines(found, tried)[: len(told)] == told
    assert json.loads(as_json(found, tried))["decision"]["decision"] == decide(found).decision
    assert not any(word in " ".join(told) for word in ("nan", "inf", "None"))
    assert len(decide(found, tried).would_change_it) == 3
    groups = decide(found)
    by_verdict = {True: groups.gain, False: groups.do_worse, None: groups.undecided}
    for owner, verdict in enumerate(found.verdicts, 1):
        assert owner in by_verdict[verdict]
    assert sum(map(len, by_verdict.values())) == len(found.verdicts) == 4


def test_sentences_follow_the_verdicts():
    found = forecast(made(**EXACT))

    def said(*profits: bool | None) -> str:
        several = zip(found.owners, profits, strict=True)
        owners = tuple(replace(owner, profits=gains) for owner, gains in several)
        return decide(replace(found, owners=owners)).decision

    assert said(True, True, True, True) == "all owners should join at ε = 1,000: 4 of 4 gain"
    none = "no owner should join at ε = 1,000: 3 of 4 do worse than alone, 1 is undecided"
    assert said(False, False, False, None) == none
    most = "not known for most owners at ε = 1,000: 1 of 4 does worse than alone, 3 are undecided"
    assert said(False, None, None, None) == most
    some = "2 of 4 owners should join at ε = 1,000 (owner 1, owner 3); 2 of 4 do worse than alone"
    assert said(True, False, True, False) == some
    assert said(None, None, None, None).startswith("not known at ε = 1,000: every difference is")
    assert decide(replace(found, owners=())).decision == UNKNOWN


def test_break_even_is_that_of_the_owners():
    found = forecast(made(**EXACT))
    needed = sorted(each for each in found.break_even if each is not None)
    said = decide(found).break_even.split()
    assert float(said[0].replace(",", "")) == pytest.approx(needed[0], rel=0.01)
    at = next(at for at, word in enumerate(said) if word == "owner,") + 1
    middle = needed[(len(found.break_even) - 1) // 2]
    assert float(said[at].replace(",", "")) == pytest.approx(middle, rel=0.01)
    lower = forecast(made(**EXACT | {"privacy": EXACT["privacy"] | {"epsilon": needed[0] / 2}}))
    assert decide(lower).gain == ()
    assert lower.would_gain(4.0) >= 1


def test_a_lever_does_what_it_says():
    scenario = made(**EXACT | {"privacy": EXACT["privacy"] | {"epsilon": 0.1}})
    found = forecast(scenario)
    tried = changes(population(scenario, private=False), found.worth)
    by_words = {each.words: each.profits for each in tried}
    assert len(by_words) == 3
    for words, parts in {
        "15 updates instead of 60": {"run": {"updates": 15}},
        "Gaussian noise at δ = 1e-06": {"privacy": {"mechanism": "gaussian", "delta": 1e-6}},
    }.items():
        changed = forecast(scenario.replace(**parts))
        assert by_words[words] == changed.verdicts.count(True)
    factor, count = _budget_lever(decide(found, tried).would_change_it)
    larger = scenario.replace(privacy={"epsilon": 0.1 * factor})
    verdicts = forecast(larger).verdicts
    assert verdicts.count(True) <= count <= verdicts.count(True) + verdicts.count(None)


def test_less_noise_is_not_tried_where_it_cannot_help():
    known = population(made(**EXACT), private=False)
    tried = changes(known, None, less_noise=False)
    assert [each.words for each in tried] == ["15 updates instead of 60"]


def _budget_lever(levers: tuple[str, ...]) -> tuple[float, int]:
    [said] = [lever for lever in levers if " times as large" in lever]
    words = said.split()
    return float(words[1]), int(words[words.index("of") - 1])


def test_substitute_rows_that_make_nothing_certain_are_the_sentence(tmp_path):
    found = forecast(on_a_table(tmp_path, "by column"))
    assert found.worth is not None
    unsure = replace(found, worth=replace(found.worth, rows=found.worth.alone + 1e3))
    decided = decide(unsure)
    assert decided.decision == f"not known at ε = 30: {SUBSTITUTE}"
    assert decided.would_change_it[:2] == TO_KNOW
    assert decided.would_change_it[2].endswith("owners would gain beyond the ±") or (
        "--tune" in decided.would_change_it[2]
    )
    assert "without ±" in decided.break_even or decided.break_even.startswith("none")
    assert "8 redraws of the substitute rows" in decided.how_sure


def test_what_breaks_privacy_is_on_the_first_screen():
    found: Forecast = forecast(made(**EXACT))
    said = "ε = 1,000 per owner for the whole run"
    assert decide(found).privacy == f"{said}, if the declared bound holds"
    clipped = found.scenario.replace(privacy={"sensitivity": {"kind": "clip", "bound": 8.0}})
    assert decide(replace(found, scenario=clipped)).privacy == said
    one = found.scenario.replace(privacy={"noise": "scalar-as-published"})
    assert decide(replace(found, scenario=one)).privacy.startswith("NO finite ε: one draw")
    assert decide(replace(found, timing="the learner waits")).privacy.startswith("NO finite ε")


def test_tuning_is_named_for_gossip_alone():
    server = {"kind": "fedasync", "step": 0.01, "mixing": 0.5}
    levers = decide(forecast(made(algorithm=server, data={"held_out": 0.0}))).would_change_it
    assert not any("--tune" in lever for lever in levers)
    levers = decide(forecast(made(privacy={"epsilon": 0.1}))).would_change_it
    assert any("--tune" in lever for lever in levers)
