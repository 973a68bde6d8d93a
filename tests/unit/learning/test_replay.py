"""Replay: the same bits for one run or many, for one cell or many, live or not."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AsyncGossip, FedAsync, Setting
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.live import Target
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.objectives.records import GradientMonitor
from asyncdp_sim.learning.recording import Trajectory
from asyncdp_sim.learning.replay import CellTask, alike, fold, replay, replay_together
from asyncdp_sim.privacy import mechanisms
from asyncdp_sim.privacy.budgets import BudgetSchedule
from asyncdp_sim.privacy.mechanisms import DiscreteLaplaceNoise, LaplaceNoise
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import reproduce, run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sweeps.grid import grid
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.trace import Ending, Trace
from tests.one_in import one_in
from tests.tables import table
from tests.unit.learning.problems import live_is_replay, records, same_path, scopes, traces

# Live is the definition; replay gives the same, bit for bit, in whole runs of every sort.

CASES = table(__file__, "live_is_replay.toml")
BASE = CASES.pop("base")


def scenario(case: str, **parts: Any) -> Scenario:
    raw = {**BASE, **CASES[case], **parts}
    del raw["stale"]
    return parse(Scenario, raw)


def learned(case: str, **parts: Any) -> RunResult:
    return run(scenario(case, **parts))


@one_in(3, "case", CASES)
def test_live_equals_replay(case):
    replayed = live_is_replay(scenario(case))
    assert max(trace.n_updates for trace in replayed.traces) >= 2
    stale = max(int(trace.updates["staleness"].max()) for trace in replayed.traces)
    assert (stale > 0) is CASES[case]["stale"]


DIVERGING = {
    "model": {"kind": "ridge", "regularisation": 0.1},
    "algorithm": {"kind": "async-gossip", "step": 1e150},
    "privacy": {"epsilon": 5.0, "sensitivity": {"kind": "declared", "bound": 3.0}},
}
PAIRS = {
    "protocol": {"kind": "gossip", "graph": {"kind": "ring"}},
    "algorithm": {"kind": "gossip-graph", "step": 1e150},
}


@pytest.mark.parametrize(
    ("case", "parts"), [("broadcast, all copies", {}), ("request", {"latency": {}} | PAIRS)]
)
@pytest.mark.parametrize("learning", ["live", "replay"])
def test_models_that_diverge_are_infinite_without_a_warning(case, parts, learning):
    diverging = scenario(case, **(DIVERGING | parts)).replace(run={"learning": learning})
    assert not np.isfinite(run(diverging).learned.models).any()


@pytest.mark.long
def test_some_models_were_projected_and_some_runs_cut_short():
    outcomes = [learned(case) for case in CASES]
    assert sum(int(outcome.learned.clipped.sum()) for outcome in outcomes) > 0
    short = [t.n_updates < o.scenario.run.updates for o in outcomes for t in o.traces]
    assert {*short} == {True, False}


def test_where_the_step_is_taken_from_matters():
    read = {"algorithm": BASE["algorithm"] | {"apply_at": "as-read"}}
    here, there = learned("push").fingerprints, learned("push", **read).fingerprints
    assert here["order"] == there["order"]
    assert here["models"] != there["models"]


# Replay: bits do not depend on who else is in lockstep; what a path records.

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
    scopes = [Streams(1).within("replicate", first + r) for r in range(len(several))]
    return replay(several, steps, AnswerModel(gradients, LaplaceNoise(SCALE)), scopes, record_every)


@pytest.fixture(scope="module")
def hundred() -> list[Trace]:
    """100 replicates of 3 owners; they end at the horizon, after different numbers of updates."""
    found = traces(100, 3, 40, until=14.0)
    assert len({len(trace.updates) for trace in found}) > 10
    return found


WAYS = [(p, True, None) for p in (1, 2, 10, 50, 65, 200)]
WAYS += [(p, False, clip) for p in (1, 10, 50) for clip in (None, 5.0)]


@one_in(2, ("p", "moments", "clip"), WAYS)
def test_bits_do_not_depend_on_the_number_of_replicates(hundred, p, moments, clip):
    everyone = path(hundred, p, moments=moments, clip=clip)
    for count in (1, 2, 3, 33):
        few = path(hundred[:count], p, moments=moments, clip=clip)
        assert np.array_equal(few.final, everyone.final[:count])
        assert np.array_equal(few.clipped, everyone.clipped[:count])
        for r in range(count):
            assert np.array_equal(few.models(r), everyone.models(r))
    last = path(hundred[99:], p, moments=moments, clip=clip, first=100)
    assert np.array_equal(last.final[0], everyone.final[99])


def test_replay_equals_a_loop_over_one_trace(hundred):
    """A slow twin: one replicate, one update at a time, noise of update k = row k."""
    x, y = records(1, SIZES, 4)
    trace = hundred[6]
    quadratic = Quadratic.from_records(x, y, 0.3, 3.0)
    steps = AsyncGossip(rho=60.0, initial="uniform").steps(
        Setting(quadratic.weights, 4, 40, 0.3, 3.0)
    )
    state = steps.init([Streams(1).within("replicate", 7)])
    rows = Streams(1).generator("replicate", 7, "noise").laplace(size=(len(trace.updates), 4))
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


def test_noise_does_not_depend_on_the_block_that_it_is_drawn_in(hundred, monkeypatch):
    whole = path(hundred[:3], 5)
    for block in (1, 3, 7):
        monkeypatch.setattr("asyncdp_sim.learning.answers._BLOCK", block)
        assert np.array_equal(path(hundred[:3], 5).final, whole.final)


@pytest.mark.parametrize("record_every", [1, 2, 7, 40, 1000])
def test_a_path_records_the_start_the_multiples_and_the_end(hundred, record_every):
    full = path(hundred[:9], 3)
    found = path(hundred[:9], 3, record_every=record_every)
    for r, trace in enumerate(hundred[:9]):
        last = len(trace.updates)
        ks = sorted({*range(0, last + 1, record_every), last})
        assert found.ks(r).tolist() == ks
        assert np.array_equal(found.models(r), full.models(r)[ks])
        assert np.array_equal(found.final[r], full.models(r)[-1])


def test_rows_past_the_end_of_a_replicate_repeat_its_last_model(hundred):
    found = path(hundred[:9], 3)
    for r, trace in enumerate(hundred[:9]):
        past = found.central[len(trace.updates) :, r]
        assert np.array_equal(past, np.broadcast_to(found.final[r], past.shape))


def test_a_replicate_without_updates_stays_at_its_start(hundred):
    none = traces(1, 3, 40, until=1e-9)
    assert len(none[0].updates) == 0
    alone, together = path(none, 3), path([*none, hundred[1]], 3)
    for found in (alone, together):
        assert found.ks(0).tolist() == [0]
        assert np.array_equal(found.models(0), found.central[:1, 0])
        assert np.array_equal(found.final[0], found.central[0, 0])
        assert found.clipped[0] == 0


# Cells that learn together, whatever their replies are: to the bit what each gives alone.


SHARES = np.array([0.5, 0.2, 0.3])
RECORDS, *OTHERS = (LinearRecords(*records(seed, SIZES, 4), clip=2.0) for seed in (1, 2, 3, 4))
ALLOTMENT = BudgetSchedule.from_weights([np.arange(1.0, 41.0)] * 3)


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
    "a Gaussian": lambda n: cell_task(noise=mechanisms.GaussianNoise((n + 1) * SCALE)),
    "a grid": lambda n: cell_task(noise=DiscreteLaplaceNoise(SCALE, np.full(3, 2.0 ** -(9 + n)))),
    "silence": lambda n: cell_task(noise=mechanisms.NoNoise(np.zeros(3)), rho=60.0 + n),
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
def test_two_cells(hundred, cell):
    cells = [cell(0), cell(1)]
    assert alike(cells[0]) == alike(cells[1]) is not None
    for count in (1, 2, 33):
        held_to_each_alone(hundred[:count], cells)
    assert not np.array_equal(*(alone(hundred[:3], each).final for each in cells))


def test_cells_of_all_kinds_at_once(hundred):
    """Each learns with its like; those with no like learn alone."""
    cells = [cell(n) for cell in PAIRS.values() for n in (0, 1)]
    cells += [cell_task(3), cell_task(65), cell_task(record_every=7), cell_task(initial="ones")]
    setting = Setting(cells[0].steps.step / 20, 4, 40, 0.3, 3.0)
    cells.append(replace(cells[0], steps=FedAsync(step=0.1, mixing=0.9).steps(setting)))
    assert len({alike(cell) for cell in cells}) > len(PAIRS) - 4
    held_to_each_alone(hundred[:4], cells)


def test_an_algorithm_that_is_no_dataclass_learns_alone(hundred):
    class Wrapper:
        def __init__(self, steps: Any) -> None:
            self._steps = steps

        def __getattr__(self, name: str) -> Any:
            return getattr(self._steps, name)

    cells = [replace(cell_task(rho=rho), steps=Wrapper(cell_task().steps)) for rho in (60.0, 61.0)]
    assert [alike(cell) for cell in cells] == [None, None]
    held_to_each_alone(hundred[:3], cells)


def test_each_watch_is_shown_its_own_cells_queries(hundred):
    plain = LinearRecords(*records(1, SIZES, 4))
    cells = [cell_task(rho=rho) for rho in (60.0, 70.0, 80.0)]
    watches = [GradientMonitor(plain), None, GradientMonitor(plain)]
    some = [replace(c, watch=w) for c, w in zip(cells, watches, strict=True)]
    dict(replay_together(hundred[:5], some, lambda: scopes(5)))
    met = []
    for cell, watch in zip(cells, watches, strict=True):
        seen = GradientMonitor(plain)
        alone(hundred[:5], replace(cell, watch=seen))
        met.append(seen.observed().largest.tolist())
        assert watch is None or watch.observed().largest.tolist() == met[-1]
    assert met[0] != met[2]


def counted(monkeypatch: pytest.MonkeyPatch, kind: type[Any], method: str, place: int) -> list[Any]:
    """Return a list that grows by an argument of every call of a method."""
    seen, kept = [], getattr(kind, method)

    def noted(self: Any, *given: Any) -> Any:
        seen.append(given[place])
        return kept(self, *given)

    monkeypatch.setattr(kind, method, noted)
    return seen


@pytest.mark.parametrize("which", ["clipped records", "clipped records of others"])
def test_gradients_are_asked_once_for_all_cells(hundred, monkeypatch, which):
    asked = counted(monkeypatch, LinearRecords, "gradient", 0)
    cells = [PAIRS[which](n) for n in range(3)]
    dict(replay_together(hundred[:9], cells, lambda: scopes(9)))
    assert [len(owners) for owners in asked] == [3 * 9] * max(t.n_updates for t in hundred[:9])


def test_noise_is_drawn_once_for_all_cells_that_memory_holds(hundred, monkeypatch):
    drawn = counted(monkeypatch, LaplaceNoise, "rows", 1)
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


# Runs that end at a target.

CENTRAL = {"algorithm": {"kind": "fedasync", "step": 0.5, "mixing": 0.3}}
SCENES = table(__file__, "scenes.toml")
TIMED, TARGETS = SCENES["timing"], SCENES["ways"]["target"]
TIMINGS = SCENES["ways"]["timing"]


def aiming(*, run: dict[str, Any] | None = None, **parts: Any) -> Scenario:
    return parse(Scenario, {**TIMED, "run": TIMED["run"] | (run or {}), **parts})


def aimed(**parts: Any) -> RunResult:
    return run(aiming(**parts), events=True)


def replayed(outcome: RunResult) -> np.ndarray:
    """The final models of learning over the recorded traces."""
    task, streams = outcome.problem.task, Streams(outcome.scenario.run.seed)
    scopes = [streams.within("replicate", number) for number in outcome.numbers]
    return replay(outcome.traces, task.steps, task.reply, scopes, 1, task.asks).final


@one_in(3, "parts", TIMINGS.values(), ids=TIMINGS)
def test_live_is_the_replay_of_its_trace(parts):
    ended = aimed(**parts, run={"target": 0.5})
    assert {trace.ending for trace in ended.traces} == {Ending.target}
    assert np.array_equal(replayed(ended), ended.learned.models)


@one_in(4, "parts", TIMINGS.values(), ids=TIMINGS)
def test_a_target_that_is_not_reached_changes_nothing(parts):
    never = {"target": 1e-300}
    plain = aimed(**parts)
    assert aimed(**parts, run=never).fingerprints == plain.fingerprints
    assert aimed(**parts, run={"learning": "replay"}).fingerprints == plain.fingerprints


def test_good_enough_is_enough():
    """f = ‖θ − y‖²/2 over unit rows, with y = (0, 2) and a third row that nothing explains."""
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 2.0, 1.0])
    quadratic = Quadratic.from_records([x], [y], 0.0, None)
    # f(θ) = (θ_1² + (θ_2 − 2)² + 1)/3: least 1/3, and ψ = θ_1² + (θ_2 − 2)².
    for model, psi in (([0.0, 2.0], 0.0), ([0.3, 2.4], 0.25), ([1.0, 0.0], 5.0)):
        for target in (0.2, 0.25 + 1e-12, 5.0 + 1e-9):
            assert Target(quadratic, target).met(np.array([model])) == (psi < target)
    assert not Target(quadratic, 1.0).met(np.array([[np.nan, 0.0]]))


@pytest.mark.parametrize("parts", TARGETS.values(), ids=TARGETS)
def test_a_run_ends_with_the_first_update_that_reaches_the_target(parts):
    whole = aimed(**parts)
    goal = float(np.quantile(whole.learned.curve["relative_fitness"], 0.3))
    outcome = aimed(**parts, run={"target": goal})
    assert all(trace.ending is Ending.target for trace in outcome.traces)
    for number, trace in zip(outcome.numbers, outcome.traces, strict=True):
        curve = outcome.learned.curve[outcome.learned.curve["replicate"] == number]
        psi = curve["relative_fitness"]
        assert psi[-1] <= goal
        assert np.all(psi[1:-1] > goal)
        assert trace.end_tick == trace.update_ticks[-1] == curve["tick"][-1]
        before = whole.learned.curve[whole.learned.curve["replicate"] == number]
        assert curve.tolist() == before[: len(curve)].tolist()
        assert len(curve) < len(before)
    rare = aimed(**parts, run={"target": goal, "record_every": 7})
    assert [t.n_updates for t in rare.traces] == [t.n_updates for t in outcome.traces]


def test_update_t_that_reaches_the_target_has_reached_it():
    """With as many updates allowed as it takes; fedasync steps alike for every T."""
    asked = {"protocol": {"kind": "push"}, **CENTRAL}
    goal = {"target": 0.5, "replicates": 1}
    k = aimed(**asked, run=goal).traces[0].n_updates
    assert 1 < k < 40
    [trace] = aimed(**asked, run=goal | {"updates": k}).traces
    assert (trace.ending, trace.n_updates) == (Ending.target, k)
    [trace] = aimed(**asked, run=goal | {"updates": k - 1}).traces
    assert (trace.ending, trace.n_updates) == (Ending.updates, k - 1)


def test_a_target_that_was_reached_is_not_a_fault():
    reached = aimed(run={"target": 0.5})
    updates = [trace.n_updates for trace in reached.traces]
    said = f"3 of 3 replicates reached run.target, after {min(updates)} to {max(updates)} updates"
    assert said in reached.warnings
    assert not any("ended" in each for each in reached.warnings)
    missed = aimed(run={"target": 1e-9})
    assert "3 of 3 replicates ended without reaching run.target" in missed.warnings
    assert not any(" ended after " in each for each in missed.warnings)
    short = aimed(run={"target": 1e-9, "until": 5.0})
    assert any(" of T = 40 updates" in each for each in short.warnings)


def test_the_result_directory(tmp_path):
    outcome = aimed(run={"target": 0.3})
    write(outcome, tmp_path / "r")
    owners = pq.read_table(tmp_path / "r" / "owners.parquet").to_pydict()
    for spent, released in zip(owners["epsilon_spent"], owners["answers_released"], strict=True):
        assert spent == pytest.approx(500 * released / 40)
    assert any(
        line.split() == ["timing", "NOT", "accounted"] for line in result_lines(tmp_path / "r")
    )
    assert reproduce(tmp_path / "r", workers=1).fingerprints == outcome.fingerprints


def test_cells_share_no_traces(tmp_path):
    """Other noise makes other models and thereby other traces, though the network is the same."""
    swept = {"privacy.epsilon": [20.0, 500.0]}
    asked = aiming(run={"target": 0.3}, sweep=swept)
    sweep(asked, tmp_path / "s", workers=1)
    cells = grid(asked)
    names = {cell.network for cell in cells}
    assert len(names) == 2
    assert {path.name for path in (tmp_path / "s" / "traces").iterdir()} == names
    for cell in cells:
        alone = run(cell.scenario)
        manifest = json.loads((tmp_path / "s" / cell.name / "manifest.json").read_text())
        assert manifest["fingerprints"] == alone.fingerprints
        assert manifest["network"] == cell.network
        write(alone, tmp_path / cell.name)
        shared = tmp_path / "s" / "traces" / cell.network / "updates.parquet"
        assert shared.read_bytes() == (tmp_path / cell.name / "updates.parquet").read_bytes()
    assert len({cell.network for cell in grid(aiming(sweep=swept))}) == 1


def test_what_a_worker_is_sent_arrives():
    asked = aiming(run={"target": 0.1})
    task = prepare(asked, build_dataset(asked)).task
    assert pickle.loads(pickle.dumps(task)).target.psi == 0.1
