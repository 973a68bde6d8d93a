"""Cells that learn together, whatever their replies are: to the bit what each gives alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import AsyncGossip, FedAsync, Setting
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.recording import GradientMonitor, Trajectory
from asyncdp_sim.learning.replay import CellTask, alike, fold, replay_together
from asyncdp_sim.privacy.budgets import BudgetSchedule
from asyncdp_sim.privacy.mechanisms import (
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    NoNoise,
)
from asyncdp_sim.trace import Trace
from tests.one_in import one_in
from tests.unit.learning.problems import records, same_path, traces
from tests.unit.learning.problems import scopes as replicates

scopes = partial(replicates, seed=2)

SIZES = (40, 7, 23)
SCALE = np.array([0.01, 0.2, 0.0])
SHARES = np.array([0.5, 0.2, 0.3])
RECORDS, *OTHERS = (LinearRecords(*records(seed, SIZES, 4), clip=2.0) for seed in (1, 2, 3, 4))
ALLOTMENT = BudgetSchedule.from_weights([np.arange(1.0, 41.0)] * 3)


@pytest.fixture(scope="module")
def hundred() -> list[Trace]:
    """100 replicates of 3 owners that end after different numbers of updates."""
    found = traces(100, 3, 40, until=14.0)
    assert len({len(trace.updates) for trace in found}) > 10
    return found


def cell_task(
    p: int = 4, *, noise: Any = None, theta_max: float | None = 3.0, seed: int = 1,
    record_every: int = 1, rho: float = 60.0, reply: dict[str, Any] | None = None, **options: Any,
) -> CellTask:  # fmt: skip
    objective = Quadratic.from_records(*records(seed, SIZES, p), 0.3, theta_max)
    setting = Setting(objective.weights, p, 40, 0.3, theta_max, SHARES)
    steps = AsyncGossip(rho=rho, **{"initial": "uniform", **options}).steps(setting)
    noise = LaplaceNoise(SCALE) if noise is None else noise
    return CellTask(steps, replace(AnswerModel(objective, noise), **(reply or {})), record_every)


def alone(several: list[Trace], cell: CellTask) -> Trajectory:
    [path] = fold(several, [cell], scopes(len(several)))
    return path


def held_to_each_alone(several: list[Trace], cells: list[CellTask]) -> None:
    found = dict(replay_together(several, cells, lambda: scopes(len(several))))
    assert sorted(found) == list(range(len(cells)))
    for number, cell in enumerate(cells):
        same_path(found[number], alone(several, cell))


PAIRS: dict[str, Callable[[int], CellTask]] = {
    "noise": lambda n: cell_task(noise=LaplaceNoise((n + 1) * SCALE)),
    "one draw for all coordinates": lambda n: cell_task(
        noise=LaplaceNoise((n + 1) * SCALE, "scalar-as-published")
    ),
    "a Gaussian": lambda n: cell_task(noise=GaussianNoise((n + 1) * SCALE)),
    "a grid": lambda n: cell_task(noise=DiscreteLaplaceNoise(SCALE, np.full(3, 2.0 ** -(9 + n)))),
    "silence": lambda n: cell_task(noise=NoNoise(np.zeros(3)), rho=60.0 + n),
    "records": lambda n: cell_task(seed=1 + 4 * n),
    "clipped records": lambda n: cell_task(rho=60.0 + n, reply={"gradients": RECORDS}),
    "clipped records of others": lambda n: cell_task(reply={"gradients": OTHERS[n]}),
    "records at other distances": lambda n: cell_task(rho=60.0 + n, record_every=1 + 6 * n),
    "noise and none": lambda n: cell_task(noise=LaplaceNoise(n * SCALE)),
    "divergence": lambda n: cell_task(theta_max=1e300, rho=10.0 ** (20 * n)),
    "no box": lambda n: cell_task(theta_max=None, rho=10.0 ** (20 * n)),
    "selection": lambda n: cell_task(selection="inverse-rate", rho=60.0 + n),
    "samples": lambda n: cell_task(reply={"sample": Sample(RECORDS, 3)}, rho=60.0 + n),
    "an allotment": lambda n: cell_task(
        noise=LaplaceNoise((n + 1) / np.sqrt(np.arange(1.0, 121.0))),
        reply={"allotment": ALLOTMENT},
    ),
}  # fmt: skip
"""Two cells that are alike: of a number 0 or 1, by what differs."""


@one_in(2, "cell", PAIRS.values(), ids=PAIRS)
def test_two_cells(hundred: list[Trace], cell: Callable[[int], CellTask]) -> None:
    cells = [cell(0), cell(1)]
    assert alike(cells[0]) == alike(cells[1]) is not None
    for count in (1, 2, 33):
        held_to_each_alone(hundred[:count], cells)
    assert not np.array_equal(*(alone(hundred[:3], each).final for each in cells))


def test_cells_of_all_kinds_at_once(hundred: list[Trace]) -> None:
    """Each learns with its like; those with no like learn alone."""
    cells = [cell(n) for cell in PAIRS.values() for n in (0, 1)]
    cells += [cell_task(3), cell_task(65), cell_task(record_every=7), cell_task(initial="ones")]
    setting = Setting(cells[0].steps.step / 20, 4, 40, 0.3, 3.0)
    cells.append(replace(cells[0], steps=FedAsync(step=0.1, mixing=0.9).steps(setting)))
    assert len({alike(cell) for cell in cells}) > len(PAIRS) - 4
    held_to_each_alone(hundred[:4], cells)


def test_an_algorithm_that_is_no_dataclass_learns_alone(hundred: list[Trace]) -> None:
    class Wrapper:
        def __init__(self, steps: Any) -> None:
            self._steps = steps

        def __getattr__(self, name: str) -> Any:
            return getattr(self._steps, name)

    cells = [replace(cell_task(rho=rho), steps=Wrapper(cell_task().steps)) for rho in (60.0, 61.0)]
    assert [alike(cell) for cell in cells] == [None, None]
    held_to_each_alone(hundred[:3], cells)


def test_each_watch_is_shown_its_own_cells_queries(hundred: list[Trace]) -> None:
    plain = LinearRecords(*records(1, SIZES, 4))
    cells = [cell_task(rho=rho) for rho in (60.0, 70.0, 80.0)]
    watches = [GradientMonitor(plain), None, GradientMonitor(plain)]
    some = [replace(c, watch=w) for c, w in zip(cells, watches, strict=True)]
    dict(replay_together(hundred[:5], some, lambda: scopes(5)))
    met = []
    for cell, watch in zip(cells, watches, strict=True):
        seen = GradientMonitor(plain)
        alone(hundred[:5], replace(cell, watch=seen))
        met.append(seen.met().largest.tolist())
        assert watch is None or watch.met().largest.tolist() == met[-1]
    assert met[0] != met[2]


@pytest.mark.parametrize("which", ["clipped records", "clipped records of others"])
def test_gradients_are_asked_once_for_all_cells(
    hundred: list[Trace], monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    asked, gradient = [], LinearRecords.gradient

    def counted(self: LinearRecords, owners: Any, points: Any) -> Any:
        asked.append(len(owners))
        return gradient(self, owners, points)

    monkeypatch.setattr(LinearRecords, "gradient", counted)
    cells = [PAIRS[which](n) for n in range(3)]
    dict(replay_together(hundred[:9], cells, lambda: scopes(9)))
    assert asked == [3 * 9] * max(trace.n_updates for trace in hundred[:9])


def test_noise_is_drawn_once_for_all_cells_that_memory_holds(
    hundred: list[Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, rows = [], LaplaceNoise.rows

    def counted(self: LaplaceNoise, generator: Any, count: int, size: int) -> Any:
        drawn.append(count)
        return rows(self, generator, count, size)

    monkeypatch.setattr(LaplaceNoise, "rows", counted)
    cells = [PAIRS["noise"](n) for n in range(3)]
    whole = dict(replay_together(hundred[:5], cells, lambda: scopes(5)))
    once = sum(drawn)
    for held, times in ((1, 3), (2, 2)):
        drawn.clear()
        monkeypatch.setattr("asyncdp_sim.learning.replay.BYTES", held * cells[0].size(5, 40))
        found = dict(replay_together(hundred[:5], cells, lambda: scopes(5)))
        assert sum(drawn) == times * once
        for number, path in whole.items():
            same_path(found[number], path)


def test_answers_asked_of_the_central_model(hundred: list[Trace]) -> None:
    cells = [PAIRS["noise"](n) for n in range(2)]
    found = dict(replay_together(hundred[:2], cells, lambda: scopes(2), "central"))
    for number, cell in enumerate(cells):
        [path] = fold(hundred[:2], [cell], scopes(2), "central")
        same_path(found[number], path)
        assert path.final.tobytes() != alone(hundred[:2], cell).final.tobytes()
