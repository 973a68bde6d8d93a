"""``asyncdp run`` and ``asyncdp sweep``: the columns and keys that are promised, and what is kept
of a command that fails or is interrupted. Sessions show the rest: ``result-directory``, ``sweep``.
"""

import getpass
import json
import os
import platform
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.results import write as result
from asyncdp_sim.results.write import Writer, remove_leftovers
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.run import build
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.trace import EventKind
from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, rates
from tests.directories import contents, manifest
from tests.tables import table
from tests.unit.sweeps.conftest import interrupted, whole_cells

TABLE = table(__file__, "contract.toml")
CONTRACT = {name: words.split() for name, words in TABLE.items() if isinstance(words, str)}
FIGURES = [
    *CONTRACT["first_figures"],
    *(f"{name}_{end}" for name in CONTRACT["with_intervals"] for end in ("low", "high")),
    *CONTRACT["last_figures"],
]
FILES = {"small.toml": SMALL, "sweep.toml": SWEEP}


def leftovers(folder: Path) -> list[str]:
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return [name for name in found if name.endswith(".tmp") or ".partial" in name]


def test_tables_and_summary_have_what_the_contract_promises(command, here):
    """Whoever adds a column or a figure adds it to tests/cli/contract.toml."""
    command.done("run", "small.toml", "--out", "result", "--events")
    for name, columns in TABLE["tables"].items():
        assert pq.read_schema(here / "result" / f"{name}.parquet").names == columns.split()
    found = manifest(here / "result")
    assert set(found) >= set(CONTRACT["manifest"])
    assert set(found["summary"]) == set(CONTRACT["summary"])
    assert set(found["summary"]["psi_final"]) == {"mean", "median", "q25", "q75"}
    assert set(found["versions"]) >= {"asyncdp_sim", "python", "numpy", "simpy"}
    assert set(found["fingerprints"]) >= {"order", "time", "models", "curve"}
    assert all(len(bits) == 64 for bits in found["fingerprints"].values())
    assert {kind.name for kind in EventKind} == set(CONTRACT["events"])


def test_manifest_names_no_host_no_user_no_path_and_no_arguments(command, here):
    rates(here / "rates.csv")
    (here / "table.toml").write_text(ON_A_TABLE, encoding="utf-8")
    command.done("run", here / "table.toml", "--out", here / "result", "--set", "run.updates=11")
    text = (here / "result" / "manifest.json").read_text(encoding="utf-8")
    host = platform.node()
    for word in (str(here), str(Path.home()), "--out", "--set", "argv", "table.toml"):
        assert word not in text
    said = json.loads(text)
    formulas = json.dumps(said.pop("predictions"))
    assert "/" not in json.dumps(said)
    assert re.search(r"(^|[\s\"])~?/|\.\./", formulas) is None  # a formula divides
    if len(host) > 3:
        assert host not in text
    if len(getpass.getuser()) > 4:
        assert getpass.getuser() not in text
    source = json.loads(text)["scenario"]["data"]
    assert source["path"] == "rates.csv"
    assert len(source["sha256"]) == 64


def test_cells_parquet_has_the_figures_of_its_cells(command, here):
    command.done("sweep", "sweep.toml", "--out", "result")
    read = pq.read_table("result/cells.parquet")
    table = read.to_pydict()
    assert list(table) == [
        "cell",
        "privacy.epsilon",
        "run.seed",
        "status",
        "seed",
        "network",
        *FIGURES,
    ]
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


FAILING = ["updates.parquet", "optimum.parquet", "scenario.toml", "manifest.json"]


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_in_writing_leaves_nothing_behind(name, command, here, monkeypatch):
    def full(file: object, *how: Any) -> Any:
        if os.path.basename(str(file)) == name:
            raise OSError(28, "No space left on device")
        return open(str(file), *how)

    monkeypatch.setattr(result, "open", full, raising=False)
    said = command("run", "small.toml", "--out", "deep/result")
    assert said.code == 4
    [line] = said.lines
    assert "no space left on device" in line
    assert {path.name for path in here.rglob("*") if path.is_file()} == set(FILES)
    assert leftovers(here) == []
    assert not (here / "deep" / "result").exists()


def test_an_unfinished_file_is_never_named_parquet(here, monkeypatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(os.listdir(here / "folder")))
    (here / "folder").mkdir()
    result.write_into(here / "folder", "a.parquet", {"x": [1, 2]})
    result.write_into(here / "folder", "b.json", {"x": float("inf")})
    assert seen[0] == ["a.parquet.tmp"]
    assert sorted(seen[1]) == ["a.parquet", "b.json.tmp"]
    assert sorted(os.listdir(here / "folder")) == ["a.parquet", "b.json"]


def test_a_result_that_appears_meanwhile_is_not_overwritten(command, here, monkeypatch):
    write = result.write_into

    def meanwhile(*content: object, **how: object) -> None:
        (here / "result").mkdir(exist_ok=True)
        write(*content, **how)

    monkeypatch.setattr(result, "write_into", meanwhile)
    assert command("run", "small.toml", "--out", "result").code == 2
    assert os.listdir(here / "result") == []
    assert leftovers(here) == []


def test_what_is_being_written_is_left_alone(tmp_path):
    with Writer(tmp_path / "live") as writer:
        remove_leftovers(tmp_path / "live")
        writer.put("it.txt", "whole")
    assert (tmp_path / "live" / "it.txt").read_text(encoding="utf-8") == "whole"
    assert os.listdir(tmp_path) == ["live"]


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
