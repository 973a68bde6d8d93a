"""Malformed scenario files: each says at its top what a user must read.

One line per error on stderr, naming the file, the key path, what was given and what is allowed;
exit code 2; nothing written; at once.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bad_input.transcript import FILES, Transcript, agrees, leaked, transcript
from tests.one_in import one_in
from tests.together import together

EACH = [transcript(file) for file in sorted(FILES.glob("*.toml"))]
LONGEST_WAIT = 1.0


@pytest.fixture(autouse=True, scope="module")
def _imports_are_paid_for() -> None:
    import networkx as nx  # noqa: F401
    import pandas as pd  # noqa: F401
    import pyarrow.parquet as pq  # noqa: F401

    import asyncdp_sim.sweeps.sweep  # noqa: F401


def below(folder: Path) -> dict[str, int]:
    """When each file and folder below a folder was last written."""
    return {
        os.path.join(at, name): os.stat(os.path.join(at, name)).st_mtime_ns
        for at, folders, files in os.walk(folder)
        for name in folders + files
    }


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_written() -> Iterator[None]:
    before = below(FILES)
    yield
    assert below(FILES) == before


def compare(lines: list[str], case: Transcript) -> None:
    assert len(lines) == len(case.expected), lines
    for line, expected in zip(lines, case.expected, strict=True):
        assert agrees(line, expected), f"\nsaid     {line}\nexpected {expected}"


def test_there_are_enough_of_them():
    assert len(EACH) >= 48
    for case in EACH:
        assert case.name in case.arguments
        assert len(case.expected) > 0
        for line in case.expected:
            assert line.startswith((f"{case.name}: ", "asyncdp: ")), line


@together
@pytest.mark.parametrize("case", EACH, ids=lambda case: case.name.removesuffix(".toml"))
def test_what_is_said(case, command, tmp_path, monkeypatch):
    monkeypatch.chdir(FILES)
    said = command(*case.arguments, "--out", tmp_path / "out")
    assert said.code == 2
    assert said.out == ""
    compare(said.lines, case)
    assert leaked(said.err) == []
    assert list(tmp_path.iterdir()) == []
    assert said.seconds < LONGEST_WAIT


@one_in(4, "name", [case.name for case in EACH if case.arguments == ("run", case.name)])
def test_check_says_the_same(name, command, monkeypatch):
    monkeypatch.chdir(FILES)
    checked = command("check", name)
    assert checked.code == 2
    compare(checked.lines, transcript(FILES / name))


def test_check_reports_the_faults_of_all_files(command, monkeypatch):
    monkeypatch.chdir(FILES)
    names = ["several-faults.toml", "nowhere.toml", "zero-epsilon.toml"]
    said = command("check", *names)
    assert said.code == 2
    expected = [
        *transcript(FILES / names[0]).expected,
        "nowhere.toml: given a file that does not exist; to create it: asyncdp new -o FILE",
        *transcript(FILES / names[2]).expected,
    ]
    assert len(said.lines) == len(expected)
    assert all(map(agrees, said.lines, expected))
