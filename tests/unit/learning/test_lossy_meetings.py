"""Meetings that lose answers: whoever hears averages alone, live as in replay, and is accounted."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits.eavesdropper import overhear
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.runs import run
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.trace import ExchangeOutcome, Trace
from tests.tables import table

N = 6
SCENES = table(__file__, "scenes.toml")
BASE = SCENES["meetings"]
BURSTS = {"to_bad": 0.3, "to_good": 0.5}
OWN = [0.2, 0.9, 0.0, 0.5, 0.3, 0.6]
LOSSES = pytest.mark.parametrize("loss", [0.4, OWN, BURSTS], ids=["alike", "own", "bursts"])


def scenario(loss: Any, learning: str = "replay", judged: str = "owner", **parts: Any) -> Scenario:
    changed = {
        "run": BASE["run"] | {"learning": learning},
        "channel": {"kind": "ideal", "loss": loss},
        "algorithm": BASE["algorithm"] | {"judged": judged},
    }
    return parse(Scenario, {**BASE, **changed, **parts})


def traced(loss: Any, replicate: int = 1) -> Trace:
    return simulate(scenario(loss).network, Streams(5).within("replicate", replicate))


def heard(trace: Trace) -> list[list[tuple[int, int]]]:
    """Return listeners and speakers (from 0) of every meeting, read off the messages' numbers."""
    rows = {int(row["message"]): row for row in trace.exchanges}
    ended = [row for row in trace.exchanges if row["outcome"] != ExchangeOutcome.unreleased]
    found = []
    for row in ended:
        if row["message"] % 2 == 1:  # the first of two
            both = [row, rows[int(row["message"]) + 1]]
            arrived = [each for each in both if each["outcome"] != ExchangeOutcome.lost]
            found.append([(int(each["peer"]) - 1, int(each["owner"]) - 1) for each in arrived])
    return found


@LOSSES
@pytest.mark.parametrize("judged", ["owner", "central"])
def test_live_is_replay_to_the_bit(loss: Any, judged: str) -> None:
    live, replayed = (run(scenario(loss, how, judged)) for how in ("live", "replay"))
    assert any(trace.ended(ExchangeOutcome.lost).sum() > 0 for trace in live.traces)
    assert live.fingerprints == replayed.fingerprints
    assert live.learned.models.tobytes() == replayed.learned.models.tobytes()


@LOSSES
def test_without_noise_whoever_hears_takes_the_mean_and_nobody_else(loss: Any) -> None:
    """A few lines from the formula, over who heard whom."""
    built = scenario(loss)
    task, trace = prepare(built, build_dataset(built)).task, traced(loss)
    silent = AnswerModel(task.reply.gradients, LaplaceNoise(np.zeros(N)))
    path = replay([trace], task.steps, silent, [Streams(1).within("replicate", 1)], 1)
    zero = np.zeros((N, 2))
    slopes = task.reply.gradients.gradient(np.arange(N), zero)
    own = -0.2 * N * (np.array([20, 30, 40, 20, 30, 40]) / 180)[:, None] * slopes
    nodes, put_in, expected = zero.copy(), set(), [zero[0]]
    for pairs in heard(trace):
        new = {node for pair in pairs for node in pair} - put_in
        nodes[list(new)] = own[list(new)]
        put_in |= new
        before = nodes.copy()
        for listener, speaker in pairs:
            nodes[listener] = (before[listener] + before[speaker]) / 2
        if len(pairs) > 0:
            expected.append(nodes[0].copy())
    count = trace.n_updates + 1
    assert np.abs(path.central[:, 0] - np.array(expected)[:count]).max() < 1e-14


@LOSSES
@pytest.mark.parametrize("colluding", [None, (2, 5)])
def test_what_nodes_learn_is_the_matrix_formula_of_all_that_they_heard(
    loss: Any, colluding: tuple[int, ...] | None
) -> None:
    """The pseudo-inverse of every row that a pool heard; ε does not see what was lost."""
    built = scenario(loss)
    problem, trace = prepare(built, build_dataset(built)), traced(loss)
    multiplier = problem.accountant.multiplier
    assert multiplier is not None
    told = NodeObserver(colluding=colluding).squared(multiplier, trace)
    pool_of_all = {owner - 1 for owner in colluding or ()}
    for u in range(N):
        for v in sorted(set(range(N)) - {u}):
            pool = ({v} | pool_of_all) - {u}
            vectors, rows = np.eye(N), []
            for pairs in heard(trace):
                before = vectors.copy()
                for listener, speaker in pairs:
                    if listener in pool and speaker not in pool:
                        rows.append(before[speaker])
                    vectors[listener] = (before[listener] + before[speaker]) / 2
            others = [node for node in range(N) if node not in pool]
            seen = np.array(rows).reshape(-1, N)[:, others] * multiplier[others]
            leverage = np.diag(np.linalg.pinv(seen, rcond=1e-10) @ seen)[others.index(u)]
            assert told[u, v] == pytest.approx(leverage / multiplier[u] ** 2, abs=1e-8)


def test_some_nodes_learn_less_where_answers_are_lost() -> None:
    """Nobody has heard of owner 2, whose answers are all lost: at no cost to it, but it hears."""
    built = scenario([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    problem, network = prepare(built, build_dataset(built)), built.network
    trace = simulate(network, Streams(5).within("replicate", 1))
    told = NodeObserver().squared(problem.accountant.multiplier, trace)
    assert np.nanmax(told[1]) == 0
    assert told[0, 1] > 0
    assert trace.released.tolist() == [1] * N


def test_an_observer_hears_one_answer_of_everybody_who_sent() -> None:
    """Owners 1 and 2 meet often and never hear each other: each has sent one answer even so."""
    line = {"kind": "edges", "between": [[1, 2], [2, 3], [3, 4], [4, 5], [5, 6]]}
    lost = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    built = scenario(lost, protocol={"kind": "gossip", "graph": line})
    view = overhear(built.network, prepare(built, build_dataset(built)).task, Streams(5).within(1))
    assert view.trace.ended(ExchangeOutcome.lost)[0] > 2
    assert sorted(view.owners.tolist()) == list(range(N))
    assert view.trace.released.tolist() == [1] * N


def test_other_algorithms_and_losses_are_refused_by_name() -> None:
    for case in SCENES["meetings_refused"]:
        with pytest.raises(SpecError) as refused:
            scenario(0.3, **case["parts"])
        assert case["line"] in str(refused.value)


def test_where_nothing_is_lost_every_number_is_as_without_a_channel() -> None:
    plain, zero = (run(scenario(loss)) for loss in (0.0, [0.0] * N))
    assert plain.fingerprints == zero.fingerprints
    assert plain.learned.models.tobytes() == zero.learned.models.tobytes()
