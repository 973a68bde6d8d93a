"""Variants: settings of several paths that go together, under a name, as one swept path."""

from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.figures.kit.source import Sweep
from asyncdp_sim.results.summary import result_lines
from asyncdp_sim.scenario import Scenario, dump, load
from asyncdp_sim.spec import parse
from asyncdp_sim.sweeps import sweep

ROUNDS = {
    "name": "in rounds",
    "protocol": {"kind": "rounds"},
    "algorithm": {"kind": "collab-2", "step": 0.1},
}
ASKED = {"name": "on request", "run.updates": 8}


def scenario(**swept: list[Any]) -> Scenario:
    made: Scenario = parse(
        Scenario,
        {
            "schema": 1,
            "id": "two-ways",
            "run": {"updates": 4, "replicates": 2},
            "owners": {"count": 2, "records": 30},
            "data": {"kind": "gaussian", "features": 2},
            "model": {"kind": "ridge", "regularisation": 0.1},
            "algorithm": {"kind": "async-gossip", "rho": 1.0},
            "privacy": {"mechanism": "none"},
            "sweep": swept,
        },
    )
    return made


def test_a_variant_sets_all_its_paths_and_the_rest_goes_upon_it() -> None:
    base = scenario(**{"run.updates": [5, 6], "variant": [ROUNDS, ASKED]})
    cells = [base.cell(chosen) for chosen in base.grid()]
    kinds = [(cell.protocol.kind, cell.algorithm.kind, cell.run.updates) for cell in cells]
    assert kinds == [
        ("rounds", "collab-2", 5),
        ("request", "async-gossip", 5),
        ("rounds", "collab-2", 6),
        ("request", "async-gossip", 6),
    ]


def test_a_sweep_is_told_and_read_by_the_names(tmp_path: Path) -> None:
    made = scenario(variant=[ROUNDS, ASKED])
    sweep(made, tmp_path / "out")
    opened = Sweep.read(tmp_path / "out")
    assert [cell.values for cell in opened.cells] == [
        {"variant": "in rounds"},
        {"variant": "on request"},
    ]
    assert opened.cells[0].label(["variant"]) == "in rounds"
    assert opened.cells[1].result.summary["updates"] == 16
    lines = result_lines(tmp_path / "out")
    assert "in rounds" in lines[1]
    assert "collab" not in lines[1]
    again, _ = load(tmp_path / "out" / "scenario.toml")
    assert again.sweep == made.sweep
    assert dump(again, tmp_path) == dump(made, tmp_path)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([ROUNDS, ROUNDS], "variant: given 'in rounds'; allowed is each name once"),
        ([{"protocol": {"kind": "push"}}], 'allowed are tables with a text "name"'),
        (["rounds"], 'allowed are tables with a text "name"'),
        ([{"name": "a", "id": "other"}], "variant: given id; allowed is a field of the run"),
        ([{"name": "a", "run..updates": 3}], "allowed is a dotted path"),
        ([], "allowed is a list with at least one value"),
    ],
)
def test_what_is_no_variant_is_refused(values: list[Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        scenario(variant=values)
    assert said in str(caught.value)
