"""``asyncdp replay`` after the result, its table, or both have moved."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from asyncdp_sim.results.manifest import versions
from asyncdp_sim.runs import run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps import sweep
from tests.cli.scenes import ON_A_TABLE, rates
from tests.one_in import one_in

AGREES = "reproduced (manifest, scenario and every table agree"
SWEPT = ON_A_TABLE + '\n[sweep]\n"privacy.epsilon" = [1.0, 2.0]\n'


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a table, and a run and a sweep over it."""
    folder: Path = tmp_path_factory.mktemp("old")
    rates(folder / "rates.csv")
    (folder / "sweep.toml").write_text(SWEPT, encoding="utf-8")
    scenario, _ = load(folder / "sweep.toml")
    write(run(scenario), folder / "r")
    sweep(scenario, folder / "s")
    return folder


@pytest.fixture
def made(old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder in which ``old/`` is a copy of it all."""
    shutil.copytree(old, tmp_path / "old")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@one_in(3, "result", ["r", "s", "s/cell-0001"])
def test_result_and_table_moved_together_or_apart(result, command, made, monkeypatch):
    (made / "new" / "deep").mkdir(parents=True)
    (made / "tables").mkdir()
    shutil.move(made / "old" / result.split("/")[0], made / "new" / "deep")
    moved = made / "new" / "deep" / result
    assert command("replay", moved).code == 2  # it lies nowhere near
    shutil.move(made / "old" / "rates.csv", made / "new" / "deep" / "rates.csv")
    assert AGREES in command.done("replay", moved).out
    shutil.move(made / "new" / "deep" / "rates.csv", made / "tables" / "rates.csv")
    assert AGREES in command.done("replay", moved, "--set", "data.path=tables/rates.csv").out
    monkeypatch.chdir(made / "tables")
    assert AGREES in command.done("replay", moved).out


def test_a_table_of_another_name_is_known_by_its_contents(command, made):
    (made / "old" / "rates.csv").rename(made / "renamed.csv")
    for result in ("old/r", "old/s"):
        assert AGREES in command.done("replay", result, "--set", "data.path=renamed.csv").out


@pytest.mark.long
def test_public_rows_and_swept_tables_that_moved(command, made):
    """Owners that a column counts are counted where the tables lie now."""
    for name in ("a", "b"):
        rates(made / f"{name}.csv")
    table = pd.read_csv(made / "b.csv").assign(who="x")
    table.to_csv(made / "b.csv", index=False)
    table.assign(who=["x", "y"] * 20).to_csv(made / "a.csv", index=False)
    rates(made / "p.csv")
    text = ON_A_TABLE.replace("count = 3\nrecords = 10", "").replace("rates.csv", "a.csv")
    text = text.replace("[model]", 'public_path = "p.csv"\nowner_column = "who"\n[model]')
    swept = '\n[sweep]\n"data.path" = ["a.csv", "b.csv"]\n'
    (made / "two.toml").write_text(text + swept, encoding="utf-8")
    command.done("sweep", "two.toml", "--out", "t")
    (made / "far").mkdir()
    moved = {"data.path": "a", "data.public_path": "p", "sweep.data.path.1": "b"}
    for name in moved.values():
        (made / f"{name}.csv").rename(made / "far" / f"{name}{name}.csv")
    assert [line.split(": ")[1] for line in command("replay", "t").lines] == list(moved)
    settings = [f"--set={field}=far/{name}{name}.csv" for field, name in moved.items()]
    assert AGREES in command.done("replay", "t", *settings).out


@pytest.mark.parametrize("result", ["r", "s"])
def test_another_table_is_refused(result, command, made):
    rates(made / "other.csv", 1.0)
    line = command.refused("replay", f"old/{result}", "--set", "data.path=other.csv", code=3)
    assert line.startswith(f"old/{result}: not reproduced: the data file differs (")


def test_a_place_that_is_named_is_the_only_one_looked_at(command, made):
    """The right table lies beside the result, under the name of the wrong one that is named."""
    (made / "elsewhere").mkdir()
    rates(made / "elsewhere" / "rates.csv", 1.0)
    line = command.refused("replay", "old/r", "--set", "data.path=elsewhere/rates.csv", code=3)
    wrong = made / "elsewhere" / "rates.csv"
    assert line.startswith(f"old/r: not reproduced: the data file differs ({wrong} has SHA-256")
    line = command.refused("replay", "old/r", "--set", "data.path=nowhere/rates.csv")
    nowhere = str(made / "nowhere" / "rates.csv")
    assert line.startswith(f"old/r: data.path: given {nowhere!r}; there is no such file; give")


def test_no_table_is_one_line_that_says_what_to_do(command, made):
    (made / "old" / "rates.csv").unlink()
    line = command.refused("replay", "old/r")
    assert line.startswith(
        f"old/r: data.path: given '{made / 'old' / 'rates.csv'}'; there is no such"
    )
    assert line.endswith("give its place: --set data.path=…")


def test_which_parts_others_made_is_said(command, made):
    file = made / "old" / "s" / "cell-0001" / "manifest.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"numpy": "', '"numpy": "0.'), encoding="utf-8")
    [trace] = (made / "old" / "s" / "traces").glob("*/versions.json")
    kept = trace.read_text(encoding="utf-8")
    trace.write_text(kept.replace('"simpy": "', '"simpy": "0.'), encoding="utf-8")
    said = command.done("replay", "old/s")
    here, folder = versions(), trace.parent.relative_to(made / "old" / "s")
    assert sorted(said.lines) == [
        f"note: old/s was made in part with {name} 0.{here[name]}, here {here[name]} ({where})"
        for name, where in (("numpy", "cell-0001"), ("simpy", folder))
    ]


@pytest.mark.usefixtures("made")
def test_nothing_else_can_be_set(command):
    assert command.refused("replay", "old/r", "--set", "run.seed=4") == (
        "old/r: --set: given 'run.seed=4'; settings stay as they are, only files may have moved: "
        "allowed is --set data.path=FILE"
    )
