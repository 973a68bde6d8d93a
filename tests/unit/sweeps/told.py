"""Progress of sweeps, by whole cells."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asyncdp_sim.core.progress import Progress
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps import sweep


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
