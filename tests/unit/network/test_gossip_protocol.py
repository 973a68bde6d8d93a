"""Gossip by its trace: whose clocks wake whom, who is busy, what ends it, and what is refused."""

import hashlib
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Bernoulli, Churn, OnOff
from asyncdp_sim.network.clocks import GammaClock, PoissonClock, ScriptedClock
from asyncdp_sim.network.graphs import (
    Complete,
    EdgeFile,
    Edges,
    GeometricGraph,
    GossipGraph,
    Ring,
    StarGraph,
)
from asyncdp_sim.network.laws import Constant, Exponential, Gamma, Lognormal
from asyncdp_sim.network.protocols import Gossip, Request
from asyncdp_sim.trace import Detail, Ending, EventKind, Trace

K = EventKind
LINE = Edges(between=[[2, 1], [2, 3], [4, 3], [4, 5]])
NEAR = GeometricGraph(radius=0.7, graph=3)
GRAPHS = [StarGraph(), Ring(), Complete(), NEAR, LINE]
EACH = pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.kind)
SLOW: dict[str, Any] = {
    "latency": Latency(query=Exponential(mean=0.1), answer=Lognormal(mean=0.1, cv=1.0)),
    "compute": [Exponential(mean=0.3), *[Gamma(mean=0.2, cv=0.5)] * 4],
}


def network(graph: GossipGraph, **parts: Any) -> Network:
    fields: dict[str, Any] = {"answers_allowed": (40,) * 5, "updates": 40}
    protocol = Gossip(graph=graph)
    return Network(**{**fields, "answers_per_update": None, "protocol": protocol, **SLOW, **parts})


def traced(spec: Network, seed: int = 1, learning: Any = None, *, events: bool = True) -> Trace:
    return simulate(spec, Streams(seed).within("replicate", 1), events=events, learning=learning)


class TestGraphs:
    def test_edges_in_order(self):
        assert StarGraph().edges(3) == ((0, 1), (0, 2), (0, 3))
        assert Ring().edges(4) == ((1, 2), (1, 4), (2, 3), (3, 4))
        assert Complete().edges(3) == Ring().edges(3) == ((1, 2), (1, 3), (2, 3))
        assert Ring().edges(2) == Complete().edges(2) == ((1, 2),)
        assert LINE.edges(5) == ((1, 2), (2, 3), (3, 4), (4, 5))

    @pytest.mark.parametrize("n_owners", [2, 5, 12])
    def test_they_are_what_networkx_calls_them(self, n_owners):
        for graph, known in (
            (StarGraph(), nx.star_graph(n_owners)),
            (Ring(), nx.cycle_graph(range(1, n_owners + 1))),
            (Complete(), nx.complete_graph(range(1, n_owners + 1))),
        ):
            assert nx.utils.graphs_equal(graph.build(n_owners), known)

    def test_a_geometric_graph_links_what_is_near_and_is_drawn_once(self):
        one, two = GeometricGraph(radius=0.5), GeometricGraph(radius=0.5, graph=2)
        assert one.edges(12) == GeometricGraph(radius=0.5).edges(12) != two.edges(12)
        assert set(one.edges(12)) < set(GeometricGraph(radius=0.6).edges(12))
        assert GeometricGraph(radius=1.5).edges(12) == Complete().edges(12)


