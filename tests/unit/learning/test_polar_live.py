"""POLAR's servers live, each stepping at its own tick, and on graphs, against replay."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncdp_sim.learning.algorithms import AnswerBatch, Polar, Setting
from asyncdp_sim.learning.algorithms.obfuscation import RESOLUTION, averaged
from asyncdp_sim.learning.algorithms.polar import PolarSteps
from asyncdp_sim.learning.answers import AnswerModel, Answers, Sample
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.graphs import Complete, Edges, GraphsInTurn, Ring, matrices_of, neighbours
from asyncdp_sim.network.laws import Constant, Exponential, Lognormal, NoTime
from asyncdp_sim.network.protocols import Servers
from asyncdp_sim.privacy.mechanisms import NoNoise
from asyncdp_sim.theory.formulas.convergence import disagreement_left
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.trace import Ending, EventKind
from tests.one_in import one_in
from tests.unit.learning.problems import records
from tests.unit.learning.problems import scopes as replicates

# Servers live, each stepping at its own tick, against replay, bit for bit.

scopes = partial(replicates, seed=3)

C, P, T, SIGMA, BOX = 5, 3, 13, 0.2, 0.8
RECORDS = records(2, (20, 30, 10, 25, 15), P)
PROBLEM = Quadratic.from_records(*RECORDS, SIGMA, BOX)
ALGORITHM = Polar(
    step=0.5, exponent=0.6, weight_total=3.0, weight_bound=9.0, additive_bound=0.2, batch=4
)
READS = ["minimum-wait", "client-averaged", "basic"]
FAR = Lognormal(mean=1.0, cv=2.0)
LATENCIES = {
    "none": (NoTime(), NoTime()),
    "all at one tick": (Constant(value=0.0), Constant(value=0.0)),
    "alike": (Exponential(mean=0.3), Constant(value=0.1)),
    "one server far away": (Exponential(mean=0.3), (NoTime(), Constant(value=4.0), FAR)),
}


def network(read, laws, **more):
    own, theirs = laws
    protocol = Servers(
        count=3, reach=2, read=read, window=4, latency=theirs, exchange=Exponential(mean=0.2)
    )
    return Network(
        answers_allowed=(T * protocol.answers_each,) * C,
        updates=T,
        answers_per_update=None,
        latency=Latency(query=own, answer=own),
        compute=own,
        protocol=protocol,
        **more,
    )


def reply(batch=True):
    sample = Sample(LinearRecords(*RECORDS), 4) if batch else None
    return AnswerModel(PROBLEM, NoNoise(np.zeros(C)), sample)


def steps_of(net):
    setting = Setting(PROBLEM.weights, P, T, SIGMA, BOX, protocol=net.protocol)
    return ALGORITHM.steps(setting)


def compare(net, count, batch=True, every=3):
    traces = [simulate(net, scope) for scope in scopes(count)]
    path = replay(traces, steps_of(net), reply(batch), scopes(count), every, "central")
    for r, scope in enumerate(scopes(count)):
        live = LiveLearning(steps_of(net), reply(batch), scope, every, "central")
        trace = simulate(net, scope, learning=live)
        assert trace.exchanges.tolist() == traces[r].exchanges.tolist()
        assert np.array_equal(live.trajectory().models(0), path.models(r))
        assert np.array_equal(live.trajectory().final[0], path.final[r])
        assert live.trajectory().clipped[0] == path.clipped[r]
    return traces, path


def test_clients_draw_batches_of_their_own():
    """At one model, clients with the same records answer differently: they choose other ones."""
    same = [[rows[0]] * C for rows in RECORDS]
    drawn = AnswerModel(PROBLEM, NoNoise(np.zeros(C)), Sample(LinearRecords(*same), 4))
    given = Answers(steps_of(network("basic", LATENCIES["none"])), drawn, scopes(2))
    rows = np.repeat([0, 1], C)
    every = AnswerBatch(np.tile(np.arange(C), 2), rows=rows)
    answers = given.give(every, np.full((2 * C, P), 0.1))
    assert len(np.unique(answers, axis=0)) == 2 * C


@one_in(3, "read", READS)
def test_live_equals_replay(read):
    """And when messages arrive matters only to those who take the first model to come."""
    finals = []
    for laws in LATENCIES.values():
        net = network(read, laws)
        traces, path = compare(net, 3)
        alone = replay(traces[:1], steps_of(net), reply(), scopes(1), 1, "central")
        assert np.array_equal(alone.final[0], path.final[0])
        finals.append(path.final)
        assert path.clipped.sum() > 0
    alike = [np.array_equal(final, finals[0]) for final in finals]
    assert alike == [True, True, read != "minimum-wait", read != "minimum-wait"]


@pytest.mark.parametrize("batch", [True, False])
def test_live_equals_replay_where_servers_are_ahead_and_ties_are_drawn(batch):
    """A far server: clients and servers are several steps ahead, and cut off by the horizon."""
    net = network("minimum-wait", LATENCIES["one server far away"], ties="shuffled", until=12.0)
    traces, _ = compare(net, 3, batch)
    assert {trace.ending for trace in traces} == {Ending.horizon}
    assert len({trace.n_updates for trace in traces}) > 1
    ahead = [trace.exchanges["end_k"].max() - trace.n_updates for trace in traces]
    assert max(ahead) >= 2


# POLAR's servers on graphs: the mean stays, disagreement shrinks, and all is as if they waited.

S = 5
PATH = Edges(between=((1, 2), (2, 3), (3, 4), (4, 5)))
PAIRS = GraphsInTurn(
    graphs=(Edges(between=((1, 2), (3, 4))), Edges(between=((2, 3), (4, 5), (1, 5))))
)
GRAPHS = {
    "ring": Ring(),
    "path": PATH,
    "pairs": PAIRS,
    "some secret": GraphsInTurn(graphs=(PATH, Complete(), Edges(between=((1, 5),)))),
}
EACH = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


NEAR = NoTime()


def on_graph(graph, read="minimum-wait", window=2, latency=NEAR, updates=T):
    law = Exponential(mean=0.3)
    protocol = Servers(
        count=S, reach=2, read=read, window=window, latency=latency, exchange=law, graph=graph
    )
    return Network(
        answers_allowed=(updates * protocol.answers_each,) * C,
        updates=updates,
        answers_per_update=None,
        latency=Latency(query=law, answer=law),
        protocol=protocol,
    )


def near(graph):
    """Return the neighbours of one graph of five servers."""
    return neighbours(graph, S)


@given(st.integers(0, 2**32 - 1), st.sampled_from([Ring(), PATH, *PAIRS.graphs]))
def test_what_one_gives_the_other_takes(seed, graph):
    """Sums stay, to the integer; nobody leaves the hull of its group; B's part is nearly all."""
    generator = np.random.default_rng(seed)
    points = generator.integers(-RESOLUTION, RESOLUTION + 1, size=(2, S, P))
    points[0, :, 0] = RESOLUTION * generator.choice([-1, 1], size=S)  # on the projection's bounds
    points[1] = generator.integers(-4, 5, size=(S, P))  # where every division leaves a rest
    graph = near(graph)
    found = np.stack([averaged(points, server, graph) for server in range(S)], axis=1)
    assert np.array_equal(found.sum(axis=1), points.sum(axis=1))
    for server, others in enumerate(graph):
        group = points[:, [server, *(other - 1 for other in others)]]
        assert np.all(found[:, server] <= group.max(axis=1))
        assert np.all(found[:, server] >= group.min(axis=1))
        assert np.all((found[:, server] != points[:, server]).any(axis=0) <= (len(others) > 0))
    [matrix] = matrices_of([graph], S)
    assert np.abs(found - np.einsum("ij,rjp->rip", matrix, points)).max() <= S


