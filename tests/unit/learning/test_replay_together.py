"""Cells that learn together: to the bit what the fold over each one's answers gives."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import AsyncGossip, FedAsync, ParameterServer, Setting
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import CellTask, Trajectory, fold, replay_together, together
from asyncdp_sim.learning.replay.cells import size_of
from asyncdp_sim.learning.reply import Reply, Sample
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Bernoulli
from asyncdp_sim.network.protocols import Rounds
from asyncdp_sim.privacy.mechanisms import (
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    Mechanism,
    NoNoise,
)
from asyncdp_sim.streams import Scope, Streams
from asyncdp_sim.trace import Trace
from tests.unit.learning.problems import records, traces

SIZES = (40, 7, 23)
SCALE = np.array([0.01, 0.2, 0.0])
SHARES = np.array([0.5, 0.2, 0.3])
NOISES: dict[str, Mechanism] = {
    "laplace": LaplaceNoise(SCALE),
    "scalar": LaplaceNoise(SCALE, "scalar-as-published"),
    "gaussian": GaussianNoise(SCALE),
    "none": NoNoise(np.zeros(3)),
}


@pytest.fixture(scope="module")
def hundred() -> list[Trace]:
    """100 replicates of 3 owners that end after different numbers of updates."""
    found = traces(100, 3, 40, until=14.0)
    assert len({len(trace.updates) for trace in found}) > 10
    return found


def quadratic(p: int, theta_max: float | None = 3.0, seed: int = 1) -> Quadratic:
    x, y = records(seed, SIZES, p)
    return Quadratic.from_records(x, y, 0.3, theta_max)


def cell_task(
    p: int = 4, *, noise: Mechanism | None = None, theta_max: float | None = 3.0, seed: int = 1,
    record_every: int = 1, rho: float = 60.0, **options: Any,
) -> CellTask:  # fmt: skip
    objective = quadratic(p, theta_max, seed)
    setting = Setting(objective.weights, p, 40, 0.3, theta_max, SHARES)
    steps = AsyncGossip(rho=rho, **{"initial": "uniform", **options}).steps(setting)
    reply = Reply(objective, LaplaceNoise(SCALE) if noise is None else noise)
    return CellTask(steps, reply, record_every)


def scopes(count: int) -> list[Scope]:
    streams = Streams(2)
    return [streams.within("replicate", r) for r in range(1, count + 1)]


def same(found: Trajectory, expected: Trajectory) -> None:
    """Every bit, also of what is no number."""
    for name in ("updates", "central", "final", "clipped"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours.shape == theirs.shape, name
        assert ours.tobytes() == theirs.tobytes(), name
    assert found.record_every == expected.record_every


OPTIONS: dict[str, dict[str, Any]] = {
    "projections": {"theta_max": 0.5},
    "whole space": {"theta_max": None},
    "zeros": {"initial": "zeros"},
    "ones in a small box": {"initial": "ones", "theta_max": 0.2},
    "inverse-rate": {"selection": "inverse-rate"},
    "text": {"central_step": "text"},
    "as-read": {"apply_at": "as-read"},
    "every 7": {"record_every": 7},
    "start and end": {"record_every": 1000},
    "divergence": {"rho": 1e20, "theta_max": None},
    "divergence in a box": {"rho": 1e20, "theta_max": 1e300},
}


def test_the_options_are_lively(hundred: list[Trace]) -> None:
    def found(**options: Any) -> Trajectory:
        return fold(hundred[:9], cell_task(**options), scopes(9))

    assert 0 < found(theta_max=0.5).clipped.sum() < found().updates.sum()
    assert not np.isfinite(found(rho=1e20, theta_max=None).final).any()
    boxed = found(rho=1e20, theta_max=1e300)
    assert np.isnan(boxed.final).any()
    assert boxed.clipped.sum() > 0


CELLS = [
    cell_task(),
    cell_task(noise=LaplaceNoise(7 * SCALE)),
    cell_task(seed=5, record_every=3),
    cell_task(theta_max=0.5, rho=200.0),
    cell_task(theta_max=None, rho=1e20),
    cell_task(theta_max=1e300, rho=1e20, record_every=11),
    cell_task(selection="inverse-rate", initial="ones"),
]


def other_cells() -> dict[str, CellTask]:
    """Cells that cannot learn together, each for a reason of its own."""
    plain = cell_task()
    x, y = records(1, SIZES, 4)
    linear = LinearRecords(x, y)
    setting = Setting(quadratic(4).weights, 4, 40, 0.3, 3.0)
    replies = {
        "gradients of records": replace(plain.reply, gradients=linear),
        "a sample": replace(plain.reply, sample=Sample(linear, 3)),
        "factors": replace(plain.reply, factors=np.array([1.0, -1.0, 1.0])),
        "a grid": replace(plain.reply, noise=DiscreteLaplaceNoise(SCALE, np.full(3, 2.0**-9))),
    }
    found = {name: replace(plain, reply=reply) for name, reply in replies.items()}
    found["another algorithm"] = replace(plain, steps=FedAsync(step=0.1, mixing=0.9).steps(setting))
    found["many features"] = cell_task(65)
    return found


def test_cells_that_cannot_learn_together_are_replayed_one_by_one(hundred: list[Trace]) -> None:
    several = hundred[:4]
    others = other_cells()
    mixed = [
        CELLS[0],
        *others.values(),
        *CELLS[1:],
        cell_task(noise=GaussianNoise(SCALE)),
        cell_task(3),
    ]
    found = dict(replay_together(several, mixed, lambda: scopes(4)))
    assert sorted(found) == list(range(len(mixed)))
    for number, cell in enumerate(mixed):
        same(found[number], fold(several, cell, scopes(4)))


def clipped_cells(p: int = 4) -> list[CellTask]:
    """Cells whose owners clip gradients of the same records: no two are alike otherwise."""
    clipped = LinearRecords(*records(1, SIZES, p), clip=2.0)
    plain = cell_task(p)
    setting = Setting(quadratic(p).weights, p, 40, 0.3, 3.0)
    cells = [
        plain,
        cell_task(p, rho=1e20, theta_max=None, record_every=7),
        cell_task(p, noise=GaussianNoise(SCALE), initial="ones"),
        replace(plain, reply=replace(plain.reply, factors=np.array([1.0, -1.0, 1.0]))),
        replace(plain, steps=FedAsync(step=0.1, mixing=0.9).steps(setting)),
    ]
    return [replace(each, reply=replace(each.reply, gradients=clipped)) for each in cells]


def test_cells_that_clip_the_same_records_are_folded_together(
    hundred: list[Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, cells, gradient = [], clipped_cells(), LinearRecords.gradient

    def counted(self: LinearRecords, owners: Any, points: Any) -> Any:
        asked.append(len(owners))
        return gradient(self, owners, points)

    for count in (1, 2, 9, 33):
        several = hundred[:count]
        expected = [fold(several, cell, scopes(count)) for cell in cells]
        with monkeypatch.context() as patch:
            patch.setattr(LinearRecords, "gradient", counted)
            found = dict(replay_together(several, cells, partial(scopes, count)))
        for number, path in enumerate(expected):
            same(found[number], path)
        assert asked == [len(cells) * count] * max(trace.n_updates for trace in several)
        asked.clear()


def test_no_bound_on_what_is_folded_together_changes_a_bit(
    hundred: list[Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = clipped_cells()
    whole = dict(replay_together(hundred[:5], cells, lambda: scopes(5)))
    for held in (1, 2):
        size = max(size_of(cell, (5, 40)) for cell in cells)
        monkeypatch.setattr(together, "BYTES", held * size)
        found = dict(replay_together(hundred[:5], cells, lambda: scopes(5)))
        for number, path in whole.items():
            same(found[number], path)


def test_rounds_of_different_owners_are_folded_together() -> None:
    clipped = LinearRecords(*records(1, SIZES, 4), clip=2.0)
    setting = Setting(quadratic(4).weights, 4, 40, 0.3, 3.0)
    algorithms = (ParameterServer(step=0.5), ParameterServer(step=0.1, initial="uniform"))
    cells = [
        CellTask(each.steps(setting), Reply(clipped, LaplaceNoise(SCALE)), every)
        for each, every in zip(algorithms, (1, 3), strict=True)
    ]
    network = Network(
        answers_allowed=(30, 20, 10), updates=30, answers_per_update=None, protocol=Rounds(),
        availability=Bernoulli(probability=0.6),
    )  # fmt: skip
    streams = Streams(3)
    several = [simulate(network, streams.within("replicate", r)) for r in range(1, 6)]
    assert len({len(trace.updates) for trace in several}) > 1
    found = dict(replay_together(several, cells, lambda: scopes(5)))
    for number, cell in enumerate(cells):
        same(found[number], fold(several, cell, scopes(5)))


def test_answers_asked_of_the_central_model_are_folded(hundred: list[Trace]) -> None:
    ((_, found),) = replay_together(hundred[:2], [cell_task()], lambda: scopes(2), "central")
    same(found, fold(hundred[:2], cell_task(), scopes(2), "central"))
    assert found.final.tobytes() != fold(hundred[:2], cell_task(), scopes(2)).final.tobytes()
