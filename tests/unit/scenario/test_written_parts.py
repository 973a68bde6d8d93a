"""Scenarios are written part by part, and as the library would write the whole of them."""

import json

import pytest
import tomli_w

from asyncdp_sim.core.specification import parse
from asyncdp_sim.results.manifest import described, placeless
from asyncdp_sim.scenario import Scenario, dump, jsonable, load
from asyncdp_sim.scenario.catalogue import catalogue, entry
from tests.together import together


@pytest.mark.long
@together
@pytest.mark.parametrize("found", catalogue(), ids=lambda found: found.name)
def test_parts_make_the_whole(found):
    scenario = load(found.file)[0]
    for each in (scenario, *map(scenario.cell, list(scenario.grid())[:3])):
        assert dump(each, None) == tomli_w.dumps(each.plain())
        assert json.dumps(described(each)) == json.dumps(jsonable(placeless(each)))


def test_parts_that_are_merely_equal_are_written_as_they_are():
    base = load(entry("async-02").file)[0].base()
    losses = {"channel.loss": [0.0, -0.0, 0.0]}
    scenario = parse(Scenario, {**base.plain(), "sweep": losses})
    texts = [dump(scenario.cell(chosen), None) for chosen in scenario.grid()]
    assert ["loss = -0.0" in text for text in texts] == [False, True, False]


def test_what_is_told_of_one_is_not_changed_by_who_changes_tables():
    scenario = load(entry("async-02").file)[0].base()
    before = json.dumps(described(scenario)), dump(scenario, None)
    scenario.plain()["run"]["updates"] = -1
    assert (json.dumps(described(scenario)), dump(scenario, None)) == before
