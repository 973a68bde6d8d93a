"""A small sweep, in a file and in memory, and sweeps that are interrupted."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from asyncdp_sim.core.progress import Progress
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps.sweep import sweep
from tests.cli.scenes import SWEEP
from tests.directories import contents


@pytest.fixture
def out(tmp_path):
    return tmp_path / "result"


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


def whole_cells(act: Callable[..., object]) -> Progress:
    """Return who acts on each cell that is finished, and not on parts of one."""

    def told(doing: str, done: float, total: float | None) -> None:
        if isinstance(done, int):
            act(doing, done, total)

    return told


def interrupted(scenario: Scenario, out: Path, after: int = 1) -> None:
    """Leave a sweep with at least so many finished cells."""
    told = count(1)

    def interrupt(*_: object) -> None:
        if next(told) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(scenario, out, progress=whole_cells(interrupt))
