"""Synchronous steps, FedBuff's, and the weights of stale answers, against short references."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning import algorithms
from asyncdp_sim.learning.algorithms import AnswerBatch, AsyncGossip, Collab1, FedAsync, Setting
from asyncdp_sim.learning.algorithms.gathered import GatheredState
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Rounds
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.results import read_table
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import ExchangeOutcome
from tests.tables import table
from tests.together import together
from tests.unit.learning.problems import records, scopes

# Synchronous algorithms: against short references, by brute force, live, and in whole runs.


N, P, T, SIGMA = 3, 4, 30, 0.3
SIZES = (30, 10, 20)
X, Y = records(N, SIZES, P)
WEIGHTS = np.array(SIZES) / sum(SIZES)
SILENT = LaplaceNoise(np.zeros(N))


def gradient(theta: np.ndarray, rows: list[np.ndarray] | None = None) -> np.ndarray:
    """∇f, record by record: σθ + (1/n) Σ 2(θᵀx − y)x; or over some of each owner's records."""
    total = SIGMA * theta
    for i in range(N):
        some = range(SIZES[i]) if rows is None else rows[i].tolist()
        each = [2 * (X[i][j] @ theta - Y[i][j]) * X[i][j] for j in some]
        total = total + WEIGHTS[i] * np.mean(each, axis=0)
    return total


@pytest.mark.parametrize("batch", [None, 4])
def test_the_parameter_server_is_its_ten_lines(batch):
    """Its batches are the rows of one stream, in the order in which answers arrive."""
    everybody = Network(
        answers_allowed=(T,) * N,
        updates=T,
        answers_per_update=None,
        compute=Exponential(mean=0.2),
        protocol=Rounds(),
    )
    trace = simulate(everybody, scopes()[0])
    algorithm = algorithms.ParameterServer(step=0.1, exponent=0.75, batch=batch)
    sample = None if batch is None else Sample(LinearRecords(X, Y), batch)
    reply = AnswerModel(Quadratic.from_records(X, Y, SIGMA, None), SILENT, sample)
    steps = algorithm.steps(Setting(WEIGHTS, P, T, SIGMA, None))
    path = replay([trace], steps, reply, scopes(), 1, "central")
    draws = None if batch is None else scopes()[0].generator("batch").random((N * T, batch))
    orders = trace.updates["owner"].reshape(T, N) - 1
    assert len({tuple(order) for order in orders.tolist()}) == 6
    theta = np.zeros(P)
    for k in range(1, T + 1):
        rows = None
        if draws is not None:
            rows = [np.empty(0, int)] * N
            for place, owner in enumerate(orders[k - 1]):
                rows[owner] = (draws[N * (k - 1) + place] * SIZES[owner]).astype(int)
        theta = theta - 0.1 * k**-0.75 * gradient(theta, rows)
        assert np.abs(path.models(0)[k] - theta).max() <= 1e-12


def gathered(replicates: int, features: int, turns: list[AnswerBatch], answers: list[Any]) -> Any:
    """Return the direction of one round at θ = 0 and σ = 0: the mean of its answers."""
    steps = Collab1(rho=1.0).steps(Setting(np.full(9, 1 / 9), features, 1, 0.0, None))
    state = steps.init(scopes(replicates))
    for turn, found in zip(turns, answers, strict=True):
        steps.apply(state, turn, np.zeros_like(found), found.copy())
    steps.update(state, np.unique(np.concatenate([turn.rows for turn in turns])))
    assert isinstance(state, GatheredState)
    assert (state.batches, state.answers) == ([], [])
    return -state.central


def turns(owners: int, replicates: int) -> list[AnswerBatch]:
    """Return one answer of each owner in each replicate."""
    rows = np.arange(replicates)
    return [AnswerBatch(np.full(replicates, i), rows=rows) for i in range(owners)]


