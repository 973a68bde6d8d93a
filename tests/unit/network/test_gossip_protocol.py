"""Gossip by its trace: whose clocks wake whom, who is busy, what ends it, and what is refused."""

import hashlib
from collections import Counter, defaultdict

import networkx as nx
import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.network.clocks import GammaClock, PoissonClock, ScriptedClock
from asyncdp_sim.network.graphs import Complete, EdgeFile, Edges, GeometricGraph, Ring, StarGraph
from asyncdp_sim.network.protocols import Gossip, Request
from asyncdp_sim.trace import Detail, Ending, EventKind
from tests import tables, traces

K = EventKind
LINE = Edges(between=[[2, 1], [2, 3], [4, 3], [4, 5]])
GRAPHS = [StarGraph(), Ring(), Complete(), GeometricGraph(radius=0.7, graph=3), LINE]
TABLE = tables.table(__file__, "gossip.toml")
SLOW, QUICK = TABLE["slow"], TABLE["quick"]
EXPONENTIAL = {"kind": "exponential", "mean": 3.0}


def traced(graph, n_owners=5, answers=40, clock=None, **parts):
    fields = SLOW | {"updates": answers, "protocol": Gossip(graph=graph)} | parts
    if clock is not None:
        fields["protocol"] = Gossip(graph=graph, clock=clock)
    return traces.traced(traces.network(n_owners, answers, **fields))


def test_edges_in_order():
    assert StarGraph().edges(3) == ((0, 1), (0, 2), (0, 3))
    assert Ring().edges(4) == ((1, 2), (1, 4), (2, 3), (3, 4))
    assert Complete().edges(3) == Ring().edges(3) == ((1, 2), (1, 3), (2, 3))
    assert Ring().edges(2) == Complete().edges(2) == ((1, 2),)
    assert LINE.edges(5) == ((1, 2), (2, 3), (3, 4), (4, 5))


@pytest.mark.parametrize("n_owners", [2, 5, 12])
def test_they_are_what_networkx_calls_them(n_owners):
    owners = range(1, n_owners + 1)
    for graph, known in (
        (StarGraph(), nx.star_graph(n_owners)),
        (Ring(), nx.cycle_graph(owners)),
        (Complete(), nx.complete_graph(owners)),
    ):
        assert nx.utils.graphs_equal(graph.build(n_owners), known)


def test_a_geometric_graph_links_what_is_near_and_is_drawn_once():
    one, two = GeometricGraph(radius=0.5), GeometricGraph(radius=0.5, graph=2)
    assert one.edges(12) == GeometricGraph(radius=0.5).edges(12) != two.edges(12)
    assert set(one.edges(12)) < set(GeometricGraph(radius=0.6).edges(12))
    assert GeometricGraph(radius=1.5).edges(12) == Complete().edges(12)


def test_a_file_is_read_once_and_one_that_is_not_there_has_no_edges(tmp_path):
    """A file says what ``edges`` lists; [topology]'s files may be read, too."""
    path, text = tmp_path / "edges.csv", "source,target,latency\n1,2,0.1\n\n3,2,0.2\n"
    path.write_text(text, encoding="utf-8")
    graph = EdgeFile(path=str(path))
    assert graph.faults(3) == []
    assert graph.edges(3) == ((1, 2), (2, 3))
    assert graph.content_digest() == hashlib.sha256(text.encode()).hexdigest()
    path.unlink()
    gone = graph.model_copy()
    [fault] = gone.faults(3)
    assert "there is no such file" in str(fault)
    assert graph.faults(3) == []
    with pytest.raises(SpecError):
        gone.content_digest()
    with pytest.raises(SpecError):
        gone.edges(3)


