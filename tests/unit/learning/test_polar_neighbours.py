"""POLAR's servers on graphs: the mean stays, disagreement shrinks, and all is as if they waited."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncdp_sim.learning.algorithms import PolarSteps
from asyncdp_sim.learning.algorithms.obfuscation import RESOLUTION, averaged
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.graphs import Complete, Edges, GraphsInTurn, Ring, matrices_of, neighbours
from asyncdp_sim.network.laws import Constant, Exponential, Lognormal, NoTime
from asyncdp_sim.network.protocols import Servers
from asyncdp_sim.theory.formulas.convergence import disagreement_left
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.trace import EventKind
from tests.one_in import one_in
from tests.unit.learning.test_polar_live import C, P, T, compare, reply, scopes, steps_of

S, READS = 5, ["minimum-wait", "client-averaged", "basic"]
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


def network(graph, read="minimum-wait", window=2, latency=NEAR, updates=T):
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
    traces, path = compare(network(graph, read, latency=SLOW), 2)
    assert all(trace.n_updates == T for trace in traces)
    assert np.isfinite(path.final).all()


def test_servers_run_windows_ahead_of_far_ones():
    """On a path that ends in a slow server; where all agree, nobody is ahead of a window."""
    far, close = (
        simulate(network(graph, latency=SLOW), scopes(1)[0], events=True) for graph in (PATH, None)
    )
    assert ahead(close, 2) <= 1 < ahead(far, 2)
    assert far.end_tick < close.end_tick  # one message for each agreement, and not two


@pytest.mark.parametrize("graph", [None, Ring(), GraphsInTurn(graphs=(PATH, Complete()))], ids=str)
def test_steps_per_unit_are_as_predicted(graph):
    """One exchange of 0.7 where neighbours agree, two where all do, and a half more in turn."""
    net = network(graph, updates=40)
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
        net = network(graph)
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
    net = network(graph, updates=2 * rounds)
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
        matrix = matrices_of(steps_of(network(PAIRS)).agreements, S)[(k // 2 - 1) % 2]
        assert after == pytest.approx(matrix @ before, rel=0, abs=1e-10)
    monkeypatch.setattr(PolarSteps, "_near", lambda self, _: self.agreements[0])
    before, after = agreements(PAIRS, monkeypatch)[4]
    assert not np.allclose(after, matrix @ before, rtol=0, atol=1e-4)
