"""Gossip on graphs, and meetings that lose answers: by hand, live as in replay."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits.eavesdropper import overhear
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AsyncGossip, GossipGraph, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.graphs import Complete, Edges, Ring, StarGraph
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Gossip
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import ExchangeOutcome, Trace
from tests.one_in import one_in
from tests.tables import table
from tests.unit.learning.problems import live_is_replay, records, scopes

# Gossip on graphs by hand; the star is the published algorithm.


N, P, T, SIGMA, RHO = 4, 3, 25, 0.3, 60.0
PATH = Edges(between=[[1, 2], [2, 3], [3, 4]])
FIT = Quadratic.from_records(*records(3, (20, 10, 30, 15), P), SIGMA, None)
NOISE = LaplaceNoise(np.array([0.5, 0.1, 1.0, 0.2]))
SCENES = table(__file__, "scenes.toml")
BASE, STARS = SCENES["gossip-graph"], SCENES["ways"]["star"]
STAR = {"kind": "gossip", "graph": {"kind": "star"}}


def scenario(protocol: dict[str, Any], algorithm: dict[str, Any], **parts: Any) -> Scenario:
    return parse(Scenario, {**BASE, "protocol": protocol, "algorithm": algorithm, **parts})


@pytest.mark.parametrize("parts", STARS.values(), ids=STARS)
@one_in(2, "initial", ["zeros", "uniform"])
def test_the_star_is_the_published_algorithm(parts, initial):
    """The same wake-ups and rows of noise, so the same models at every update, to 1e-12."""
    if initial == "uniform" and "theta_max" in parts.get("model", {}):
        parts = parts | {"model": parts["model"] | {"theta_max": 1.1}}  # gossip starts in Θ
    common = {"rho": 60.0, "initial": initial}
    known = run(scenario({"kind": "request"}, {"kind": "async-gossip", **common}, **parts))
    found = run(scenario(STAR, {"kind": "gossip-graph", **common}, **parts))
    for one, two in zip(found.traces, known.traces, strict=True):
        assert one.update_ticks.tolist() == two.update_ticks.tolist()
        assert one.updates["owner"].tolist() == two.updates["owner"].tolist()
    scale = np.abs(known.learned.models).max()
    assert scale > 0.01
    assert np.abs(found.learned.models - known.learned.models).max() <= 1e-12 * scale
    psi, exact = (each.learned.curve["relative_fitness"] for each in (found, known))
    assert np.abs(psi - exact).max() <= 1e-12 * np.abs(exact).max()
    assert found.learned.clipped.tolist() == known.learned.clipped.tolist()


def steps(graph: Any, box: float | None = None, clock: Any = None, **fields: Any) -> Any:
    protocol = Gossip(graph=graph, clock=PoissonClock() if clock is None else clock)
    setting = Setting(FIT.weights, P, T, SIGMA, box, protocol=protocol)
    return GossipGraph(rho=RHO, **fields).steps(setting)


def test_the_stars_numbers_are_those_of_the_proof():
    setting = Setting(FIT.weights, P, T, SIGMA, None)
    found, known = steps(StarGraph()), AsyncGossip(rho=RHO).steps(setting)
    assert found.shrink == pytest.approx(known.shrink_copy, rel=1e-15)
    assert found.shrink_learner == pytest.approx(known.shrink_central, rel=1e-15)
    assert found.step == pytest.approx(known.step, rel=1e-15)


def test_steps_are_divided_by_how_often_a_node_wakes():
    """Owners 2 and 3 of a line are in two of its three edges, or in more of its wake-ups."""
    rate = RHO / T**2
    found = steps(PATH)
    pi = np.array([1, 2, 2, 1]) / 3
    assert found.step == pytest.approx(rate / SIGMA * FIT.weights / pi, rel=1e-14)
    assert found.shrink == pytest.approx(1 - rate / N / pi, rel=1e-14)
    assert (found.shrink_learner, found.n_nodes) == (None, 4)
    unequal = steps(PATH, clock=PoissonClock(rate=[1.0, 2.0, 5.0]))
    pi = np.array([1, 3, 7, 5]) / 8
    assert unequal.step == pytest.approx(rate / SIGMA * FIT.weights / pi, rel=1e-14)


def traces(graph: Any, count: int) -> list[Any]:
    network = Network(
        answers_allowed=(T,) * N,
        updates=T,
        answers_per_update=None,
        latency=Latency(query=Exponential(mean=0.2)),
        compute=Exponential(mean=0.3),
        protocol=Gossip(graph=graph),
    )
    return [simulate(network, scope) for scope in scopes(count)]


@pytest.mark.parametrize(
    "graph", [PATH, Ring(), Complete(), StarGraph()], ids=lambda graph: graph.kind
)
@pytest.mark.parametrize("box", [None, 0.4])
def test_replay_is_the_formula_row_by_row(graph, box):
    """A slow twin: one update after the other, one node after the other, by the text."""
    made = traces(graph, 2)
    path = replay(made, steps(graph, box), AnswerModel(FIT, NOISE), scopes(2), 1)
    edges = graph.edges(N)
    for r, scope in enumerate(scopes(2)):
        noise = iter(NOISE.rows(scope.generator("noise"), 2 * T, P))
        theta = {node: np.zeros(P) for node in graph.nodes(N)}
        clipped = 0
        for k in range(1, T + 1):
            rows = made[r].updates[made[r].updates["k"] == k]
            owner, peer = int(rows["owner"][0]), int(rows["peer"][0])
            middle = (theta[owner] + theta[peer]) / 2
            moved = {}
            for i in rows["owner"].tolist():
                pi = sum(i in edge for edge in edges) / len(edges)
                gamma = 1 / (2 * N) if 0 in theta else 1 / N
                answer = FIT.gradient(np.array([i - 1]), middle[None])[0]
                answer = answer + next(noise) * NOISE.scale[i - 1]
                step = RHO / (T**2 * SIGMA * pi)
                moved[i] = middle - step * (gamma * SIGMA * middle + FIT.weights[i - 1] * answer)
            if peer == 0:
                moved[0] = middle - RHO / (T**2 * SIGMA) * SIGMA * middle / 2
            assert len(moved) == 2
            for node, model in moved.items():
                theta[node] = model if box is None else np.clip(model, -box, box)
            clipped += box is not None and any(np.abs(m).max() > box for m in moved.values())
            judged = theta[0] if 0 in theta else np.mean(list(theta.values()), axis=0)
            assert path.central[k, r] == pytest.approx(judged, rel=1e-10, abs=1e-12)
        assert path.clipped[r] == clipped
        assert (clipped > 0) == (box is not None)


def test_owner_1_may_be_judged_on_any_graph():
    for graph in (Ring(), StarGraph()):
        state = steps(graph, judged="owner", initial="uniform").init(scopes(3))
        assert np.array_equal(state.central, state.models[:, len(graph.nodes(N)) - N])


@pytest.mark.parametrize("p", [1, 3])
def test_the_mean_of_all_nodes_does_not_depend_on_the_other_replicates(p):
    n_owners = 40
    setting = Setting(np.full(n_owners, 1 / n_owners), p, T, SIGMA, None)
    spec = GossipGraph(rho=1.0, initial="uniform")
    made = spec.steps(replace(setting, protocol=Gossip(graph=Ring())))
    together = made.init(scopes(7)).central
    for count in (1, 2, 3, 6):
        assert np.array_equal(made.init(scopes(count)).central, together[:count])
    assert together[0] == pytest.approx(made.init(scopes(1)).models[0].mean(axis=0), rel=1e-14)


def test_averaging_alone_keeps_the_mean_and_brings_models_together():
    made = replace(steps(Ring(), initial="uniform"), step=np.zeros(N), shrink=np.ones(N))
    path = replay(traces(Ring(), 2), made, AnswerModel(FIT, NOISE), scopes(2), 1)
    assert np.ptp(path.central, axis=0).max() < 1e-14


def test_both_steps_are_taken_at_the_update_from_one_point():
    made = steps(Ring(), initial="uniform")
    state, rows = made.init(scopes(1)), np.array([0])
    before = state.models.copy()
    turns = [
        AnswerBatch(np.array([i]), peers=np.array([j]), rows=rows) for i, j in ((0, 2), (1, 1))
    ]
    points = [made.query(state, turn) for turn in turns]
    assert np.array_equal(*points)
    for turn, point in zip(turns, points, strict=True):
        made.apply(state, turn, point, np.ones((1, P)))
    assert np.array_equal(state.models, before)
    made.update(state, rows)
    assert np.array_equal(state.models[:, 2:], before[:, 2:])
    assert not np.any(state.models[:, :2] == before[:, :2])


# Meetings that lose answers: whoever hears averages alone, live as in replay, and is accounted.

NODES = 6
MEETINGS = SCENES["meetings"]
BURSTS = {"to_bad": 0.3, "to_good": 0.5}
OWN = [0.2, 0.9, 0.0, 0.5, 0.3, 0.6]
LOSSES = pytest.mark.parametrize("loss", [0.4, OWN, BURSTS], ids=["alike", "own", "bursts"])


def meeting(loss: Any, judged: str = "owner", **parts: Any) -> Scenario:
    changed = {
        "channel": {"kind": "ideal", "loss": loss},
        "algorithm": MEETINGS["algorithm"] | {"judged": judged},
    }
    return parse(Scenario, {**MEETINGS, **changed, **parts})


def traced(loss: Any, replicate: int = 1) -> Trace:
    return simulate(meeting(loss).network, Streams(5).within("replicate", replicate))


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
def test_live_is_replay_to_the_bit(loss, judged):
    replayed = live_is_replay(meeting(loss, judged))
    assert any(trace.ended(ExchangeOutcome.lost).sum() > 0 for trace in replayed.traces)


@LOSSES
def test_without_noise_whoever_hears_takes_the_mean_and_nobody_else(loss):
    """A few lines from the formula, over who heard whom."""
    built = meeting(loss)
    task, trace = prepare(built, build_dataset(built)).task, traced(loss)
    silent = AnswerModel(task.reply.gradients, LaplaceNoise(np.zeros(NODES)))
    path = replay([trace], task.steps, silent, [Streams(1).within("replicate", 1)], 1)
    zero = np.zeros((NODES, 2))
    slopes = task.reply.gradients.gradient(np.arange(NODES), zero)
    own = -0.2 * NODES * (np.array([20, 30, 40, 20, 30, 40]) / 180)[:, None] * slopes
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
def test_what_nodes_learn_is_the_matrix_formula_of_all_that_they_heard(loss, colluding):
    """The pseudo-inverse of every row that a pool heard; ε does not see what was lost."""
    built = meeting(loss)
    problem, trace = prepare(built, build_dataset(built)), traced(loss)
    multiplier = problem.accountant.multiplier
    assert multiplier is not None
    told = NodeObserver(colluding=colluding).squared(multiplier, trace)
    pool_of_all = {owner - 1 for owner in colluding or ()}
    for u in range(NODES):
        for v in sorted(set(range(NODES)) - {u}):
            pool = ({v} | pool_of_all) - {u}
            vectors, rows = np.eye(NODES), []
            for pairs in heard(trace):
                before = vectors.copy()
                for listener, speaker in pairs:
                    if listener in pool and speaker not in pool:
                        rows.append(before[speaker])
                    vectors[listener] = (before[listener] + before[speaker]) / 2
            others = [node for node in range(NODES) if node not in pool]
            seen = np.array(rows).reshape(-1, NODES)[:, others] * multiplier[others]
            leverage = np.diag(np.linalg.pinv(seen, rcond=1e-10) @ seen)[others.index(u)]
            assert told[u, v] == pytest.approx(leverage / multiplier[u] ** 2, abs=1e-8)


def test_some_nodes_learn_less_where_answers_are_lost():
    """Nobody has heard of owner 2, whose answers are all lost: at no cost to it, but it hears."""
    built = meeting([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    problem, network = prepare(built, build_dataset(built)), built.network
    trace = simulate(network, Streams(5).within("replicate", 1))
    told = NodeObserver().squared(problem.accountant.multiplier, trace)
    assert np.nanmax(told[1]) == 0
    assert told[0, 1] > 0
    assert trace.released.tolist() == [1] * NODES


def test_an_observer_hears_one_answer_of_everybody_who_sent():
    """Owners 1 and 2 meet often and never hear each other: each has sent one answer even so."""
    line = {"kind": "edges", "between": [[1, 2], [2, 3], [3, 4], [4, 5], [5, 6]]}
    lost = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    built = meeting(lost, protocol={"kind": "gossip", "graph": line})
    view = overhear(built.network, prepare(built, build_dataset(built)).task, Streams(5).within(1))
    assert view.trace.ended(ExchangeOutcome.lost)[0] > 2
    assert sorted(view.owners.tolist()) == list(range(NODES))
    assert view.trace.released.tolist() == [1] * NODES


def test_where_nothing_is_lost_every_number_is_as_without_a_channel():
    plain, zero = (run(meeting(loss)) for loss in (0.0, [0.0] * NODES))
    assert plain.fingerprints == zero.fingerprints
    assert plain.learned.models.tobytes() == zero.learned.models.tobytes()