@pytest.mark.parametrize("parts", TABLE["star"].values(), ids=TABLE["star"])
def test_a_star_is_request_that_refuses(parts):
    """The same wake-ups, reads and updates to the tick, from the same seed."""
    star, request = traced(StarGraph(), **parts), traced(StarGraph(), protocol=Request(), **parts)
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

    def met(graph, n_owners):
        found = defaultdict(list)
        for row in traced(graph, n_owners, 1000, **QUICK, until=4.0).updates:
            if row["owner"] < row["peer"]:
                found[int(row["owner"]), int(row["peer"])].append(int(row["tick"]))
        return found

    few, many = met(Ring(), 4), met(Complete(), 6)
    assert len(few) == 4
    assert len(many) == 15
    assert all(many[edge] == ticks for edge, ticks in few.items() if edge != (1, 4))


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.kind)
class TestEveryGraph:
    def test_an_update_is_made_by_two_neighbours_of_whom_owners_answer(self, graph):
        edges, per_k = set(graph.edges(5)), defaultdict(list)
        for row in traced(graph).updates:
            per_k[int(row["k"])].append((int(row["owner"]), int(row["peer"])))
        assert sorted(per_k) == list(range(1, 41))
        for pairs in per_k.values():
            owner, peer = pairs[0]
            assert (min(owner, peer), max(owner, peer)) in edges
            assert pairs[1:] == ([] if graph.learner else [(peer, owner)])

    def test_a_node_talks_to_one_neighbour_at_a_time(self, graph):
        rows = traced(graph).exchanges
        for node in graph.nodes(5):
            mine = rows[(rows["owner"] == node) | ((rows["peer"] == node) & (node == 0))]
            order = np.argsort(mine["read_tick"], kind="stable")
            assert np.all(mine["read_tick"][order][1:] >= mine["end_tick"][order][:-1])

    def test_staleness_counts_the_updates_of_others_in_between(self, graph):
        trace = traced(graph)
        for row in trace.updates:
            between = trace.update_ticks[: row["k"] - 1] > row["read_tick"]
            assert row["staleness"] == between.sum()
        assert (trace.updates["staleness"].max() > 0) == (graph.kind != "star")

    def test_the_next_wake_up_of_two_free_nodes_is_never_dropped(self, graph):
        busy = Counter()
        for event in traced(graph).events:
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
        budgets = np.array([2, 5, 3, 9, 4])
        trace = traced(graph, answers_allowed=budgets.tolist(), updates=1000)
        left = [0, *(budgets - trace.released)]
        assert min(left[1:]) == 0
        assert not any(left[b] > 0 and (a == 0 or left[a] > 0) for a, b in graph.edges(5))
        assert trace.ending is (Ending.silent if any(left) else Ending.spent)
        assert trace.end_tick == trace.update_ticks[-1]

    def test_owners_that_leave_for_good_end_the_run(self, graph):
        trace = traced(graph, availability={"kind": "churn", "lifetime": EXPONENTIAL})
        assert trace.ending is Ending.silent
        last = trace.events[np.isin(trace.events["kind"], (K.went_offline, K.update_applied))]
        assert trace.end_tick == last["tick"][-1]


def test_shares_online_are_those_of_the_wake_ups():
    """Both ends draw at every wake-up of an edge, whether or not they are busy."""
    trace = traced(Ring(), availability={"kind": "bernoulli", "probability": 0.5}, until=50.0)
    wakes = np.isin(trace.events["kind"], (K.clock_tick, K.clock_dropped)).sum()
    assert 200 < wakes < 300
    assert np.all(np.abs(trace.owners["online"] - 0.5) < 0.2)
    assert (trace.events["detail"] == Detail.offline).sum() > wakes / 2


def test_who_is_never_online_has_silent_edges():
    def among(*online):
        return traced(LINE, availability={"kind": "bernoulli", "probability": online})

    assert among(1.0, 0.0, 1.0, 0.0, 1.0).end_tick == 0
    trace = among(1.0, 0.0, 1.0, 1.0, 0.0)
    assert set(trace.updates["owner"].tolist()) == {3, 4}
    assert trace.n_updates == 40


def test_clocks_are_the_edges_one_for_all_or_one_each():
    each = PoissonClock(rate=[9.0, 1.0, 1.0, 1.0])
    trace = traced(LINE, 5, 1000, each, **QUICK)
    assert abs(np.mean(trace.updates["owner"] == 1) * 2 - 9 / 12) < 0.05
    assert Gossip(graph=LINE, clock=each).edge_shares(5) == (9 / 12, 1 / 12, 1 / 12, 1 / 12)
    assert Gossip(graph=Ring(), clock=GammaClock(rate=3.0, cv=0.5)).edge_shares(4) == (0.25,) * 4
    scripted = ScriptedClock(times=[[1.0], [2.0], [], [3.0]])
    assert Gossip(graph=LINE, clock=scripted).edge_shares(5) == (0.25,) * 4
    trace = traced(LINE, 5, 1000, scripted, **QUICK)
    assert trace.update_ticks.tolist() == [10**9, 2 * 10**9, 3 * 10**9]
    assert trace.ending is Ending.silent
