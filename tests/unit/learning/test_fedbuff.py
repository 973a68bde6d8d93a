"""FedBuff by hand, against FedAsync, and over stale and lossy answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, FedAsync, FedBuff, FedBuffSteps, Setting
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.results import read_table
from asyncdp_sim.runs import RunResult, run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import ExchangeOutcome
from tests.tables import table

SCENES = table(__file__, "scenes.toml")
BASE, CASES = SCENES["fedbuff"], SCENES["ways"]["fedbuff"]
SCOPE = [Streams(1).within("replicate", 1)]
WEIGHTS = np.array([0.25, 0.75])
FIRST, SECOND = np.array([0]), np.array([1])


def made(theta_max: float | None = None, **fields: Any) -> FedBuffSteps:
    spec = FedBuff(**{"step": 0.5, "server_step": 0.8, "buffer": 2, **fields})
    return spec.steps(Setting(WEIGHTS, 1, 100, 0.2, theta_max))


def test_two_answers_make_one_update_by_hand() -> None:
    """Owner 2, Q = 3 at 2, s = 3; owner 1, Q = −1 at 1, s = 0; θ = 0, w(3) = ½.

    Δ_1 = ½(0.2·2 + 2·¾·3) = 2.45, Δ_2 = ½(0.2·1 − 2·¼·1) = −0.15, and
    θ = −0.8·½·(½·2.45 − 0.15) = −0.43.
    """
    steps = made()
    state = steps.init(SCOPE)
    first = np.array([[2.0]])
    steps.apply(state, AnswerBatch(SECOND, np.array([3])), first, np.array([[3.0]]))
    assert state.central[0, 0] == 0.0
    assert steps.query(state, AnswerBatch(FIRST))[0, 0] == 0.0
    steps.apply(state, AnswerBatch(FIRST, np.array([0])), np.array([[1.0]]), np.array([[-1.0]]))
    assert state.central[0, 0] == 0.0
    steps.update(state)
    assert state.central[0, 0] == pytest.approx(-0.43, abs=1e-15)
    assert (state.buffer[0, 0], first[0, 0]) == (0.0, 2.0)


def scenario(learning: str = "replay", **parts: Any) -> Scenario:
    run = BASE["run"] | {"learning": learning}
    return parse(Scenario, {**BASE, "run": run, **parts})


PUSH = {"kind": "push", "own_tick": "overlap"}


def test_the_cases_end_with_buffers_that_are_not_full() -> None:
    horizon = {"updates": 20, "replicates": 8, "until": 7.0}
    for case, parts in CASES.items():
        outcome = run(scenario(run=horizon, **parts))
        left = {int(trace.ended(ExchangeOutcome.buffered).sum()) for trace in outcome.traces}
        assert len(left) > 1, case
        assert left <= {0, 1, 2}
        for trace in outcome.traces:
            assert len(trace.updates) == 3 * trace.n_updates


def test_a_buffer_of_one_is_fedasync_that_keeps_nothing() -> None:
    """At staleness 0: mixing 1 and step η_g η_l give the same model, to rounding."""
    parts = {"protocol": {"kind": "request"}, "run": {"updates": 60, "replicates": 2}}
    one = {"kind": "fedbuff", "step": 0.1, "server_step": 0.8, "buffer": 1}
    mixed = {"kind": "fedasync", "step": 0.08, "mixing": 1.0}
    buffered = run(scenario(algorithm={**one, "weighting": "constant"}, **parts))
    plain = run(scenario(algorithm={**mixed, "weighting": "constant"}, **parts))
    assert buffered.scenario.network == plain.scenario.network
    for name in ("order", "time", "accounts"):
        assert buffered.fingerprints[name] == plain.fingerprints[name]
    assert np.abs(buffered.learned.models - plain.learned.models).max() <= 1e-12
    assert np.abs(plain.learned.models).max() > 0.1


def outcome() -> RunResult:
    return run(scenario(run={"updates": 20, "replicates": 2, "until": 7.0}, protocol=PUSH))


def test_what_is_written(tmp_path: Path) -> None:
    """``updates``: B rows a k, at the tick of the k-th update; ``curve``: ticks of updates."""
    made = outcome()
    write(made, tmp_path / "result")
    updates, curve = (read_table(tmp_path / "result", name) for name in ("updates", "curve"))
    assert str(updates["k"].dtype) == "int32"
    for number, trace in enumerate(made.traces, start=1):
        rows = updates[updates["replicate"] == number]
        assert rows["k"].tolist() == [k for k in range(1, trace.n_updates + 1) for _ in range(3)]
        ticks = rows.groupby("k")["tick"]
        assert ticks.nunique().eq(1).all()
        assert ticks.first().tolist() == trace.update_ticks.tolist()
        shown = curve[curve["replicate"] == number]
        assert shown["k"].tolist() == list(range(trace.n_updates + 1))
        assert shown["tick"].tolist() == [0, *trace.update_ticks.tolist()]
    said = made.summary
    applied = sum(trace.n_updates for trace in made.traces)
    assert said["updates"] == applied
    assert said["throughput"] == pytest.approx(applied / (2 * said["simulated_time"]))
    assert (said["p_repeat"], said["intervals"]["p_repeat"]) == (None, None)
    left = sum(int(trace.ended(ExchangeOutcome.buffered).sum()) for trace in made.traces)
    assert left > 0
    assert any(f"{left} were left in the buffer" in warning for warning in made.warnings)


def test_buffered_answers_are_charged() -> None:
    made = run(scenario(run={"updates": 20, "replicates": 20, "until": 7.0}, protocol=PUSH))
    released = max(int(trace.released.max()) for trace in made.traces)
    assert made.summary["max_spent_ratio"] == pytest.approx(released / 40)
    for trace in made.traces:
        waiting = trace.ended(
            ExchangeOutcome.buffered, ExchangeOutcome.applied, ExchangeOutcome.in_flight
        )
        assert waiting.tolist() == trace.released.tolist()


def test_a_trace_of_other_updates_is_not_replayed() -> None:
    made = outcome()
    task = made.problem.task
    steps = FedAsync(step=0.1, mixing=1.0).steps(Setting(np.full(3, 1 / 3), 3, 20, 0.1, None))
    scopes = [Streams(1).within("replicate", number) for number in (1, 2)]
    with pytest.raises(ValueError, match="updates of 1 answers"):
        replay(made.traces, steps, task.reply, scopes, 1)
