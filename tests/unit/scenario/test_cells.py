"""Cells of a grid share what is not swept, and say what their tables say."""

import pytest

from asyncdp_sim.core.errors import AsyncDPError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.scenario.files import dump
from asyncdp_sim.theory.predict.all import predict
from scenarios import entry


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


def test_what_is_known_of_a_network_is_known_of_cells_over_it():
    scenario = swept(**{"privacy.epsilon": [0.5, 2.0]})
    one, other = (scenario.cell(chosen) for chosen in scenario.grid())
    assert one.network == other.network
    assert predict(other.network) == predict(one.network)
    over = other.over(one.network)
    assert over == other
    assert over.network is one.network
    assert predict(over.network) is predict(one.network)


def test_a_network_is_taken_over_by_cells_of_the_same_parts_alone():
    scenario = swept(**{"privacy.epsilon": [0.5, 2.0]})
    one, other = (scenario.cell(chosen) for chosen in scenario.grid())
    assert other.has_network(one.network)
    losses = swept(**{"channel.loss": [0.0, -0.0]})  # of which one digest is not the other's
    one, other = (losses.cell(chosen) for chosen in losses.grid())
    assert not other.has_network(one.network)
    longer = swept(**{"run.updates": [300, 301, 300]})
    networks = [longer.cell(chosen) for chosen in longer.grid()]
    assert [each.has_network(networks[0].network) for each in networks] == [True, False, True]


def test_what_is_known_to_fit_is_the_same_cell():
    scenario = swept(**{"privacy.epsilon": [0.5, 2.0]})
    for chosen in scenario.grid():
        assert scenario.cell(chosen, known_to_fit=True) == scenario.cell(chosen)