def test_the_weights_are_metropolis():
    [matrix] = matrices_of([near(PATH)], S)
    assert matrix[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0, 0])
    assert matrix[1].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 0])
    assert matrices_of([None], S)[0].tolist() == np.full((S, S), 0.2).tolist()


def ahead(trace, window):
    """Return how many windows servers were apart at most."""
    rows, steps, most = trace.events, np.zeros(S, dtype=np.int64), 0
    for row in rows[rows["kind"] == EventKind.server_stepped]:
        steps[row["attempt"] - 1] += 1
        most = max(most, int(steps.max() - steps.min()))
    return most / window


SLOW = (*[NoTime()] * (S - 1), Lognormal(mean=4.0, cv=2.0))


@EACH
@one_in(3, "read", READS)
def test_live_is_replay_though_servers_are_windows_apart(graph, read):
    """Servers only wait for neighbours; what all learn is as if they went in step."""
    traces, path = compare(on_graph(graph, read, latency=SLOW), 2)
    assert all(trace.n_updates == T for trace in traces)
    assert np.isfinite(path.final).all()


def test_servers_run_windows_ahead_of_far_ones():
    """On a path that ends in a slow server; where all agree, nobody is ahead of a window."""
    far, close = (
        simulate(on_graph(graph, latency=SLOW), scopes(1)[0], events=True) for graph in (PATH, None)
    )
    assert ahead(close, 2) <= 1 < ahead(far, 2)
    assert far.end_tick < close.end_tick  # one message for each agreement, and not two


