"""Cells of a sweep: variants under a name, batches that learn together, cells that learn live."""

from typing import Any

import pytest

from asyncdp_sim import runs
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.results import Sweep, read_manifest
from asyncdp_sim.runs import problem
from asyncdp_sim.runs.problem import drawn_records, few_records
from asyncdp_sim.scenario import Scenario, dump, load
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sweeps import sweep
from asyncdp_sim.sweeps.batch import TOGETHER, Cell, batches
from tests import scenes
from tests.together import together

ROUNDS = {
    "name": "in rounds",
    "protocol": {"kind": "rounds"},
    "algorithm": {"kind": "collab-2", "step": 0.1},
}
ASKED = {"name": "on request", "run.updates": 8}


def scenario(**swept: list[Any]) -> Scenario:
    return scenes.scenario(
        run={"updates": 4, "replicates": 2},
        owners={"count": 2, "records": 30},
        algorithm={"rho": 1.0},
        privacy=scenes.EXACT,
        sweep=swept,
    )


def test_a_variant_sets_all_its_paths_and_the_rest_goes_upon_it():
    base = scenario(**{"run.updates": [5, 6], "variant": [ROUNDS, ASKED]})
    cells = [base.cell(chosen) for chosen in base.grid()]
    kinds = [(cell.protocol.kind, cell.algorithm.kind, cell.run.updates) for cell in cells]
    assert kinds == [
        ("rounds", "collab-2", 5),
        ("request", "async-gossip", 5),
        ("rounds", "collab-2", 6),
        ("request", "async-gossip", 6),
    ]


def test_a_sweep_is_told_and_read_by_the_names(tmp_path):
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
    rows = [line for line in lines if line.startswith("000")]
    assert ["in rounds" in row for row in rows] == [True, False]
    assert "collab" not in "".join(lines)
    again, _ = load(tmp_path / "out" / "scenario.toml")
    assert again.sweep == made.sweep
    assert dump(again, tmp_path) == dump(made, tmp_path)


def test_few_records_are_kept_for_later_sweeps(tmp_path):
    few_records.cache_clear()
    for place in ("one", "two"):
        sweep(scenario(**{"algorithm.rho": [1.0, 2.0]}), tmp_path / place)
    assert few_records.cache_info().misses == 1


def test_of_many_records_two_sets_are_kept(tmp_path, monkeypatch):
    """Two variants of one figure may take turns with two sets."""
    monkeypatch.setattr(problem, "FEW_CELLS", 0)
    drawn_records.cache_clear()
    for place, records in (("one", 30), ("two", 40), ("three", 30), ("four", 40)):
        sweep(scenario(**{"owners.records": [records], "algorithm.rho": [1, 2]}), tmp_path / place)
    assert drawn_records.cache_info().misses == 2


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
def test_what_is_no_variant_is_refused(values, said):
    with pytest.raises(SpecError) as caught:
        scenario(variant=values)
    assert said in str(caught.value)


def cells(n_records, each, size=8):
    """Return the cells of a network over so many sets of records, so many over each."""
    of = [str(number // each) for number in range(n_records * each)]
    return [Cell(number, {}, None, 1, "n", data, size) for number, data in enumerate(of)]


@together
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize(("n_records", "each"), [(1, 1), (1, 40), (7, 10), (20, 10)])
def test_each_cell_is_in_one_batch_with_its_records(n_records, each, workers):
    found = list(batches(cells(n_records, each), workers))
    assert [cell.number for batch in found for cell in batch] == list(range(n_records * each))
    assert all(len({cell.data for cell in batch}) == 1 for batch in found)
    assert max(map(len, found)) <= TOGETHER


def test_cells_stay_together_where_all_workers_have_others():
    assert [len(batch) for batch in batches(cells(8, 10), 2)] == [10] * 8
    assert [len(batch) for batch in batches(cells(7, 10), 2)] == [5] * 14
    assert [len(batch) for batch in batches(cells(1, 10), 4)] == [3, 3, 3, 1]


def test_cells_with_large_curves_learn_one_by_one():
    assert [len(batch) for batch in batches(cells(1, 3, size=2**30), 1)] == [1, 1, 1]


@pytest.mark.parametrize("first", ["replay", "live"])
def test_live_cells_learn_live(first, scenario, tmp_path, monkeypatch):
    """Their results are the same, so that nothing but the calls can tell."""
    live: list[Any] = []

    def counted(network: Any, task: Any, *given: Any, **how: Any) -> Any:
        live.append(task)
        return live_all(network, task, *given, **how)

    live_all = runs.live_all
    monkeypatch.setattr(runs, "live_all", counted)
    other = "live" if first == "replay" else "replay"
    swept = {"run.learning": [first, other], "privacy.epsilon": [1.0, 3.0]}
    found = sweep(scenario.model_copy(update={"sweep": swept}), tmp_path / "out")
    assert (found.cells, found.done) == (4, 4)
    assert len(live) == 2
    cells = [read_manifest(tmp_path / "out" / f"cell-000{number}") for number in range(4)]
    learning = [cell["scenario"]["run"]["learning"] for cell in cells]
    assert learning == [first, first, other, other]
    for one, same in ((0, 2), (1, 3)):
        assert cells[one]["fingerprints"] == cells[same]["fingerprints"]
