"""A small sweep, in a file and in memory."""

from pathlib import Path

import pytest

from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps import sweep
from tests.cli.scenes import SWEEP


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


@pytest.fixture
def scenario(file):
    return load(file)[0]


def as_if_let_alone(scenario: Scenario, out: Path) -> None:
    """Hold that a folder has what a sweep leaves to which nothing happened."""
    whole = out.with_name(f"{out.name}-let-alone")
    sweep(scenario, whole)
    assert contents(out) == contents(whole)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
