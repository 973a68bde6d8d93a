"""``asyncdp run``: exit code, what is printed, and what lies in the result directory."""

import getpass
import json
import os
import platform
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.results import write as result
from asyncdp_sim.trace import EventKind
from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, rates
from tests.directories import contents, manifest
from tests.tables import table

CONTRACT = table(__file__, "contract.toml")
SUMMARY, MANIFEST, EVENT_KINDS = (
    set(CONTRACT[name].split()) for name in ("summary", "manifest", "events")
)
TABLES = {name: columns.split() for name, columns in CONTRACT["tables"].items()}


def test_the_kinds_of_events_are_the_promised_ones():
    assert {kind.name for kind in EventKind} == EVENT_KINDS


FILES = {"small.toml": SMALL}


def leftovers(folder: Path) -> list[str]:
    found = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return [name for name in found if name.endswith(".tmp") or ".partial" in name]


def test_result_has_exactly_the_files_and_columns_of_the_contract(command, here):
    command.done("run", "small.toml", "--out", "bare")
    command.done("run", "small.toml", "--out", "whole", "--events")
    fixed = {"README.md", "manifest.json", "scenario.toml"}
    tables = {f"{name}.parquet" for name in TABLES}
    assert set(os.listdir("bare")) == fixed | tables - {"events.parquet"}
    assert set(os.listdir("whole")) == fixed | tables
    for name in tables - {"events.parquet"}:
        assert (here / "bare" / name).read_bytes() == (here / "whole" / name).read_bytes()
    for name, columns in TABLES.items():
        found = pq.read_schema(here / "whole" / f"{name}.parquet").names
        assert found == columns, f"add a new column of {name} to tests/cli/contract.toml"


@pytest.mark.usefixtures("here")
def test_tables_are_sorted_and_complete(command):
    command.done("run", "small.toml", "--out", "result", "--events", "--set", "run.record_every=5")
    updates = pq.read_table("result/updates.parquet").to_pydict()
    assert updates["replicate"] == [1] * 12 + [2] * 12
    assert updates["k"] == [*range(1, 13), *range(1, 13)]
    assert set(updates["owner"]) == {1, 2, 3}
    curve = pq.read_table("result/curve.parquet").to_pydict()
    assert curve["replicate"] == [1] * 4 + [2] * 4
    assert curve["k"] == [0, 5, 10, 12] * 2
    ticks = dict(zip(zip(updates["replicate"], updates["k"], strict=True), updates["tick"],
                     strict=True))  # fmt: skip
    for replicate, k, tick in zip(curve["replicate"], curve["k"], curve["tick"], strict=True):
        assert tick == (0 if k == 0 else ticks[replicate, k])
    owners = pq.read_table("result/owners.parquet").to_pydict()
    assert owners["replicate"] == [1] * 3 + [2] * 3
    assert owners["owner"] == [1, 2, 3] * 2
    assert sum(owners["updates"]) == 24
    assert owners["epsilon"] == [1.0] * 6
    for spent, released in zip(owners["epsilon_spent"], owners["answers_released"], strict=True):
        assert spent == pytest.approx(released / 12, rel=1e-15)
    events = pq.read_table("result/events.parquet")
    assert set(events["kind"].to_pylist()) <= EVENT_KINDS
    first = events["replicate"].to_pylist().index(2)
    assert events["seq"].to_pylist() == [*range(first), *range(len(events) - first)]
    applied = [tick for tick, kind in zip(events["tick"].to_pylist(), events["kind"].to_pylist(),
                                          strict=True) if kind == "update_applied"]  # fmt: skip
    assert applied == updates["tick"]
    models = pq.read_table("result/models.parquet").to_pydict()
    assert models["replicate"] == [1, 1, 2, 2]
    assert models["coordinate"] == [0, 1, 0, 1]


def test_absent_is_null(command, here):
    command.done("run", "small.toml", "--out", "result", "--events", "--set",
                 "privacy.mechanism=none")  # fmt: skip
    assert pq.read_table("result/owners.parquet")["epsilon"].to_pylist() == [None] * 6
    events = pq.read_table("result/events.parquet").to_pylist()
    ticks = [event for event in events if event["kind"] == "clock_tick"]
    assert len(ticks) > 0
    assert {event["message"] for event in ticks} == {None}
    dropped = [event for event in events if event["kind"] == "clock_dropped"]
    assert len(dropped) > 0
    assert {event["detail"] for event in dropped} == {"busy"}
    assert {event["detail"] for event in events if event not in dropped} == {None}
    summary = manifest(here / "result")["summary"]
    assert summary["collision_rate"] is None
    assert summary["bound_exceeded"] is None


