"""A scenario that names a class of a file: nothing is executed unasked, a change is told."""

import hashlib
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.bad_input.transcript import leaked
from tests.cli.scenes import SMALL, SWEEP
from tests.directories import contents
from tests.tables import table

GOSSIP = 'kind = "async-gossip"\nrho = 0.01'
MOMENTUM = 'kind = "python:momentum.py:Momentum"\nstep = 0.01'
CODE = (Path(__file__).parents[2] / "docs" / "kinds" / "momentum.py").read_text(encoding="utf-8")
SENTINEL = 'from pathlib import Path\nPath("executed").touch()\n'
VERBS = ("check", "run", "sweep", "forecast", "audit")


FILES = {"momentum.py": CODE + SENTINEL}


@pytest.fixture
def here(here: Path) -> Path:
    for name, text in (("small.toml", SMALL), ("sweep.toml", SWEEP)):
        (here / name).write_text(text.replace(GOSSIP, MOMENTUM), encoding="utf-8")
    return here


@pytest.mark.parametrize("verb", VERBS)
def test_code_is_named_and_not_executed(verb, command, here):
    line = command.refused(verb, "sweep.toml")
    digest = hashlib.sha256((here / "momentum.py").read_bytes()).hexdigest()
    assert line == (
        f"sweep.toml: algorithm.kind: given 'python:{here}/momentum.py:Momentum'; allowed with "
        f"--allow-code, which executes its code ({here}/momentum.py, SHA-256 {digest})"
    )
    assert sorted(os.listdir(here)) == ["momentum.py", "small.toml", "sweep.toml"]


def test_a_setting_executes_nothing_either(command, here):
    (here / "plain.toml").write_text(SMALL, encoding="utf-8")
    setting = "algorithm.kind=python:momentum.py:Momentum"
    assert "allowed with --allow-code" in command.refused("run", "plain.toml", "--set", setting)
    assert not (here / "executed").exists()
    assert not (here / "results").exists()
    sets = ("--set", setting, "--set", "algorithm.step=0.01")
    command.done("run", "plain.toml", *sets, "--allow-code", "--out", "one")
    command.done("run", "small.toml", "--allow-code", "--out", "other")
    assert (here / "one/curve.parquet").read_bytes() == (here / "other/curve.parquet").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("verb", ["check", "forecast", "audit"])
def test_every_command_takes_it_when_it_is_allowed(verb, command, here):
    more = ["--thorough", "--runs", 100, "--answers", 100] if verb == "audit" else []
    assert "Momentum" not in command.done(verb, "small.toml", "--allow-code", *more).out
    assert (here / "executed").exists()


def test_a_result_names_the_file_and_replays(command, here):
    command.done("run", "small.toml", "--allow-code", "--out", "results/one")
    digest = hashlib.sha256((here / "momentum.py").read_bytes()).hexdigest()
    written = (here / "results/one/scenario.toml").read_text(encoding="utf-8")
    assert 'kind = "python:../../momentum.py:Momentum"' in written
    manifest = (here / "results/one/manifest.json").read_text(encoding="utf-8")
    assert f'"kind": "python:momentum.py:Momentum sha256:{digest}"' in manifest
    assert str(here) not in manifest
    (here / "executed").unlink()
    assert command("replay", "results/one").code == 2
    assert not (here / "executed").exists()
    command.done("replay", "results/one", "--allow-code")
    again = command.done("run", "small.toml", "--allow-code", "--out", "results/one")
    assert "already finished" in again.out


def test_a_changed_file_is_told(command, here):
    command.done("run", "small.toml", "--allow-code", "--out", "one")
    with (here / "momentum.py").open("a", encoding="utf-8") as file:
        file.write("# another\n")
    assert "algorithm.kind" in command.refused("replay", "one", "--allow-code", code=3)
    assert "another result" in command.refused("run", "small.toml", "--allow-code", "--out", "one")


def test_a_file_that_moved_is_named_anew(command, here):
    command.done("run", "small.toml", "--allow-code", "--out", "one")
    (here / "kept").mkdir()
    (here / "momentum.py").rename(here / "kept" / "momentum.py")
    assert "there is no such file" in command.refused("replay", "one", "--allow-code")
    command.done(
        "replay", "one", "--allow-code", "--set",
        "algorithm.kind=python:kept/momentum.py:Momentum",
    )  # fmt: skip


