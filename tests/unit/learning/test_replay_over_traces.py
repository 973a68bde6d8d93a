"""Replay: bits do not depend on who else is in lockstep; what a path records."""

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AsyncGossip, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.recording import Trajectory
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.trace import Trace
from tests.one_in import one_in
from tests.unit.learning.problems import records, traces

SIZES = (40, 7, 23)
SCALE = np.array([0.01, 0.2, 0.0])


def path(
    several: list[Trace], p: int, *, clip: float | None = None, moments: bool = True,
    record_every: int = 1, theta_max: float | None = 3.0, first: int = 1,
) -> Trajectory:  # fmt: skip
    x, y = records(1, SIZES, p)
    quadratic = Quadratic.from_records(x, y, 0.3, theta_max)
    steps = AsyncGossip(rho=60.0, initial="uniform").steps(
        Setting(quadratic.weights, p, 40, 0.3, theta_max)
    )
    gradients = quadratic if moments else LinearRecords(x, y, clip)
    scopes = [Streams(2).within("replicate", first + r) for r in range(len(several))]
    return replay(several, steps, AnswerModel(gradients, LaplaceNoise(SCALE)), scopes, record_every)


@pytest.fixture(scope="module")
def hundred() -> list[Trace]:
    """100 replicates of 3 owners; they end at the horizon, after different numbers of updates."""
    found = traces(100, 3, 40, until=14.0)
    assert len({len(trace.updates) for trace in found}) > 10
    return found


@one_in(2, "p", [1, 2, 10, 50, 65, 200])
def test_bits_do_not_depend_on_the_number_of_replicates_with_moments(
    hundred: list[Trace], p: int
) -> None:
    _compare(hundred, p, moments=True, clip=None)


@one_in(2, "clip", [None, 5.0])
@pytest.mark.parametrize("p", [1, 10, 50])
def test_bits_do_not_depend_on_the_number_of_replicates_with_records(
    hundred: list[Trace], p: int, clip: float | None
) -> None:
    _compare(hundred, p, moments=False, clip=clip)


def _compare(hundred: list[Trace], p: int, *, moments: bool, clip: float | None) -> None:
    everyone = path(hundred, p, moments=moments, clip=clip)
    for count in (1, 2, 3, 33):
        few = path(hundred[:count], p, moments=moments, clip=clip)
        assert np.array_equal(few.final, everyone.final[:count])
        assert np.array_equal(few.clipped, everyone.clipped[:count])
        for r in range(count):
            assert np.array_equal(few.models(r), everyone.models(r))
    last = path(hundred[99:], p, moments=moments, clip=clip, first=100)
    assert np.array_equal(last.final[0], everyone.final[99])


def test_replay_equals_a_loop_over_one_trace(hundred: list[Trace]) -> None:
    """A slow twin: one replicate, one update at a time, noise of update k = row k."""
    x, y = records(1, SIZES, 4)
    trace = hundred[6]
    quadratic = Quadratic.from_records(x, y, 0.3, 3.0)
    steps = AsyncGossip(rho=60.0, initial="uniform").steps(
        Setting(quadratic.weights, 4, 40, 0.3, 3.0)
    )
    state = steps.init([Streams(2).within("replicate", 7)])
    rows = Streams(2).generator("replicate", 7, "noise").laplace(size=(len(trace.updates), 4))
    models = [state.central[0].copy()]
    for row, owner in zip(rows, trace.updates["owner"], strict=True):
        index = np.array([owner - 1])
        points = steps.query(state, AnswerBatch(index))
        answer = quadratic.gradient(index, points) + row * SCALE[owner - 1]
        steps.apply(state, AnswerBatch(index), points, answer)
        models.append(state.central[0].copy())
    found = path(hundred, 4)
    assert np.array_equal(found.models(6), np.array(models))
    assert found.clipped[6] == state.clipped[0]


def test_noise_does_not_depend_on_the_block_that_it_is_drawn_in(
    hundred: list[Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = path(hundred[:3], 5)
    for block in (1, 3, 7):
        monkeypatch.setattr("asyncdp_sim.learning.answers._BLOCK", block)
        assert np.array_equal(path(hundred[:3], 5).final, whole.final)


@pytest.mark.parametrize("record_every", [1, 2, 7, 40, 1000])
def test_a_path_records_the_start_the_multiples_and_the_end(
    hundred: list[Trace], record_every: int
) -> None:
    full = path(hundred[:9], 3)
    found = path(hundred[:9], 3, record_every=record_every)
    for r, trace in enumerate(hundred[:9]):
        last = len(trace.updates)
        ks = sorted({*range(0, last + 1, record_every), last})
        assert found.ks(r).tolist() == ks
        assert np.array_equal(found.models(r), full.models(r)[ks])
        assert np.array_equal(found.final[r], full.models(r)[-1])


def test_rows_past_the_end_of_a_replicate_repeat_its_last_model(hundred: list[Trace]) -> None:
    found = path(hundred[:9], 3)
    for r, trace in enumerate(hundred[:9]):
        past = found.central[len(trace.updates) :, r]
        assert np.array_equal(past, np.broadcast_to(found.final[r], past.shape))


def test_a_replicate_without_updates_stays_at_its_start(hundred: list[Trace]) -> None:
    none = traces(1, 3, 40, until=1e-9)
    assert len(none[0].updates) == 0
    alone, together = path(none, 3), path([*none, hundred[1]], 3)
    for found in (alone, together):
        assert found.ks(0).tolist() == [0]
        assert np.array_equal(found.models(0), found.central[:1, 0])
        assert np.array_equal(found.final[0], found.central[0, 0])
        assert found.clipped[0] == 0


def test_a_run_that_diverges_says_so_without_a_warning() -> None:
    several = traces(2, 3, 400)
    x, y = records(1, SIZES, 3)
    quadratic = Quadratic.from_records(x, y, 0.3, None)
    steps = AsyncGossip(rho=1e12).steps(Setting(quadratic.weights, 3, 40, 0.3, None))
    scopes = [Streams(2).within("replicate", r) for r in (1, 2)]
    found = replay(several, steps, AnswerModel(quadratic, LaplaceNoise(SCALE)), scopes, 1)
    assert not np.isfinite(found.final).any()