def test_one_coordinate_of_one_replicate_has_the_same_bits_alone():
    """Nine answers of one number each, summed alone or beside another replicate."""
    answers = np.random.default_rng(5).normal(size=(9, 2, 1))
    one, two = (turns(9, replicates) for replicates in (1, 2))
    found = gathered(1, 1, one, list(answers[:, :1]))
    assert found[0, 0] == gathered(2, 1, two, list(answers))[0, 0]


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
def test_a_replicate_that_diverged_is_the_same_beside_one_with_more_answers(lost):
    answers = np.array([[[1.0], [1.0]], [[lost], [2.0]], [[0.0], [3.0]]])
    one = turns(2, 1)
    two = [*turns(2, 2), AnswerBatch(np.array([2]), rows=np.array([1]))]
    both_found = [answers[0], answers[1], answers[2, 1:]]
    found = gathered(1, 1, one, [answers[0, :1], answers[1, :1]])
    assert np.array_equal(found[0], gathered(2, 1, two, both_found)[0], equal_nan=True)


def test_a_trim_of_0_is_read_and_written_as_older_versions_did():
    """Digests hold it, and so scenarios of results do; any other is refused as gone."""
    found = parse(Collab1, {"kind": "collab-1", "rho": 1.0, "trim": 0})
    assert found == Collab1(rho=1.0)
    assert found.model_dump() == {"kind": "collab-1", "trim": 0, "initial": "zeros", "rho": 1.0}
    assert found.model_dump(exclude_unset=True) == {"kind": "collab-1", "rho": 1.0}
    with pytest.raises(SpecError, match="'trim'"):
        Collab1(rho=1.0, trim=1)


# FedBuff by hand, against FedAsync, and over stale and lossy answers.

SCENES = table(__file__, "scenes.toml")
BASE, CASES = SCENES["fedbuff"], SCENES["ways"]["fedbuff"]


def scenario(**parts: Any) -> Scenario:
    return parse(Scenario, {**BASE, **parts})


PUSH = {"kind": "push", "own_tick": "overlap"}


def test_the_cases_end_with_buffers_that_are_not_full():
    horizon = {"updates": 20, "replicates": 8, "until": 7.0}
    for case, parts in CASES.items():
        outcome = run(scenario(run=horizon, **parts))
        left = {int(trace.ended(ExchangeOutcome.buffered).sum()) for trace in outcome.traces}
        assert len(left) > 1, case
        assert left <= {0, 1, 2}
        for trace in outcome.traces:
            assert len(trace.updates) == 3 * trace.n_updates


def test_a_buffer_of_one_is_fedasync_that_keeps_nothing():
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


def test_what_is_written(tmp_path):
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


def test_buffered_answers_are_charged():
    made = run(scenario(run={"updates": 20, "replicates": 20, "until": 7.0}, protocol=PUSH))
    released = max(int(trace.released.max()) for trace in made.traces)
    assert made.summary["max_spent_ratio"] == pytest.approx(released / 40)
    for trace in made.traces:
        waiting = trace.ended(
            ExchangeOutcome.buffered, ExchangeOutcome.applied, ExchangeOutcome.in_flight
        )
        assert waiting.tolist() == trace.released.tolist()


def test_a_trace_of_other_updates_is_not_replayed():
    made = outcome()
    task = made.problem.task
    steps = FedAsync(step=0.1, mixing=1.0).steps(Setting(np.full(3, 1 / 3), 3, 20, 0.1, None))
    scopes = [Streams(1).within("replicate", number) for number in (1, 2)]
    with pytest.raises(ValueError, match="updates of 1 answers"):
        replay(made.traces, steps, task.reply, scopes, 1)


# Weights of stale answers, beside their formulas: FedAsync, Xie, Koyejo and Gupta 2019.

LATE = np.arange(12)


