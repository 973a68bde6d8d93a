"""Runs that end at a target."""

import json
import pickle
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.live import Target
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.runs.directory import write
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.problem import Task, build_dataset, prepare
from asyncdp_sim.runs.run import reproduce, run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sweeps.grid import grid
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.trace import Ending
from tests.one_in import one_in
from tests.tables import table

Parts = dict[str, Any]

CENTRAL = {"algorithm": {"kind": "fedasync", "step": 0.5, "mixing": 0.3}}
SCENES = table(__file__, "scenes.toml")
BASE, WAYS, TARGETS = SCENES["timing"], SCENES["ways"]["timing"], SCENES["ways"]["target"]


def scenario(*, run: Parts | None = None, **parts: Any) -> Scenario:
    return parse(Scenario, {**BASE, "run": BASE["run"] | (run or {}), **parts})


def learned(**parts: Any) -> RunResult:
    return run(scenario(**parts), events=True)


def prepared(asked: Scenario) -> Task:
    return prepare(asked, build_dataset(asked)).task


def replayed(outcome: RunResult) -> np.ndarray:
    """The final models of learning over the recorded traces."""
    task, streams = outcome.problem.task, Streams(outcome.scenario.run.seed)
    scopes = [streams.within("replicate", number) for number in outcome.numbers]
    return replay(outcome.traces, task.steps, task.reply, scopes, 1, task.asks).final


@one_in(3, "parts", WAYS.values(), ids=WAYS)
def test_live_is_the_replay_of_its_trace(parts):
    ended = learned(**parts, run={"target": 0.5})
    assert {trace.ending for trace in ended.traces} == {Ending.target}
    assert np.array_equal(replayed(ended), ended.learned.models)


@one_in(4, "parts", WAYS.values(), ids=WAYS)
def test_a_target_that_is_not_reached_changes_nothing(parts):
    never = {"target": 1e-300}
    plain = learned(**parts)
    assert learned(**parts, run=never).fingerprints == plain.fingerprints
    assert learned(**parts, run={"learning": "replay"}).fingerprints == plain.fingerprints


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
    whole = learned(**parts)
    goal = float(np.quantile(whole.learned.curve["relative_fitness"], 0.3))
    outcome = learned(**parts, run={"target": goal})
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
    rare = learned(**parts, run={"target": goal, "record_every": 7})
    assert [t.n_updates for t in rare.traces] == [t.n_updates for t in outcome.traces]


def test_update_t_that_reaches_the_target_has_reached_it():
    """With as many updates allowed as it takes; fedasync steps alike for every T."""
    asked = {"protocol": {"kind": "push"}, **CENTRAL}
    goal = {"target": 0.5, "replicates": 1}
    k = learned(**asked, run=goal).traces[0].n_updates
    assert 1 < k < 40
    [trace] = learned(**asked, run=goal | {"updates": k}).traces
    assert (trace.ending, trace.n_updates) == (Ending.target, k)
    [trace] = learned(**asked, run=goal | {"updates": k - 1}).traces
    assert (trace.ending, trace.n_updates) == (Ending.updates, k - 1)


def test_a_target_that_was_reached_is_not_a_fault():
    reached = learned(run={"target": 0.5})
    updates = [trace.n_updates for trace in reached.traces]
    said = f"3 of 3 replicates reached run.target, after {min(updates)} to {max(updates)} updates"
    assert said in reached.warnings
    assert not any("ended" in each for each in reached.warnings)
    missed = learned(run={"target": 1e-9})
    assert "3 of 3 replicates ended without reaching run.target" in missed.warnings
    assert not any(" ended after " in each for each in missed.warnings)
    short = learned(run={"target": 1e-9, "until": 5.0})
    assert any(" of T = 40 updates" in each for each in short.warnings)


def test_the_result_directory(tmp_path):
    outcome = learned(run={"target": 0.3})
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
    asked = scenario(run={"target": 0.3}, sweep=swept)
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
    assert len({cell.network for cell in grid(scenario(sweep=swept))}) == 1


def test_what_a_worker_is_sent_arrives():
    task = prepared(scenario(run={"target": 0.1}))
    assert pickle.loads(pickle.dumps(task)).target.psi == 0.1
