"""Runs that end at a target, and owners that answer only where their gradients are large."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.describe import describe
from asyncdp_sim.learning.algorithms import AsyncGossip, FedBuff, NoisyStatistics, Setting
from asyncdp_sim.learning.live import LargeGradient, LiveLearning, Target
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.learning.reply import AnswerModel
from asyncdp_sim.network import Network, learner, simulate
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.privacy.mechanisms import NoNoise
from asyncdp_sim.results.summary import result_lines
from asyncdp_sim.runs import RunResult, reproduce, run, write
from asyncdp_sim.runs.problem import Task, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse
from asyncdp_sim.sweeps import sweep
from asyncdp_sim.sweeps.batch import grid
from asyncdp_sim.trace import Ending, ExchangeOutcome
from tests.one_in import one_in
from tests.tables import table
from tests.unit.learning.problems import records

Parts = dict[str, Any]

CENTRAL = {"algorithm": {"kind": "fedasync", "step": 0.5, "mixing": 0.3}}
BUFFERED = {"algorithm": {"kind": "fedbuff", "step": 0.5, "server_step": 0.3, "buffer": 2}}
SCENES = table(__file__, "scenes.toml")
BASE, WAYS, TARGETS = SCENES["timing"], SCENES["ways"]["timing"], SCENES["ways"]["target"]
EACH = pytest.mark.parametrize("parts", WAYS.values(), ids=WAYS)
TRIGGER = {"trigger": {"kind": "large-gradient", "threshold": 1.0}}


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
    path = replay(outcome.traces, task.steps, task.reply, scopes, 1, task.asks)
    return path.final


@pytest.mark.oracle("learning in which owners send only large gradients")
@one_in(3, "parts", WAYS.values(), ids=WAYS)
def test_live_is_the_replay_of_its_trace(parts: Parts) -> None:
    outcome = learned(**parts, **TRIGGER)
    withheld = sum(int(trace.ended(ExchangeOutcome.withheld).sum()) for trace in outcome.traces)
    assert withheld > 3
    assert np.array_equal(replayed(outcome), outcome.learned.models)
    ended = learned(**parts, run={"target": 0.5})
    assert {trace.ending for trace in ended.traces} == {Ending.target}
    assert np.array_equal(replayed(ended), ended.learned.models)


@one_in(4, "parts", WAYS.values(), ids=WAYS)
def test_a_threshold_that_nothing_falls_below_changes_nothing(parts: Parts) -> None:
    low = {"kind": "large-gradient", "threshold": 1e-300}
    never = {"target": 1e-300}
    plain = learned(**parts)
    assert learned(**parts, trigger=low).fingerprints == plain.fingerprints
    assert learned(**parts, run=never).fingerprints == plain.fingerprints
    assert learned(**parts, run={"learning": "replay"}).fingerprints == plain.fingerprints


class Noted(LiveLearning):
    """Notes the length of every gradient that was ready, worked out record by record."""

    def __init__(self, data: tuple[list[np.ndarray], list[np.ndarray]], *how: Any) -> None:
        super().__init__(*how, trigger=LargeGradient(threshold=4.0))
        self.data = data
        self.lengths: dict[int, float] = {}

    def withholds(self, owner: int, message: int) -> bool:
        x, y = (each[owner - 1] for each in self.data)
        theta = self._asked[message][0][0]
        rows = [2 * row * (row @ theta - target) for row, target in zip(x, y, strict=True)]
        self.lengths[message] = float(np.sqrt((np.mean(rows, axis=0) ** 2).sum()))
        return super().withholds(owner, message)


def scope() -> Scope:
    return Streams(5).within("replicate", 1)


def test_an_owner_answers_where_its_own_gradient_is_long_enough() -> None:
    """Noise and lies have no say in it: what counts is the mean gradient over the records."""
    data = records(1, (7, 23, 11), 3)
    quadratic = Quadratic.from_records(*data, 0.3, 3.0)
    steps = AsyncGossip(rho=40.0, initial="ones").steps(Setting(quadratic.weights, 3, 30, 0.3, 3.0))
    reply = AnswerModel(quadratic, NoNoise(np.zeros(3)), factors=np.array([1.0, -1.0, 0.0]))
    live = Noted(data, steps, reply, scope(), 1)
    network = Network(
        answers_allowed=(30,) * 3, updates=30, protocol=Push(), withholds=True, until=60.0
    )
    trace = simulate(network, scope(), learning=live)
    rows = trace.exchanges[
        np.isin(trace.exchanges["outcome"], (ExchangeOutcome.withheld, ExchangeOutcome.applied))
    ]
    kept = rows["outcome"] == ExchangeOutcome.withheld
    long = np.array([live.lengths[message] for message in rows["message"].tolist()])
    assert np.array_equal(kept, long < 4.0)
    assert kept.any()
    assert (~kept).any()


def test_long_enough_is_enough() -> None:
    """At ‖∇f‖ = threshold an owner answers; what is not a number is sent."""
    quadratic = Quadratic.from_records([np.eye(2)], [np.array([-3.0, -4.0])], 0.0, None)
    steps = AsyncGossip(rho=1.0).steps(Setting(quadratic.weights, 2, 30, 0.1, None))
    reply = AnswerModel(quadratic, NoNoise(np.zeros(1)))
    for threshold, withheld in ((5.0, False), (np.nextafter(5.0, 6.0), True)):
        live = LiveLearning(steps, reply, scope(), 1, trigger=LargeGradient(threshold=threshold))
        live.read(1, 7)
        assert live.withholds(1, 7) is withheld  # ∇f(0) = −(2/2) Xᵀy = (3, 4)
        live._asked[7] = np.array([[np.nan, 0.0]]), 0
        assert live.withholds(1, 7) is False
    assert LiveLearning(steps, reply, scope(), 1).withholds(1, 7) is False


def test_good_enough_is_enough() -> None:
    """f = ‖θ − y‖²/2 over unit rows, with y = (0, 2) and a third row that nothing explains."""
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 2.0, 1.0])
    quadratic = Quadratic.from_records([x], [y], 0.0, None)
    # f(θ) = (θ_1² + (θ_2 − 2)² + 1)/3: least 1/3, and ψ = θ_1² + (θ_2 − 2)².
    for model, psi in (([0.0, 2.0], 0.0), ([0.3, 2.4], 0.25), ([1.0, 0.0], 5.0)):
        for target in (0.2, 0.25 + 1e-12, 5.0 + 1e-9):
            assert Target(quadratic, target).met(np.array([model])) == (psi < target)
    assert not Target(quadratic, 1.0).met(np.array([[np.nan, 0.0]]))


@pytest.mark.parametrize("parts", TARGETS.values(), ids=TARGETS)
def test_a_run_ends_with_the_first_update_that_reaches_the_target(parts: Parts) -> None:
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


def test_update_t_that_reaches_the_target_has_reached_it() -> None:
    """With as many updates allowed as it takes; fedasync steps alike for every T."""
    asked: Parts = {"protocol": {"kind": "push"}, **CENTRAL}
    goal: Parts = {"target": 0.5, "replicates": 1}
    k = learned(**asked, run=goal).traces[0].n_updates
    assert 1 < k < 40
    [trace] = learned(**asked, run=goal | {"updates": k}).traces
    assert (trace.ending, trace.n_updates) == (Ending.target, k)
    [trace] = learned(**asked, run=goal | {"updates": k - 1}).traces
    assert (trace.ending, trace.n_updates) == (Ending.updates, k - 1)


def test_it_is_said_that_timing_is_not_paid_for() -> None:
    plain, told = learned(run={"until": 10.0}), learned(**TRIGGER, run={"target": 0.3})
    assert (plain.summary["timing_accounted"], told.summary["timing_accounted"]) == (True, False)
    assert (plain.summary["private"], told.summary["private"]) == (True, False)
    assert (plain.summary["epsilon_true"], told.summary["epsilon_true"]) == (500.0, np.inf)
    assert not any("timing" in said for said in plain.warnings)
    assert (
        "not private: timing not accounted: a run ends when ψ, computed from private "
        "records, reaches run.target and owners' exact gradients decide whether they answer "
        "([trigger]); no budget is charged for it"
    ) in told.warnings
    lines = describe(told.scenario)
    assert (
        "run: 3 replicates of T = 40 updates or until 200 time units or down to ψ = 0.3, seed 1"
        in lines
    )
    assert "trigger: owners withhold answers whose gradients are shorter than 1 (L2)" in lines
    untimed = "not private, no finite ε: timing not accounted: a run ends when ψ"
    assert sum(line.startswith(untimed) for line in lines) == 1
    assert not any("this holds for" in line for line in lines)  # there is nothing to add up
    only = learned(**TRIGGER).warnings
    assert not any("run.target" in said for said in only)


def test_a_target_that_was_reached_is_not_a_fault() -> None:
    reached = learned(run={"target": 0.5})
    updates = [trace.n_updates for trace in reached.traces]
    said = f"3 of 3 replicates reached run.target, after {min(updates)} to {max(updates)} updates"
    assert said in reached.warnings
    assert not any("ended" in each for each in reached.warnings)
    missed = learned(run={"target": 1e-9})
    assert "3 of 3 replicates ended without reaching run.target" in missed.warnings
    assert not any("ended before" in each for each in missed.warnings)
    short = learned(run={"target": 1e-9, "until": 5.0})
    assert any("ended before T = 40 updates" in each for each in short.warnings)


def test_owners_that_are_all_content_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "ATTEMPTS", 300)
    monkeypatch.setattr(learner, "_BETWEEN", 20)
    far = {"trigger": {"kind": "large-gradient", "threshold": 1e9}}
    outcome = learned(**far, run={"until": 1e6})
    assert {trace.ending for trace in outcome.traces} == {Ending.stalled}
    assert not outcome.learned.models.any() or outcome.summary["updates"] == 0
    count = sum(int(trace.ended(ExchangeOutcome.withheld).sum()) for trace in outcome.traces)
    assert (
        "3 of 3 replicates ended before T = 40 updates (0 to 0): owners kept trying and no answer "
        f"was released for too long ({count} answers were withheld)"
    ) in outcome.warnings
    assert outcome.summary["max_spent_ratio"] == 0


def test_the_result_directory(tmp_path: Path) -> None:
    outcome = learned(**TRIGGER)
    write(outcome, tmp_path / "r")
    owners = pq.read_table(tmp_path / "r" / "owners.parquet").to_pydict()
    assert owners["withheld"] == [
        n for t in outcome.traces for n in t.ended(ExchangeOutcome.withheld)
    ]
    for spent, released in zip(owners["epsilon_spent"], owners["answers_released"], strict=True):
        assert spent == pytest.approx(500 * released / 40)
    assert any(
        line.split() == ["timing", "NOT", "accounted"] for line in result_lines(tmp_path / "r")
    )
    assert reproduce(tmp_path / "r", workers=1).fingerprints == outcome.fingerprints
    write(learned(), tmp_path / "plain")
    assert "withheld" not in pq.read_table(tmp_path / "plain" / "owners.parquet").column_names


@one_in(2, "parts", [{"run": {"target": 0.3}}, TRIGGER], ids=["target", "trigger"])
def test_cells_share_no_traces(parts: Parts, tmp_path: Path) -> None:
    """Other noise makes other models and thereby other traces, though the network is the same."""
    swept = {"privacy.epsilon": [20.0, 500.0]}
    sweep(scenario(**parts, sweep=swept), tmp_path / "s", workers=1)
    cells = grid(scenario(**parts, sweep=swept))
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


def test_what_a_worker_is_sent_arrives() -> None:
    task = prepared(scenario(**TRIGGER, run={"target": 0.1}))
    again = pickle.loads(pickle.dumps(task))
    assert (again.trigger.threshold, again.target.psi) == (1.0, 0.1)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (TRIGGER, "[trigger]"),
        ({"run": {"target": 0.1}}, "run.target"),
        ({"run": {"target": 0.1}, **TRIGGER}, "run.target"),
    ],
    ids=["trigger", "target", "both"],
)
def test_there_is_nothing_to_replay(parts: Parts, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        scenario(**parts | {"run": {**parts.get("run", {}), "learning": "replay"}})
    assert str(caught.value) == (
        f"run.learning: given 'replay'; {said} needs \"live\": there is no timing to replay before "
        "the model is known"
    )


def test_statistics_have_no_gradients() -> None:
    trigger = LargeGradient(threshold=1.0)
    [fault] = trigger.faults(NoisyStatistics())
    assert str(fault) == (
        "algorithm.kind: given 'noisy-statistics'; a trigger needs owners that answer with "
        "gradients"
    )
    assert trigger.faults(FedBuff(step=1.0, server_step=1.0, buffer=1)) == []
