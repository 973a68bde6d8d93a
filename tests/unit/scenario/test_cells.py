"""Cells of a grid, parts as they are written, and scenarios in plain words."""

import json
import re

import pytest

from asyncdp_sim.core.errors import AsyncDPError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.results.columns import summary
from asyncdp_sim.results.manifest import described
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.scenario.files import dump
from asyncdp_sim.sentences.scenario import describe
from scenarios import entry
from tests.tables import table
from tests.together import together
from tests.unit.scenario.test_taking_part import naming

# Cells of a grid share what is not swept, and say what their tables say.


def swept(**sweep):
    base = load(entry("async-02").file)[0].base()
    return parse(Scenario, {**base.plain(), "sweep": sweep})


def test_a_cell_is_what_its_tables_say_and_shares_the_rest():
    scenario = swept(**{"privacy.epsilon": [0.5, 2.0], "run.updates": [7, 9]})
    for chosen in scenario.grid():
        cell, tables = scenario.cell(chosen), scenario.base().plain()
        tables["privacy"]["epsilon"] = chosen["privacy.epsilon"]
        tables["run"]["updates"] = chosen["run.updates"]
        assert cell == parse(Scenario, tables)
        assert cell.plain() == tables
        assert cell.clock is scenario.clock
        assert cell.privacy is not scenario.privacy


@pytest.mark.parametrize("table_first", [True, False])
def test_a_swept_field_is_set_in_the_swept_table(table_first):
    """Found by attack: a table that stood last undid the field, and cells said another airtime."""
    axes = {"channel.airtime": [0.1, 0.2], "channel": [{"kind": "aloha", "airtime": 0.5}]}
    scenario = swept(**dict(sorted(axes.items(), reverse=not table_first)))
    airtimes = [scenario.cell(chosen).channel.airtime for chosen in scenario.grid()]
    assert airtimes == [0.1, 0.2]


def test_a_step_replaces_the_rho_of_the_file_and_a_rho_the_step(tmp_path):
    set_step, notes = load(entry("async-02").file, ["algorithm.step=0.5"])
    assert (set_step.algorithm.step, set_step.algorithm.rho) == (0.5, None)
    assert notes == ["algorithm.step = 0.5: replaces algorithm.rho"]
    back = set_step.replace(algorithm={"rho": 20.0}).algorithm
    assert (back.step, back.rho) == (None, 20.0)
    scenario = swept(**{"algorithm.step": [0.5, 0.7]})
    steps = [scenario.cell(chosen).algorithm for chosen in scenario.grid()]
    assert [(each.step, each.rho) for each in steps] == [(0.5, None), (0.7, None)]
    (tmp_path / "s.toml").write_text(dump(scenario, None))
    assert load(tmp_path / "s.toml")[1] == ["sweep over algorithm.step: replaces algorithm.rho"]
    both = swept(**{"algorithm.step": [0.5], "algorithm.rho": [20.0]})
    with pytest.raises(AsyncDPError, match=r"both in a cell; allowed is one of"):
        both.cell(next(iter(both.grid())))


def test_a_copy_forgets_what_was_worked_out_of_other_fields():
    scenario = swept(**{"privacy.epsilon": [0.5]}).base()
    more = scenario.run.model_copy(update={"updates": scenario.network.updates + 1})
    assert scenario.model_copy(update={"run": more}).network.updates == more.updates


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


# Descriptions of scenarios by ``asyncdp check``, in words that need no other page.


@pytest.mark.parametrize("name", ["lending-sound", "async-08", "lossy-rural-links"])
def test_a_description_fits_a_screen(name):
    """One line for a formula, and one for all quantities to which none applies."""
    said = describe(entry(name).scenario(()))
    assert len(said) < 20
    assert sum(line.startswith("no formula for") for line in said) == 1
    formulas = [line.rpartition(" (")[2] for line in said if line.startswith("predicted ")]
    assert len(set(formulas)) == len(formulas)


@pytest.mark.parametrize("name", ["lending-sound", "wifi-contention", "joules-against-accuracy"])
def test_predictions_have_names_and_units_and_no_columns(name):
    said = ("predicted ", "staleness is 0", "no formula for")
    predicted = [line for line in describe(entry(name).scenario(())) if line.startswith(said)]
    assert len(predicted) > 1
    columns = [column for column in summary() if "_" in column]
    assert [column for column in columns if column in " ".join(predicted)] == []
    [staleness] = [line for line in predicted if "staleness" in line.partition(":")[0]]
    assert re.match(r"predicted staleness: 1 update on average \(|staleness is 0: ", staleness)


# Answers that take longer than anybody waits for them: refused, whatever takes the time.

CASES = table(__file__, "cells.toml")
WAITS, TAKING = CASES["waits"], CASES["taking"]


@together
@pytest.mark.parametrize(("key", "protocol", "algorithm"), WAITS.values(), ids=WAITS)
@pytest.mark.parametrize(("in_time", "late"), TAKING.values(), ids=TAKING)
def test_it_is_refused_where_no_answer_can_be_in_time(in_time, late, key, protocol, algorithm):
    waiting = {"protocol": protocol, "algorithm": algorithm}
    with pytest.raises(SpecError) as refused:
        parse(Scenario, naming(3, waiting, late))
    [fault] = refused.value.faults
    assert (fault.key, fault.given) == (key, "1")
    assert fault.allowed == "an answer takes at least 1.01, so no update can ever happen"
    parse(Scenario, naming(3, waiting, in_time))
