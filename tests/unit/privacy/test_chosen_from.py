"""Settings chosen from private records are a leak that nobody pays for, and it is said."""

import json
from math import inf
from pathlib import Path

import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.runs import run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences import forecast as words
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sentences.scenario import describe
from tests.tables import table

BASE = table(__file__, "scenes.toml")["chosen"]
WHY = "settings chosen from private records, not accounted"


def scenario(chosen: str | None, mechanism: str = "laplace") -> Scenario:
    privacy = BASE["privacy"] | {"mechanism": mechanism}
    more = {} if chosen is None else {"chosen_from": chosen}
    return parse(Scenario, {**BASE, "privacy": privacy, **more})


@pytest.mark.parametrize(("chosen", "private"), [(None, True), ("public rows", True)])
def test_settings_of_public_rows_cost_nothing(chosen: str | None, private: bool) -> None:
    found = run(scenario(chosen))
    assert found.summary["private"] is private
    assert not any(WHY in said for said in found.warnings)
    assert not any(WHY in line for line in describe(scenario(chosen)))


def test_settings_of_private_rows_are_said_wherever_the_result_goes(tmp_path: Path) -> None:
    chosen = scenario("private rows")
    found = run(chosen)
    assert (found.summary["private"], found.summary["epsilon_true"]) == (False, inf)
    assert f"not private: {WHY}" in found.warnings
    write(found, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["scenario"]["chosen_from"] == "private rows"
    said = label([manifest]).text
    assert said.startswith("NOT PRIVATE as claimed (ε = 1 per owner over the run, pure ε-DP")
    assert f"): {WHY}. True ε = ∞." in said
    assert manifest["label"] == said
    shown = [line.split(maxsplit=1) for line in result_lines(tmp_path / "out")]
    assert ["because", WHY] in shown
    assert f"not private, no finite ε: {WHY}" in describe(chosen)
    foreseen = [line.split(maxsplit=1) for line in words.lines(forecast(chosen))]
    assert ["private", "NO (no finite ε)"] in foreseen
    assert ["because", WHY] in foreseen


def test_it_is_said_of_exact_answers_too() -> None:
    assert f"not private: {WHY}" in run(scenario("private rows", "none")).warnings


def test_the_results_figures_are_the_same_whatever_they_were_chosen_from() -> None:
    said, bare = run(scenario("private rows")), run(scenario(None))
    assert said.fingerprints == bare.fingerprints