class TestFile:
    """A file says what ``edges`` lists; [topology]'s files may be read, too."""

    def graph(self, folder: Path, text: str) -> EdgeFile:
        path = folder / "edges.csv"
        path.write_text(text, encoding="utf-8")
        return EdgeFile(path=str(path))

    def test_it_is_read_once(self, tmp_path):
        text = "source,target,latency\n1,2,0.1\n\n3,2,0.2\n"
        graph = self.graph(tmp_path, text)
        assert graph.faults(3) == []
        assert graph.edges(3) == ((1, 2), (2, 3))
        assert graph.content_digest() == hashlib.sha256(text.encode()).hexdigest()
        (tmp_path / "edges.csv").unlink()
        assert graph.model_copy().faults(3) != graph.faults(3) == []

    def test_one_that_is_not_there_has_no_edges(self, tmp_path):
        graph = EdgeFile(path=str(tmp_path / "none.csv"))
        [fault] = graph.faults(3)
        assert "there is no such file" in str(fault)
        for ask in (graph.content_digest, partial(graph.edges, 3)):
            with pytest.raises(SpecError):
                ask()


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"latency": Latency(), "compute": Constant(value=0.0)},
        {"availability": Bernoulli(probability=0.6)},
        {"availability": OnOff(on=Exponential(mean=1.0), off=Exponential(mean=1.0))},
        {"answers_allowed": (3, 9, 1, 9, 9), "updates": 100},
        {"until": 12.0},
    ],
    ids=lambda parts: "-".join(parts) or "slow",
)
def test_a_star_is_request_that_refuses(parts):
    """The same wake-ups, reads and updates to the tick, from the same seed."""
    star = traced(network(StarGraph(), **parts))
    request = traced(network(StarGraph(), **parts, protocol=Request(), answers_per_update=1))
    for column in ("tick", "owner", "read_tick", "staleness", "k", "peer"):
        assert star.updates[column].tolist() == request.updates[column].tolist()
    assert len(star.updates) > 10
    assert star.released.tolist() == request.released.tolist()
    assert (star.end_tick, star.ending) == (request.end_tick, request.ending)
    assert np.array_equal(star.owners["online"], request.owners["online"], equal_nan=True)
    served = request.owners["attempts"] - request.owners["refused"]
    assert star.owners["attempts"].tolist() == served.tolist()


def test_an_edge_keeps_its_clock_whatever_other_edges_there_are():
    """Without duration every wake-up is an update: those of an edge are its clock's ticks."""
    quick = {"latency": Latency(), "compute": Constant(value=0.0), "until": 4.0}

    def met(graph: GossipGraph, n_owners: int) -> dict[tuple[int, int], list[int]]:
        allowed = {"answers_allowed": (1000,) * n_owners, "updates": 1000}
        found = defaultdict(list)
        for row in traced(network(graph, **quick, **allowed)).updates:
            if row["owner"] < row["peer"]:
                found[int(row["owner"]), int(row["peer"])].append(int(row["tick"]))
        return found

    few, many = met(Ring(), 4), met(Complete(), 6)
    assert len(few) == 4
    assert len(many) == 15
    assert all(many[edge] == ticks for edge, ticks in few.items() if edge != (1, 4))