@pytest.mark.parametrize("graph", [None, Ring(), GraphsInTurn(graphs=(PATH, Complete()))], ids=str)
def test_steps_per_unit_are_as_predicted(graph):
    """One exchange of 0.7 where neighbours agree, two where all do, and a half more in turn."""
    net = on_graph(graph, updates=40)
    law, exchange = Constant(value=0.3), Constant(value=0.7)
    protocol = net.protocol.model_copy(update={"exchange": exchange})
    latency = Latency(query=law, answer=law)
    net = net.model_copy(update={"latency": latency, "protocol": protocol})
    trace = simulate(net, scopes(1)[0])
    [told] = [each for each in predict(net) if each.quantity == "throughput"]
    assert told.value == pytest.approx(40 / (trace.end_tick / 1e9), rel=1e-9)


def test_a_complete_graph_is_as_published_to_the_bit():
    """It needs no other rule: all with all agree in secret, over two rounds of messages."""
    found = []
    for graph in (None, Complete(), Edges(between=tuple((a, b) for b in range(1, 6)
                                                        for a in range(1, b)))):  # fmt: skip
        net = on_graph(graph)
        assert net.protocol.agreements == (None,)
        trace = simulate(net, scopes(1)[0])
        found.append((trace.exchanges.tolist(), replay([trace], steps_of(net), reply(), scopes(1),
                                                       1, "central").models(0)))  # fmt: skip
    for exchanges, models in found[1:]:
        assert exchanges == found[0][0]
        assert np.array_equal(models, found[0][1])


def agreements(graph, monkeypatch, rounds=12):
    """Return the servers' deviations from their mean before and after each agreement."""
    seen = []
    kept = PolarSteps._average

    def watched(self, state, iteration, k, server, near):
        kept(self, state, iteration, k, server, near)
        if len(iteration.agreed) == S and server in iteration.agreed:
            seen.append((k, iteration.stepped[0].copy(), iteration.models[0].copy()))

    monkeypatch.setattr(PolarSteps, "_average", watched)
    net = on_graph(graph, updates=2 * rounds)
    replay([simulate(net, scopes(1)[0])], steps_of(net), reply(), scopes(1), 1, "central")
    return {k: (before, after) for k, before, after in seen}


@pytest.mark.parametrize("graph", [Ring(), PATH], ids=["ring", "path"])
def test_an_agreement_shrinks_disagreement_as_the_second_eigenvalue_says(graph, monkeypatch):
    found = agreements(graph, monkeypatch)
    assert len(found) == 12
    [matrix] = matrices_of([near(graph)], S)
    left = disagreement_left([matrix])
    assert left == pytest.approx(sorted(abs(np.linalg.eigvalsh(matrix)))[-2])
    for before, after in found.values():
        sizes = [np.linalg.norm(x - x.mean(axis=0)) for x in (before, after)]
        assert 0 < sizes[1] <= left * sizes[0] * (1 + 1e-9)
        assert after == pytest.approx(matrix @ before, rel=0, abs=1e-10)
        assert np.abs(after.sum(axis=0) - before.sum(axis=0)).max() < S * 2.0**-40


def test_graphs_in_turn_are_taken_in_turn(monkeypatch):
    """And the planted bug of a graph that stays: the second agreement is another one then."""
    found = agreements(PAIRS, monkeypatch)
    for k, (before, after) in found.items():
        matrix = matrices_of(steps_of(on_graph(PAIRS)).agreements, S)[(k // 2 - 1) % 2]
        assert after == pytest.approx(matrix @ before, rel=0, abs=1e-10)
    monkeypatch.setattr(PolarSteps, "_near", lambda self, _: self.agreements[0])
    before, after = agreements(PAIRS, monkeypatch)[4]
    assert not np.allclose(after, matrix @ before, rtol=0, atol=1e-4)
