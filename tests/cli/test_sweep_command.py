"""``asyncdp sweep``: the directory, shared traces, interruption and resumption."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.results.write import Writer
from asyncdp_sim.runs.directory import build
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import sweep
from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, TABLE, rates
from tests.directories import contents, manifest
from tests.tables import table
from tests.unit.sweeps.conftest import interrupted, whole_cells

CONTRACT = {name: words.split() for name, words in table(__file__, "contract.toml").items()
            if isinstance(words, str)}  # fmt: skip
CELL = set(CONTRACT["cell"])
FIGURES = [
    *CONTRACT["first_figures"],
    *(f"{name}_{end}" for name in CONTRACT["with_intervals"] for end in ("low", "high")),
    *CONTRACT["last_figures"],
]


FILES = {"sweep.toml": SWEEP}


def test_the_directory(command, here):
    command.done("sweep", "sweep.toml", "--out", "result")
    cells = {f"cell-{i:04d}" for i in range(6)}
    top = {"README.md", "manifest.json", "scenario.toml", "cells.parquet", "traces"}
    assert set(os.listdir("result")) == top | cells
    for cell in cells:
        assert set(os.listdir(here / "result" / cell)) == CELL
    assert manifest(here / "result")["cells"] == 6
    assert set(manifest(here / "result")["fingerprints"]) == cells
    assert not any(".partial" in name or ".tmp" in name for name in contents(here))


def test_cells_that_have_one_network_share_its_traces(command, here):
    command.done("sweep", "sweep.toml", "--out", "result")
    table = pq.read_table("result/cells.parquet").to_pydict()
    first, second = table["network"][:2]
    assert table["network"] == [first, second] * 3
    assert first != second
    assert set(os.listdir("result/traces")) == {first, second}
    for network, seed in ((first, 3), (second, 4)):
        kept = set(os.listdir(here / "result" / "traces" / network))
        tables = {"updates.parquet", "exchanges.parquet", "owners.parquet", "runs.parquet"}
        assert kept == {*tables, "versions.json"}
        command.done(
            "run", "sweep.toml", "--out", f"alone-{seed}", "--seed", seed,
            "--set", "privacy.epsilon=2.5",
        )  # fmt: skip
        alone = (here / f"alone-{seed}" / "updates.parquet").read_bytes()
        shared = here / "result" / "traces" / network / "updates.parquet"
        assert shared.read_bytes() == alone


def test_cells_parquet(command, here):
    command.done("sweep", "sweep.toml", "--out", "result")
    read = pq.read_table("result/cells.parquet")
    table = read.to_pydict()
    swept = ["privacy.epsilon", "run.seed"]
    assert list(table) == ["cell", *swept, "status", "seed", "network", *FIGURES]
    assert table["cell"] == [0, 1, 2, 3, 4, 5]
    assert table["privacy.epsilon"] == [1.0, 1.0, 2.5, 2.5, float("inf"), float("inf")]
    assert table["run.seed"] == table["seed"] == [3, 4, 3, 4, 3, 4]
    assert table["status"] == ["done"] * 6
    assert table["private"] == [True] * 4 + [False] * 2
    assert table["epsilon_true"] == table["privacy.epsilon"]
    for number, median in enumerate(table["psi_final.median"]):
        summary = manifest(here / "result" / f"cell-{number:04d}")["summary"]
        assert summary["psi_final"]["median"] == median
        low, high = (table[f"throughput_{end}"][number] for end in ("low", "high"))
        assert [low, high] == summary["intervals"]["throughput"]
        assert low < table["throughput"][number] < high
    made = np.array(table["updates_per_replicate"]) / table["simulated_time"]
    np.testing.assert_allclose(made, table["throughput"], rtol=1e-12)
    types = {field.name: field.type for field in read.schema}  # by meaning, whatever stands there
    assert types.items() >= {
        "cell": pa.int32(), "collision_rate": pa.float64(), "bound_exceeded": pa.bool_(),
        "psi_final.median": pa.float64(), "network": pa.string(),
    }.items()  # fmt: skip


def test_swept_tables_are_json(command, here):
    compute = [{"kind": "none"}, {"kind": "constant", "value": 0.5}]
    text = SMALL + '\n[sweep]\ncompute = [{ kind = "none" }, { kind = "constant", value = 0.5 }]\n'
    (here / "tables.toml").write_text(text, encoding="utf-8")
    said = command.done("sweep", "tables.toml", "--out", "result")
    table = pq.read_table("result/cells.parquet")
    assert [json.loads(cell) for cell in table["compute"].to_pylist()] == compute
    assert "…" not in said.out
    for median in table["psi_final.median"].to_pylist():
        assert f"{median:.3g}" in said.out


@pytest.mark.parametrize(
    ("swept", "epsilons"),
    [
        ('"privacy.epsilon" = [1.0, [1.0, 2.0, inf]]', [1.0, [1.0, 2.0, "inf"]]),
        ('"privacy . epsilon" = [1.0, 2.0]', [1.0, 2.0]),
    ],
)
def test_a_path_takes_numbers_and_lists_and_is_spelled_as_toml_allows(
    swept, epsilons, command, here
):
    (here / "swept.toml").write_text(f"{SMALL}\n[sweep]\n{swept}\n", encoding="utf-8")
    command.done("sweep", "swept.toml", "--out", "result")
    column = pq.read_table("result/cells.parquet")["privacy.epsilon"].to_pylist()
    assert len(set(map(str, column))) == 2
    cells = [manifest(here / "result" / f"cell-{i:04d}") for i in range(2)]
    assert [cell["scenario"]["privacy"]["epsilon"] for cell in cells] == epsilons


def test_a_cell_is_the_run_of_its_own_scenario(command, here):
    command.done("sweep", "sweep.toml", "--out", "result")
    command.done(
        "run", "sweep.toml", "--out", "alone", "--set", "privacy.epsilon=2.5", "--seed", "4"
    )
    cell = contents(here / "result" / "cell-0003")
    alone = contents(here / "alone")
    assert set(alone) - set(cell) == {"updates.parquet"}
    assert [name for name in cell if alone[name] != cell[name]] == ["README.md"]
    command.done("replay", "result/cell-0003")


def test_one_path_spelled_twice_is_refused(command, here):
    text = SMALL + '\n[sweep]\n"privacy.epsilon" = [1.0]\n"privacy . epsilon" = [2.0]\n'
    (here / "twice.toml").write_text(text, encoding="utf-8")
    assert command.refused("sweep", "twice.toml", "--out", "result").startswith(
        "twice.toml: sweep.privacy . epsilon: given "
    )
    assert not (here / "result").exists()


def test_a_large_seed(command, here):
    """Any seed that ``run`` takes, ``sweep`` takes."""
    seed = 2**63 + 1
    (here / "seed.toml").write_text(SWEEP.replace("[3, 4]", f"[{seed}]"), encoding="utf-8")
    run = command("run", "seed.toml", "--seed", seed, "--out", "run")
    assert run.code == command("sweep", "seed.toml", "--out", "sweep").code


def test_swept_data_files_leave_no_path_behind(command, here):
    (here / "data").mkdir()
    for shift, name in enumerate(("a.csv", "b.csv")):
        rates(here / "data" / name, 5.0 * shift)
    text = ON_A_TABLE.replace('"rates.csv"', '"data/a.csv"')
    text += '\n[sweep]\n"data.path" = ["data/a.csv", "data/b.csv"]\n'
    (here / "files.toml").write_text(text, encoding="utf-8")
    command.done("sweep", "files.toml", "--out", "result")
    least = [
        manifest(here / "result" / f"cell-{i:04d}")["constants"]["least_fitness"] for i in range(2)
    ]
    assert least[0] != least[1]
    folder = str(here)
    assert folder not in (here / "result" / "scenario.toml").read_text(encoding="utf-8")
    assert folder not in (here / "result" / "manifest.json").read_text(encoding="utf-8")
    assert folder not in str(pq.read_table("result/cells.parquet").to_pydict())


def test_swept_data_tables_resolve_paths_against_the_file(command, here, monkeypatch):
    (here / "papers").mkdir()
    rates(here / "papers" / "rates.csv")
    inline = TABLE.replace("\n", ", ")
    text = SMALL.replace("records = 20", "records = 10") + f"\n[sweep]\ndata = [{{ {inline} }}]\n"
    (here / "papers" / "tables.toml").write_text(text, encoding="utf-8")
    command.done("sweep", "papers/tables.toml", "--out", "result")
    monkeypatch.chdir("/")
    command.done("replay", here / "result" / "cell-0000")


def test_an_interrupted_command_keeps_its_state_and_goes_on(command, here, monkeypatch):
    def interrupt(outcome: RunResult, directory: Path, **options: bool) -> Writer:
        if directory.name == "cell-0003":
            raise KeyboardInterrupt
        return build(outcome, directory, **options)

    with monkeypatch.context() as patch:
        patch.setattr("asyncdp_sim.sweeps.batch.build", interrupt)
        said = command("sweep", "sweep.toml", "--out", "broken")
    assert said.code == 130
    kept, go_on = said.lines
    done = len(list((here / "broken").glob("cell-*/manifest.json")))
    assert kept == f"interrupted: {done} of 6 cells are kept in broken"
    assert done > 0
    assert go_on == "to go on: asyncdp sweep sweep.toml --out broken"
    command.done(*go_on.partition("asyncdp ")[2].split())


def test_a_half_written_trace_is_replaced_and_finished_cells_count_at_once(here):
    scenario, _ = load(here / "sweep.toml")
    sweep(scenario, here / "whole")
    interrupted(scenario, here / "broken")
    all_of_them = set(os.listdir(here / "whole" / "traces"))
    [network] = all_of_them - set(os.listdir(here / "broken" / "traces"))
    leftover = here / "broken" / "traces" / f".partial-{network}"
    leftover.mkdir()
    (leftover / "updates.parquet.tmp").write_bytes(b"half")
    done = len(list((here / "broken").glob("cell-*/manifest.json")))
    told = []
    tell = whole_cells(lambda _, cells, total: told.append((cells, total)))
    sweep(scenario, here / "broken", progress=tell)
    assert told == [(number, 6) for number in range(done, 7)]
    assert contents(here / "broken") == contents(here / "whole")
    assert not leftover.exists()


def test_an_unfinished_sweep_of_another_scenario_is_refused(command, here):
    command.done("sweep", "sweep.toml", "--out", "result")
    (here / "result" / "manifest.json").unlink()
    before = contents(here)
    said = command("sweep", "sweep.toml", "--out", "result", "--set", "run.updates=13")
    assert said.code == 2
    assert contents(here) == before
    command.done("sweep", "sweep.toml", "--out", "result")