@EACH
class TestEveryGraph:
    def test_an_update_is_made_by_two_neighbours_of_whom_owners_answer(self, graph):
        edges, per_k = set(graph.edges(5)), defaultdict(list)
        for row in traced(network(graph)).updates:
            per_k[int(row["k"])].append((int(row["owner"]), int(row["peer"])))
        assert sorted(per_k) == list(range(1, 41))
        for pairs in per_k.values():
            owner, peer = pairs[0]
            assert (min(owner, peer), max(owner, peer)) in edges
            assert pairs[1:] == ([] if graph.learner else [(peer, owner)])

    def test_a_node_talks_to_one_neighbour_at_a_time(self, graph):
        rows = traced(network(graph)).exchanges
        for node in graph.nodes(5):
            mine = rows[(rows["owner"] == node) | ((rows["peer"] == node) & (node == 0))]
            order = np.argsort(mine["read_tick"], kind="stable")
            assert np.all(mine["read_tick"][order][1:] >= mine["end_tick"][order][:-1])

    def test_staleness_counts_the_updates_of_others_in_between(self, graph):
        trace = traced(network(graph))
        for row in trace.updates:
            between = trace.update_ticks[: row["k"] - 1] > row["read_tick"]
            assert row["staleness"] == between.sum()
        assert (trace.updates["staleness"].max() > 0) == (graph.kind != "star")

    def test_the_next_wake_up_of_two_free_nodes_is_never_dropped(self, graph):
        events = traced(network(graph)).events
        busy = Counter()
        for event in events:
            kind, owner = event["kind"], int(event["owner"])
            if kind == K.query_sent:
                assert busy[owner] == 0
                busy[owner] = 1
            elif kind == K.answer_delivered:
                busy[owner] = 0
            elif kind == K.clock_dropped:
                assert event["detail"] == Detail.busy
                assert busy[owner] == 1 or (graph.learner and sum(busy.values()) == 1)

    def test_a_run_ends_when_no_two_neighbours_can_answer(self, graph):
        trace = traced(network(graph, answers_allowed=(2, 5, 3, 9, 4), updates=1000))
        left = [0, *(np.array([2, 5, 3, 9, 4]) - trace.released)]
        assert min(left[1:]) == 0
        pairs = [(a, b) for a, b in graph.edges(5) if left[b] > 0 and (a == 0 or left[a] > 0)]
        assert pairs == []
        assert trace.ending is (Ending.silent if any(left) else Ending.spent)
        assert trace.end_tick == trace.update_ticks[-1]

    def test_owners_that_leave_for_good_end_the_run(self, graph):
        trace = traced(network(graph, availability=Churn(lifetime=Exponential(mean=3.0))))
        assert trace.ending is Ending.silent
        last = trace.events[np.isin(trace.events["kind"], (K.went_offline, K.update_applied))]
        assert trace.end_tick == last["tick"][-1]


def test_shares_online_are_those_of_the_wake_ups():
    """Both ends draw at every wake-up of an edge, whether or not they are busy."""
    trace = traced(network(Ring(), availability=Bernoulli(probability=0.5), until=50.0))
    events = trace.events
    wakes = np.isin(events["kind"], (K.clock_tick, K.clock_dropped)).sum()
    assert 200 < wakes < 300
    assert np.all(np.abs(trace.owners["online"] - 0.5) < 0.2)
    assert (events["detail"] == Detail.offline).sum() > wakes / 2


def test_who_is_never_online_has_silent_edges():
    nobody_left = network(LINE, availability=Bernoulli(probability=[1.0, 0.0, 1.0, 0.0, 1.0]))
    assert traced(nobody_left).end_tick == 0
    trace = traced(network(LINE, availability=Bernoulli(probability=[1.0, 0.0, 1.0, 1.0, 0.0])))
    assert set(trace.updates["owner"].tolist()) == {3, 4}
    assert trace.n_updates == 40


def test_clocks_are_the_edges_one_for_all_or_one_each():
    quick = {"latency": Latency(), "compute": Constant(value=0.0), "updates": 1000}
    quick["answers_allowed"] = (1000,) * 5
    each = PoissonClock(rate=[9.0, 1.0, 1.0, 1.0])
    trace = traced(network(LINE, protocol=Gossip(graph=LINE, clock=each), **quick))
    share = np.mean(trace.updates["owner"] == 1) * 2
    assert abs(share - 9 / 12) < 0.05
    assert Gossip(graph=LINE, clock=each).edge_shares(5) == (9 / 12, 1 / 12, 1 / 12, 1 / 12)
    assert Gossip(graph=Ring(), clock=GammaClock(rate=3.0, cv=0.5)).edge_shares(4) == (0.25,) * 4
    scripted = ScriptedClock(times=[[1.0], [2.0], [], [3.0]])
    assert Gossip(graph=LINE, clock=scripted).edge_shares(5) == (0.25,) * 4
    trace = traced(network(LINE, protocol=Gossip(graph=LINE, clock=scripted), **quick))
    assert trace.update_ticks.tolist() == [10**9, 2 * 10**9, 3 * 10**9]
    assert trace.ending is Ending.silent
