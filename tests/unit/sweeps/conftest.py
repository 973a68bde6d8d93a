"""A small sweep, in a file and in memory, and sweeps that are interrupted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asyncdp_sim.core.progress import Progress
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps.sweep import sweep
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


def whole_cells(act: Callable[..., object]) -> Progress:
    """Return who acts on each cell that is finished, and not on parts of one."""

    def told(doing: str, done: float, total: float | None) -> None:
        if isinstance(done, int):
            act(doing, done, total)

    return told


def interrupted(scenario: Scenario, out: Path, after: int = 1) -> None:
    """Leave a sweep with at least so many finished cells."""
    told: list[int] = []

    def interrupt(*_: object) -> None:
        told.append(1)
        if len(told) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(scenario, out, progress=whole_cells(interrupt))