def test_manifest(command, here):
    command.done("run", "small.toml", "--out", "result")
    found = manifest(here / "result")
    assert set(found) >= MANIFEST
    assert set(found["summary"]) == SUMMARY, "add a new figure to tests/cli/contract.toml"
    assert set(found["summary"]["psi_final"]) == {"mean", "median", "q25", "q75"}
    assert found["schema"] == 1
    assert found["seed"] == found["scenario"]["run"]["seed"] == 3
    assert set(found["versions"]) >= {"asyncdp_sim", "python", "numpy", "simpy"}
    assert set(found["fingerprints"]) >= {"order", "time", "models", "curve"}
    assert all(len(bits) == 64 for bits in found["fingerprints"].values())
    assert found["scenario"]["clock"] == {"kind": "gamma", "rate": 1.0, "cv": 0.5}
    assert found["scenario"]["protocol"]["busy"] == "refuse"  # defaults are written out


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


def test_scenario_toml_loads_again_and_gives_the_same(command, here):
    command.done("run", "small.toml", "--out", "first", "--set", "privacy.epsilon=[1, inf, 0.5]")
    command.done("run", "first/scenario.toml", "--out", "second")
    first, second = contents(here / "first"), contents(here / "second")
    assert {name for name in first if first[name] != second[name]} <= {"README.md"}


def test_a_data_path_is_found_from_wherever_the_scenario_lies(command, here, monkeypatch):
    (here / "papers" / "data").mkdir(parents=True)
    rates(here / "papers" / "data" / "rates.csv")
    text = ON_A_TABLE.replace('path = "rates.csv"', 'path = "data/rates.csv"')
    (here / "papers" / "table.toml").write_text(text, encoding="utf-8")
    command.done("run", "papers/table.toml", "--out", "a/b/first")
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    command.done("run", "../a/b/first/scenario.toml", "--out", "second")
    command.done("replay", "../a/b/first")
    assert manifest(here / "a/b/first") == manifest(here / "elsewhere/second")
    said = (here / "elsewhere/second/scenario.toml").read_text(encoding="utf-8")
    assert 'path = "../../papers/data/rates.csv"' in said
    monkeypatch.chdir(here / "papers")
    told = command.done(
        "run", "table.toml", "--set", "data.path=data/rates.csv", "--out", here / "third"
    )
    assert "private records were read" in told.err
    assert manifest(here / "third") == manifest(here / "a/b/first")


def test_setting_a_kind_drops_fields(command, here):
    command.done(
        "run", "small.toml", "--out", "r",
        "--set", "clock.kind=poisson", "--set", "compute.kind=constant",
        "--set", "compute.value=0.25", "--set", 'privacy.sensitivity={kind="clip", bound=2.0}',
    )  # fmt: skip
    scenario = manifest(here / "r")["scenario"]
    assert scenario["clock"] == {"kind": "poisson", "rate": 1.0, "population": "per-owner"}
    assert scenario["compute"] == {"kind": "constant", "value": 0.25}
    said = command.done("run", "small.toml", "--out", "same", "--set", "clock.kind=gamma")
    assert "dropped" not in said.err
    assert manifest(here / "same")["scenario"]["clock"]["cv"] == 0.5


def test_default_directory_is_named_by_id_and_digest(command, here):
    said = command.done("run", "small.toml")
    digest = manifest(next((here / "results").iterdir()))["digest"]
    assert said.out.splitlines()[-5] == f"result in results/small-{digest[:8]}"
    again = command("run", "small.toml")
    assert again.code == 0
    assert again.out.splitlines()[-5] == f"result in results/small-{digest[:8]}"


def test_a_file_with_a_sweep_runs_its_base_cell(command, here):
    (here / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    command.done("run", "sweep.toml", "--out", "base")
    command.done("run", "small.toml", "--out", "small")
    assert manifest(here / "base") == manifest(here / "small")


@pytest.mark.parametrize("box", ["", "theta_max = 1e300"], ids=["no box", "a box too large"])
def test_a_diverging_run_says_so_in_our_words(box, command, here):
    """Of a step that is far too long; in a box, figures of an infinite fitness are infinite."""
    text = SMALL.replace("theta_max = 10.0", box).replace("updates = 12", "updates = 99")
    text = text.replace("rho = 0.01", "rho = 1e60")
    (here / "steep.toml").write_text(text, encoding="utf-8")
    said = command.done("run", "steep.toml", "--out", "r")
    assert all(line.startswith("note: ") for line in said.lines), said.err
    assert any("the model diverged in 2 of 2 replicates" in line for line in said.lines)
    if box != "":
        curve = pq.read_table("r/curve.parquet").to_pylist()
        ends = [row["relative_fitness"] for row in curve if row["k"] == 99]
        assert ends == [float("inf")] * 2
        figures = manifest(here / "r")["summary"]["psi_final"]
        assert figures == {"mean": "inf", "median": "inf", "q25": "inf", "q75": "inf"}


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
    assert [path.name for path in here.rglob("*") if path.is_file()] == ["small.toml"]
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
