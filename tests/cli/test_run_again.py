"""``asyncdp run`` given again: done, or refused before anything is written; what a kill leaves."""

import os
from pathlib import Path

import pytest

from asyncdp_sim.results.write import Writer, remove_leftovers
from tests.cli.command import Command
from tests.cli.scenes import ON_A_TABLE, SMALL, rates

DONE = "already finished: nothing was computed again"


FILES = {"small.toml": SMALL}


@pytest.fixture
def here(here: Path, command: Command) -> Path:
    command.done("run", "small.toml", "--out", "r")
    return here


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_the_same_scenario_is_done(command, here, monkeypatch):
    before = times(here)
    monkeypatch.setattr(
        "asyncdp_sim.runs.replicates.simulate_all", lambda *_, **__: pytest.fail("it began")
    )
    said = command.done("run", "small.toml", "--out", "r")
    assert said.out.splitlines()[-6:-4] == [DONE, "result in r"]
    assert times(here) == before


def test_another_scenario_is_refused(command, here):
    before = times(here)
    assert "another result" in command.refused("run", "small.toml", "--out", "r", "--seed", "4")
    assert times(here) == before


def test_the_contents_of_the_table_count_and_not_its_place(command, here):
    rates(here / "rates.csv")
    (here / "table.toml").write_text(ON_A_TABLE, encoding="utf-8")
    command.done("run", "table.toml", "--out", "t")
    (here / "deep").mkdir()
    (here / "rates.csv").rename(here / "deep" / "rates.csv")
    moved = ("--set", "data.path=deep/rates.csv")
    assert DONE in command.done("run", "table.toml", "--out", "t", *moved).out
    rates(here / "deep" / "rates.csv", 1.0)
    assert "another result (data.sha256 (" in command.refused(
        "run", "table.toml", "--out", "t", *moved
    )


def test_what_a_killed_run_left_is_removed(command, here):
    """Its lock ended with it, so that what it built is nobody's."""
    (here / ".partial-new-0123abcd").mkdir()
    (here / ".partial-new-0123abcd" / "curve.parquet.tmp").write_bytes(b"half")
    others = [".partial-new-deadbeef-12345678", ".partial-newer-12345678", ".partial-new-mine"]
    for name in others:
        (here / name).mkdir()
    command.done("run", "small.toml", "--out", "new")
    assert sorted(os.listdir(here)) == sorted([*others, "new", "r", "small.toml"])


def test_what_is_being_written_is_left_alone(tmp_path):
    with Writer(tmp_path / "live") as writer:
        remove_leftovers(tmp_path / "live")
        writer.put("it.txt", "whole")
    assert (tmp_path / "live" / "it.txt").read_text(encoding="utf-8") == "whole"
    assert os.listdir(tmp_path) == ["live"]