@pytest.mark.parametrize("a", [0.5, 2.0])
@pytest.mark.parametrize("b", [0.0, 3.0, 4.5])
def test_a_hinge_begins_after_its_patience(a, b):
    """A mutant lived in which it began at once: no example has answers later than its patience."""
    kind = FedAsync(step=0.1, mixing=0.5, weighting="hinge", exponent=a, patience=b)
    expected = [1.0 if s <= b else 1 / (a * (s - b) + 1) for s in LATE]
    assert kind.weight(LATE).tolist() == pytest.approx(expected)


# Async, Algorithm 1: where it starts, and what counts as a projection.

OWNERS, SIZE, UPDATES, RIDGE, RHO = 3, 4, 7, 0.3, 20.0
SHARE = np.array([0.5, 0.2, 0.3])


def test_initial_values():
    def start(initial: str, count: int = 3) -> tuple[np.ndarray, np.ndarray]:
        steps = AsyncGossip(rho=1.0, initial=initial).steps(
            Setting(SHARE, SIZE, UPDATES, RIDGE, None)
        )
        state = steps.init([Streams(9).within("replicate", r) for r in range(1, count + 1)])
        assert state.central.shape == (count, SIZE)
        assert state.copies.shape == (count, OWNERS, SIZE)
        assert state.clipped.tolist() == [0] * count
        return state.central, state.copies

    for initial, value in (("zeros", 0.0), ("ones", 1.0)):
        central, copies = start(initial)
        assert np.all(central == value)
        assert np.all(copies == value)
    central, copies = start("uniform")
    models = np.concatenate([central[:, None], copies], axis=1)
    assert np.all((models >= 0) & (models < 1))
    assert len(np.unique(models)) == models.size  # every coordinate of every model its own draw
    assert np.array_equal(start("uniform", 1)[0][0], central[0])
    drawn = Streams(9).generator("replicate", 2, "initial").random((OWNERS + 1, SIZE))
    assert np.array_equal(models[1], drawn)


def test_a_projection_counts_once_per_update_and_on_the_boundary_not_at_all():
    steps = AsyncGossip(rho=UPDATES**2 * 2 * RIDGE).steps(
        Setting(np.array([1.0]), 1, UPDATES, RIDGE, 1.0)
    )
    state = steps.init([Streams(1).within("replicate", 1)])
    one = np.array([0])
    gain = float(steps.step[0])
    steps.apply(state, AnswerBatch(one), np.zeros((1, 1)), np.array([[-1.0 / gain]]))
    assert state.copies.item() == pytest.approx(1.0)
    assert state.clipped.tolist() == [0]
    steps.apply(state, AnswerBatch(one), np.zeros((1, 1)), np.array([[-1.5 / gain]]))
    assert (state.copies.item(), state.clipped.tolist()) == (1.0, [1])


def test_a_coordinate_that_is_no_number_hides_no_other_from_the_projection():
    """Else it would depend on the other replicates whether the other coordinate is projected."""
    steps = AsyncGossip(rho=RHO).steps(Setting(SHARE, SIZE, UPDATES, RIDGE, 0.4))
    state = steps.init([Streams(1).within("replicate", r) for r in (1, 2)])
    points, turn = np.zeros((2, SIZE)), AnswerBatch(np.array([0, 0]))
    points[0] = [np.nan, 5.0, 0.1, -5.0]
    steps.apply(state, turn, points, np.zeros((2, SIZE)))
    assert state.clipped.tolist() == [1, 0]
    for model in (state.central[0], state.copies[0, 0]):
        assert np.isnan(model[0])
        assert model[1] == 0.4
        assert 0 < model[2] < 0.1
        assert model[3] == -0.4


# What does not suit an algorithm, or a model, is refused in a line each.


@together
@pytest.mark.parametrize("case", table(__file__, "refused.toml")["refused"])
def test_what_does_not_suit_is_refused_in_a_line_each(case):
    base = SCENES.get(case["scene"]) or table(__file__, "net.toml")
    with pytest.raises(SpecError) as refused:
        parse(Scenario, base | case["changed"])
    assert refused.value.lines() == case["lines"]
