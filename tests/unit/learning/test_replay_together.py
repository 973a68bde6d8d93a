"""Cells that learn together: to the bit what the fold over each one's answers gives."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import AsyncGossip, FedAsync, ParameterServer, Setting
from asyncdp_sim.learning.fused import learn as fused_learn
from asyncdp_sim.learning.fused import numba_loop, numpy_loop
from asyncdp_sim.learning.fused import sweep as fused_sweep
from asyncdp_sim.learning.fused.learn import CellTask, fused, learn
from asyncdp_sim.learning.fused.sweep import replay_together
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import Trajectory, fold, replay
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
LOOPS = {"numpy": numpy_loop.LOOP, "compiled": numba_loop.LOOP}
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


def agree(several: Sequence[Trace], cells: Sequence[CellTask], loop: str) -> list[Trajectory]:
    expected = [fold(several, cell, scopes(len(several))) for cell in cells]
    found = list(learn(several, cells, lambda: scopes(len(several)), LOOPS[loop]))
    for ours, theirs in zip(found, expected, strict=True):
        same(ours, theirs)
    return expected


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


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_one_cell(hundred: list[Trace], options: dict[str, Any], loop: str) -> None:
    for count in (1, 2, 3, 33):
        agree(hundred[:count], [cell_task(**options)], loop)
    agree(hundred, [cell_task(noise=NoNoise(np.zeros(3)), **options)], loop)


def test_the_options_are_lively(hundred: list[Trace]) -> None:
    def found(**options: Any) -> Trajectory:
        return fold(hundred[:9], cell_task(**options), scopes(9))

    assert 0 < found(theta_max=0.5).clipped.sum() < found().updates.sum()
    assert not np.isfinite(found(rho=1e20, theta_max=None).final).any()
    boxed = found(rho=1e20, theta_max=1e300)
    assert np.isnan(boxed.final).any()
    assert boxed.clipped.sum() > 0


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("p", [1, 2, 3, 10, 33, 64])
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_any_noise_and_size(hundred: list[Trace], noise: Mechanism, p: int, loop: str) -> None:
    agree(hundred[:5], [cell_task(p, noise=noise)], loop)


CELLS = [
    cell_task(),
    cell_task(noise=LaplaceNoise(7 * SCALE)),
    cell_task(seed=5, record_every=3),
    cell_task(theta_max=0.5, rho=200.0),
    cell_task(theta_max=None, rho=1e20),
    cell_task(theta_max=1e300, rho=1e20, record_every=11),
    cell_task(selection="inverse-rate", initial="ones"),
]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("count", [1, 2, 3, 33, 100])
def test_several_cells(hundred: list[Trace], count: int, loop: str) -> None:
    """With other ε, records, boxes, steps and starts; a cell that diverges harms no other."""
    agree(hundred[:count], CELLS, loop)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    "limit",
    [{"numbers": 1}, {"numbers": 900}, {"rows": 1}, {"rows": 4}, {"rows": 20}, {"rows": 1000}],
    ids=str,
)
def test_no_size_of_a_block_changes_a_bit(
    hundred: list[Trace], limit: dict[str, int], loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOOPS, loop, replace(LOOPS[loop], **limit))
    agree(hundred[:9], CELLS, loop)


@pytest.mark.parametrize(("name", "value"), [("_LONGEST", 7), ("BYTES", 1)])
def test_no_bound_on_all_blocks_changes_a_bit(
    hundred: list[Trace], name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused_learn, name, value)
    for loop in LOOPS:
        agree(hundred[:9], CELLS, loop)


def test_random_problems(hundred: list[Trace]) -> None:
    """With matrices that are not symmetric: then the order of indices would show."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        count, p = int(rng.integers(1, 12)), int(rng.integers(1, 65))
        cells = []
        for _ in range(int(rng.integers(1, 4))):
            made = cell_task(
                p, theta_max=float(rng.choice([0.1, 2.0, 1e5])), rho=rng.uniform(1, 300)
            )
            objective = replace(quadratic(p), gram=rng.normal(size=(3, p, p)))
            cells.append(replace(made, reply=replace(made.reply, gradients=objective)))
        for loop in LOOPS:
            agree(hundred[:count], cells, loop)


