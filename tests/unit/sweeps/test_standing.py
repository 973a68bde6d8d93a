"""Sweeps over a folder that holds another scenario, other data or versions, or only failures."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.results import read_manifest
from asyncdp_sim.results.manifest import versions
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.result import notes
from asyncdp_sim.sweeps import status, sweep
from tests.cli.scenes import ON_A_TABLE, SMALL, rates
from tests.one_in import one_in
from tests.unit.sweeps.conftest import as_if_let_alone, contents
from tests.unit.sweeps.told import interrupted

SWEPT = ON_A_TABLE + '\n[sweep]\n"privacy.epsilon" = [1.0, 2.0]\n'
NUMPY = versions()["numpy"]


@pytest.fixture
def file(tmp_path):
    """Two cells, each with a network of its own."""
    path = tmp_path / "sweep.toml"
    path.write_text(SMALL + '\n[sweep]\n"run.seed" = [3, 4]\n', encoding="utf-8")
    return path


def on_a_table(folder: Path, text: str = SWEPT) -> Scenario:
    """Return the scenario of two cells over a table, whose files it writes."""
    rates(folder / "rates.csv")
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    return load(folder / "sweep.toml")[0]


def older(file: Path) -> None:
    """Say in a manifest, or of a network's traces, that another NumPy made it."""
    said = json.loads(file.read_bytes())
    said.get("versions", said)["numpy"] = "1.0"
    file.write_text(json.dumps(said), encoding="utf-8")


def test_what_other_versions_made_is_not_mixed_in_silence(scenario, tmp_path):
    out = tmp_path / "result"
    interrupted(scenario, out)
    [network] = (out / "traces").iterdir()
    older(out / "cell-0000" / "manifest.json")
    older(network / "versions.json")
    before = contents(out)
    with pytest.raises(ResultError) as error:
        sweep(scenario, out)
    [line] = error.value.lines()
    made = f"cell-0000, traces/{network.name} made with numpy 1.0, here {NUMPY}"
    assert line == (
        f"{out}: --out: given {made}; allowed are parts of one version, in a new directory, or "
        "--mixed-versions"
    )
    assert contents(out) == before
    assert sweep(scenario, out, mixed_versions=True).done == 2
    [other, ours] = read_manifest(out)["mixed_versions"]
    assert (other["versions"]["numpy"], ours["versions"]["numpy"]) == ("1.0", NUMPY)
    assert other["made"] == ["cell-0000", f"traces/{network.name}"]
    assert len(ours["made"]) == 2
    told = [note for note in notes(out) if note.startswith("mixed versions: ")]
    assert told[0].startswith(f"mixed versions: cell-0000, traces/{network.name} by ")
    assert "numpy 1.0" in told[0]
    assert len(told) == 2
    assert sweep(scenario, out).left == 0  # it is finished as it was allowed to be


@pytest.mark.parametrize("part", ["cell", "traces"])
def test_each_part_alone_is_looked_at(part, scenario, tmp_path):
    out = tmp_path / "result"
    interrupted(scenario, out)
    [network] = (out / "traces").iterdir()
    if part == "cell":
        older(out / "cell-0000" / "manifest.json")
    else:
        (network / "versions.json").unlink()  # as before traces said it
    with pytest.raises(ResultError, match="cell-0000" if part == "cell" else "numpy unknown"):
        sweep(scenario, out)


def test_one_version_is_not_mixed(scenario, tmp_path):
    sweep(scenario, tmp_path / "result")
    assert "mixed_versions" not in read_manifest(tmp_path / "result")


def test_a_sweep_does_not_go_on_over_other_data(tmp_path):
    """The scenario's text is the same; what its table holds is not."""
    scenario = on_a_table(tmp_path)
    interrupted(scenario, tmp_path / "half")
    sweep(scenario, tmp_path / "whole")
    rates(tmp_path / "rates.csv", 1.0)
    for out in ("half", "whole"):
        with pytest.raises(ResultError, match="data files with other contents"):
            sweep(scenario, tmp_path / out)


def test_a_finished_sweep_over_a_table_that_moved_is_done(tmp_path):
    sweep(on_a_table(tmp_path), tmp_path / "result")
    (tmp_path / "new").mkdir()
    for name in ("rates.csv", "sweep.toml"):
        shutil.move(tmp_path / name, tmp_path / "new" / name)
    before = contents(tmp_path / "result")
    sweep(load(tmp_path / "new" / "sweep.toml")[0], tmp_path / "result")
    assert contents(tmp_path / "result") == before


def test_a_finished_sweep_that_lost_a_cell_is_not_finished(scenario, tmp_path):
    out = tmp_path / "result"
    sweep(scenario, out)
    whole = contents(out)
    shutil.rmtree(out / "cell-0001")
    sweep(scenario, out)
    assert contents(out) == whole


def test_status_is_of_the_directorys_own_scenario(command, file, scenario, tmp_path):
    out = tmp_path / "result"
    sweep(scenario, out)
    shutil.rmtree(out / "cell-0001")
    (out / "cell-0099").mkdir()  # of nobody's grid
    assert status(scenario, out).done == status(None, out).done == 1
    said = command.done("sweep", out, "--status")
    assert [line.split()[-1] for line in said.out.splitlines()[:4]] == ["2", "1", "0", "1"]
    fewer = ("--set", 'sweep."run.seed"=[3]')
    line = command.refused("sweep", file, "--status", "--out", out, *fewer)
    assert "a sweep of another scenario (sweep.run.seed.1 (4, asked nothing))" in line


def test_a_directory_is_gone_on_with_by_its_own_scenario(command, scenario, tmp_path):
    interrupted(scenario, tmp_path / "half")
    command.done("sweep", tmp_path / "half")
    as_if_let_alone(scenario, tmp_path / "half")
    said = command.done("sweep", tmp_path / "half")
    assert "already finished: nothing was computed again" in said.out.splitlines()
    said = command("sweep", tmp_path / "half", "--out", tmp_path / "other")
    assert said.code == 2
    assert "given --out with the directory of a sweep" in said.err
    assert command.refused("sweep", tmp_path) == (
        f"{tmp_path}: given no sweep; allowed is the directory of a sweep; to begin one: "
        "asyncdp sweep FILE"
    )


@one_in(2, "faulty", ["target = 'nothing'", "public_records = 100000"])
def test_nothing_is_left_where_every_cell_fails_on_its_input(
    faulty, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    on_a_table(tmp_path)
    setting = f"data.{faulty}".replace(" ", "")
    said = command("sweep", "sweep.toml", "--out", "result", "--set", setting)
    assert said.code == 2
    assert said.out == ""
    first, last = said.lines
    assert first.startswith("sweep.toml: cells 0, 1: ")
    assert last == "sweep.toml: all cells failed; nothing is kept in result"
    assert sorted(os.listdir(tmp_path)) == ["rates.csv", "sweep.toml"]
    command.done("sweep", "sweep.toml", "--out", "result")


def test_what_others_put_there_stays(tmp_path):
    scenario = on_a_table(tmp_path, SWEPT.replace('"rate"', '"nothing"'))
    out = tmp_path / "result"

    def note(*_: Any) -> None:
        (out / "mine.txt").write_text("mine", encoding="utf-8")

    assert list(sweep(scenario, out, progress=note).failed) == [0, 1]
    assert os.listdir(out) == ["mine.txt"]