@pytest.mark.long
def test_a_sweep_of_two_processes(command, here):
    command.done("sweep", "sweep.toml", "--allow-code", "--workers", "2", "--out", "two")
    command.done("sweep", "sweep.toml", "--allow-code", "--out", "one")
    assert contents(here / "two") == contents(here / "one")
    assert pq.read_table(here / "two" / "cells.parquet")["status"].to_pylist() == ["done"] * 6
    assert command("replay", "two").code == 2
    command.done("replay", "two", "--allow-code")
    assert command("sweep", "two", "--status").code == 2
    assert "done       6" in command.done("sweep", "two", "--status", "--allow-code").out


def test_a_sweep_over_code(command, here):
    """Over a kind, which drops fields that the other lacks, and over tables."""
    kinds = 'algorithm.kind" = ["python:momentum.py:Momentum", "fedasync"]'
    swept = SMALL.replace(GOSSIP, 'kind = "fedasync"\nstep = 0.01\nmixing = 1.0')
    (here / "kinds.toml").write_text(f'{swept}\n[sweep]\n"{kinds}\n', encoding="utf-8")
    assert command("check", "kinds.toml").code == 2
    command.done("sweep", "kinds.toml", "--allow-code", "--out", "kinds")
    tables = '"algorithm" = [{ kind = "python:momentum.py:Momentum", step = 0.01 }]'
    (here / "tables.toml").write_text(f"{swept}\n[sweep]\n{tables}\n", encoding="utf-8")
    command.done("sweep", "tables.toml", "--allow-code", "--out", "tables")
    one, other = (here / name / "cell-0000/curve.parquet" for name in ("kinds", "tables"))
    assert one.read_bytes() == other.read_bytes()


REFUSED = table(__file__, "refused.toml")
WRONG = {"there is no such file": None} | REFUSED["code"]


@pytest.mark.parametrize("wanted", WRONG)
@pytest.mark.parametrize("verb", ["check", "run", "replay"])
def test_wrong_code_is_one_line(verb, wanted, command, here):
    code = WRONG[wanted]
    if verb == "replay":
        command.done("run", "small.toml", "--allow-code", "--out", "one")
    (here / "momentum.py").unlink()
    if code is not None:
        (here / "momentum.py").write_text(code, encoding="utf-8")
    line = command.refused(verb, "one" if verb == "replay" else "small.toml", "--allow-code")
    assert wanted.removeprefix("Momentum; ") in line
    assert "algorithm.kind" in line
    assert leaked(line) == []


@pytest.mark.parametrize("fields", REFUSED["classes"])
def test_wrong_fields_and_names_of_classes_are_one_line(fields, command, here):
    text = (here / "small.toml").read_text(encoding="utf-8")
    (here / "small.toml").write_text(text.replace(MOMENTUM, fields), "utf-8")
    line = command.refused("check", "small.toml", "--allow-code")
    assert line.startswith(f"small.toml: algorithm.{REFUSED['classes'][fields]}")
    assert leaked(line) == []


@pytest.mark.long
def test_an_installed_module(command, here, monkeypatch):
    package = here / "installed" / "steps_of_ours"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SENTINEL, encoding="utf-8")
    (package / "momentum.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(here / "installed")
    text = (here / "small.toml").read_text(encoding="utf-8")
    text = text.replace("python:momentum.py:", "python:steps_of_ours.momentum:")
    (here / "small.toml").write_text(text, encoding="utf-8")
    said = command("run", "small.toml", "--out", "one")
    assert said.code == 2
    assert (
        f"({package}/momentum.py, SHA-256 {hashlib.sha256(CODE.encode()).hexdigest()})" in said.err
    )
    assert not (here / "executed").exists()
    command.done("run", "small.toml", "--allow-code", "--out", "one", "--workers", "2")
    command.done("replay", "one", "--allow-code")
    (here / "small.toml").write_text(text.replace("steps_of_ours", "steps_of_none"), "utf-8")
    said = command.refused("run", "small.toml", "--allow-code")
    assert "there is no such file, or installed module" in said