def test_what_is_compiled_is_this_loop(hundred: list[Trace]) -> None:
    """The same source as plain Python gives what it gives compiled."""

    def plain(
        stack: numpy_loop.Stack, block: numpy_loop.Block, *, keep: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(numba_loop, "_compiled", lambda: numba_loop.advance_cell)
            return numba_loop.advance(stack, block, keep=keep)

    for cell in CELLS:
        (found,) = learn(
            hundred[:3], [cell], lambda: scopes(3), replace(numba_loop.LOOP, advance=plain)
        )
        same(found, fold(hundred[:3], cell, scopes(3)))


def test_replay_of_one_cell_is_the_fold(hundred: list[Trace]) -> None:
    for cell in CELLS:
        found = replay(hundred, cell.steps, cell.reply, scopes(100), cell.record_every)
        same(found, fold(hundred, cell, scopes(100)))


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
    for name, cell in others.items():
        assert fused(several, cell, "average") is None, name
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
        size = max(fused_learn.size_of(cell, (5, 40)) for cell in cells)
        monkeypatch.setattr(fused_sweep, "BYTES", held * size)
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


def test_records_are_told_how_many_gradients_are_to_come(hundred: list[Trace]) -> None:
    told = []

    class Told(LinearRecords):
        def expect(self, answers: int) -> None:
            told.append(answers)

        def gradient(self, owners: Any, points: Any) -> Any:
            told.append("asked")
            return super().gradient(owners, points)

    plain, linear = cell_task(), Told(*records(1, SIZES, 4))
    whole = replace(plain, reply=replace(plain.reply, gradients=linear))
    some = replace(plain, reply=replace(whole.reply, sample=Sample(linear, 3)))
    dict(replay_together(hundred[:2], [plain, whole, some, whole], lambda: scopes(2)))
    answers = sum(len(trace.updates) for trace in hundred[:2])
    assert told[:3] == [answers, answers, "asked"]


def test_answers_asked_of_the_central_model_are_folded(hundred: list[Trace]) -> None:
    ((_, found),) = replay_together(hundred[:2], [cell_task()], lambda: scopes(2), "central")
    same(found, fold(hundred[:2], cell_task(), scopes(2), "central"))
    assert found.final.tobytes() != fold(hundred[:2], cell_task(), scopes(2)).final.tobytes()


def test_an_acceptance_and_a_stale_answer_are_for_the_fold(hundred: list[Trace]) -> None:
    plain = cell_task()
    accepting = replace(plain, reply=replace(plain.reply, acceptance=object()))
    assert fused(hundred[:2], plain, "average") is not None
    assert fused(hundred[:2], accepting, "average") is None
    assert fused([], plain, "average") is None


def test_noise_is_drawn_once_for_all_cells_of_a_block(
    hundred: list[Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    class Counted(LaplaceNoise):
        def rows(self, generator: np.random.Generator, count: int, size: int) -> np.ndarray:
            drawn.append(count)
            return super().rows(generator, count, size)

    cells = [cell_task(noise=Counted(scale * SCALE)) for scale in (1.0, 2.0, 3.0)]
    horizon = max(trace.n_updates for trace in hundred[:5])
    list(replay_together(hundred[:5], cells, lambda: scopes(5)))
    assert sum(drawn) == 5 * horizon
    drawn.clear()
    monkeypatch.setattr(fused_learn, "BYTES", 1)
    list(replay_together(hundred[:5], cells, lambda: scopes(5)))
    assert sum(drawn) == 3 * 5 * horizon


def test_the_compiled_loop_is_for_large_work_where_numba_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numba_loop._compiled.cache_clear()
    assert not numba_loop.worthwhile(1000, 100)
    assert numba_loop.worthwhile(1000, 10_000)
    assert numba_loop.worthwhile(100_000, 1)
    numba_loop._compiled()
    assert numba_loop.worthwhile(1, 1)
    monkeypatch.setattr(numba_loop, "find_spec", lambda _: None)
    assert not numba_loop.worthwhile(1000, 10_000)


def test_where_nothing_can_be_kept_the_loop_is_compiled_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import numba

    asked = []

    def njit(_: Any, cache: bool = False) -> Any:
        asked.append(cache)
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", njit)
    assert numba_loop._compiled.__wrapped__() is numba_loop.advance_cell
    assert asked == [True, False]
