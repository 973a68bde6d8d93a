"""Distances over graphs by hand, failing links to the tick, and what is said of a wrong file."""

import hashlib
import itertools
import random
from functools import partial
from math import dist, exp, inf, sqrt
from pathlib import Path

import networkx as nx
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Priority
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import topology
from asyncdp_sim.network.graphs import EdgeFile, faults_of_servers
from asyncdp_sim.network.laws import Constant, Exponential, Uniform
from asyncdp_sim.network.topology import Geometric, GraphFile, LinkFailures, Routes, Star, Waxman
from tests.tables import table
from tests.together import together
from tests.traces import scope
from tests.unit.network.stand_ins import UNIT, Notes

TABLE = table(__file__, "topology.toml")
DISTANCES = pytest.mark.oracle("distances of owners over links")
RANDOM_GRAPHS = pytest.mark.oracle("links of random graphs")

HERE = Path(__file__).parent
RANDOM = [
    Waxman(alpha=0.5, beta=1.0, latency_per_distance=2.0),
    Geometric(radius=0.9, latency_per_distance=2.0),
]
EACH_RANDOM = pytest.mark.parametrize("spec", RANDOM, ids=lambda spec: spec.kind)
KINDS = "allowed is GraphML (.graphml) or a CSV (.csv) with the columns source,target,latency"
SQUARE = "source,target,latency\nlearner,1,1\n1,2,1\n2,hub,2\nhub,learner,2\n"
"""Learner and owner 2 at opposite corners; the way over owner 1 is the shorter."""


@pytest.fixture
def written(tmp_path):
    def write(text, name="net.csv", **fields):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return GraphFile(path=str(tmp_path / name), **fields)

    return write


def said(spec, n_owners=2):
    return [str(fault) for fault in spec.faults(n_owners)]


def edges(graph):
    return {(a, b): latency for a, b, latency in graph.edges(data="latency")}


def look(notes, ticks, found):
    """Note the owners' distances at each of some ticks, after all changes of it."""
    for tick in ticks:
        yield notes.kernel.at(tick, Priority.CLOCK_TICK)
        found.append(notes.distances())


def presence(spec, n_owners, until):
    notes = Notes(n_owners)
    spec.start_processes(notes.owners, notes, scope())
    notes.kernel.run_before(until * UNIT)
    return notes.told


@DISTANCES
def test_a_star_is_its_links():
    assert Star(latency=0.3).distances(3) == (0.3, 0.3, 0.3)
    star = Star(latency=(0.1, 0.2))
    assert star.distances(2) == (0.1, 0.2)
    assert edges(star.build(2)) == {(0, 1): 0.1, (0, 2): 0.2}
    assert said(star) == []


def test_adding_owners_to_a_star_leaves_the_others():
    assert Star(latency=0.3).distances(40)[:3] == Star(latency=0.3).distances(3)
    failures = LinkFailures(gap=Exponential(mean=1.0), length=Exponential(mean=0.5))
    few, many = (presence(Star(failures=failures), n, until=20) for n in (2, 7))
    assert len(few) > 20
    assert [note for note in many if note[1] <= 2] == few


@DISTANCES
def test_shortest_paths_by_hand(written):
    spec = written(SQUARE)
    assert said(spec) == []
    assert spec.distances(2) == (1.0, 2.0)
    assert edges(spec.build(2)) == {(0, 1): 1.0, (1, 2): 1.0, (0, "hub"): 2.0, (2, "hub"): 2.0}
    shorter = SQUARE.replace("2,hub,2", "2,hub,0").replace("hub,learner,2", "hub,learner,.5")
    assert written(shorter).distances(2) == (1.0, 0.5)


def test_owners_beyond_the_count_are_routers(written):
    spec = written(SQUARE)
    assert said(spec, 1) == []
    assert spec.distances(1) == (1.0,)
    assert set(spec.build(1)) == {0, 1, "2", "hub"}


@together
@DISTANCES
@pytest.mark.parametrize("case", TABLE["failing"].values(), ids=TABLE["failing"])
def test_a_square_whose_links_fail_one_by_one(case):
    """And a triangle of which one link fails as another is repaired."""
    graph = nx.Graph()
    graph.add_weighted_edges_from(case["links"], weight="latency")
    notes, found, before = Notes(case["owners"]), [], edges(graph)
    routes = Routes(graph, notes.owners, notes)

    def script():
        for time, *changes in case["changes"]:
            yield notes.kernel.at(time * UNIT, Priority.PRESENCE)
            for *link, works in changes:
                routes.change(tuple(link), works)

    notes.kernel.start(script())
    notes.kernel.start(look(notes, [time * UNIT for time, *_ in case["changes"]], found))
    notes.kernel.run_before()
    assert found == case["distances"]
    assert list(map(list, notes.told)) == case["told"]
    assert edges(graph) == before


def test_constant_laws_make_a_schedule(written):
    failures = LinkFailures(gap=Constant(value=2.0), length=Constant(value=0.5))
    told = presence(written(SQUARE, failures=failures), 2, until=6)
    assert told == [
        (time, number, what)
        for time, what in [(2.0, "off"), (2.5, "on"), (4.5, "off"), (5.0, "on")]
        for number in (1, 2)
    ]


def test_every_link_has_streams_of_its_own(written):
    """Against a slow twin: link by link from its named streams, path by path by hand."""
    laws = {"gap": Uniform(low=0.5, high=3.0), "length": Exponential(mean=0.7)}
    spec = written(SQUARE, failures=LinkFailures(**laws))
    up = {}
    for link in [(0, 1), (0, "hub"), (1, 2), (2, "hub")]:
        draws = [
            laws[name].durations(partial(scope(3).generator, "edge", *link, name), 16)
            for name in ("gap", "length")
        ]
        up[link] = list(itertools.accumulate(next(draws[turn % 2]) for turn in range(100)))

    def works(tick, link):
        return sum(step <= tick for step in up[link]) % 2 == 0

    def distance(tick, paths):
        ways = (far for far, path in paths if all(works(tick, link) for link in path))
        return min(ways, default=None)

    ways = (
        [(1.0, [(0, 1)]), (5.0, [(0, "hub"), (2, "hub"), (1, 2)])],
        [(2.0, [(0, 1), (1, 2)]), (4.0, [(0, "hub"), (2, "hub")])],
    )
    until = 40 * UNIT
    changes = sorted({step for steps in up.values() for step in steps if step < until})
    assert len(changes) > 60
    assert min(steps[-1] for steps in up.values()) > until
    expected, seen, last = [], [], [(1.0, True), (2.0, True)]
    for tick in changes:
        for index, paths in enumerate(ways):
            far, (before, was) = distance(tick, paths), last[index]
            last[index] = (before if far is None else far, far is not None)
            if was != (far is not None):
                expected.append((tick / UNIT, index + 1, "on" if far is not None else "off"))
        seen.append([far for far, _ in last])

    notes, found = Notes(2), []
    spec.start_processes(notes.owners, notes, scope(3))
    notes.kernel.start(look(notes, changes, found))
    notes.kernel.run_before(until)
    assert found == seen
    assert notes.told == expected
    assert len(expected) > 10


@EACH_RANDOM
def test_the_number_of_a_graph_decides_it(spec):
    again = parse(topology.Topology, spec.model_dump())
    assert edges(spec.build(20)) == edges(again.build(20))
    assert spec.distances(20) == again.distances(20)
    assert edges(spec.model_copy(update={"graph": 2}).build(20)) != edges(spec.build(20))
    assert spec.distances(5) == spec.model_copy().distances(5)
    assert set(spec.build(20)) == set(range(21))
    assert min(edges(spec.build(20)).values()) >= 0


@RANDOM_GRAPHS
def test_a_geometric_graph_by_hand():
    """Places drawn from the same source, and all simple paths."""
    spec, n = Geometric(radius=0.6, latency_per_distance=3.0, graph=4), 5
    start = Streams(4).generator("topology", "geometric").integers(2**63)
    source = random.Random(int(start))
    places = [(source.random(), source.random()) for _ in range(n + 1)]
    near = {
        (a, b): 3 * dist(places[a], places[b])
        for a, b in itertools.combinations(range(n + 1), 2)
        if dist(places[a], places[b]) <= 0.6
    }
    assert edges(spec.build(n)) == pytest.approx(near)
    for number, far in enumerate(spec.distances(n), start=1):
        middles = [m for m in range(1, n + 1) if m != number]
        ways = [
            sum(near.get((min(a, b), max(a, b)), inf) for a, b in itertools.pairwise(path))
            for k in range(n)
            for inner in itertools.permutations(middles, k)
            for path in [(0, *inner, number)]
        ]
        assert far == pytest.approx(min(ways))


@RANDOM_GRAPHS
def test_waxman_links_are_as_likely_as_the_formula_says():
    """z-test, |z| < 4 (fixed seeds), over 300 graphs of 10 nodes: links minus Σ β exp(−d/(αL))."""
    surplus, variance = 0.0, 0.0
    for number in range(1, 301):
        graph = Waxman(alpha=0.3, beta=0.8, latency_per_distance=2.0, graph=number).build(9)
        places = graph.nodes(data="pos")
        pairs = itertools.combinations(range(10), 2)
        apart = {(a, b): dist(places[a], places[b]) for a, b in pairs}
        chances = [0.8 * exp(-far / (0.3 * max(apart.values()))) for far in apart.values()]
        surplus += graph.number_of_edges() - sum(chances)
        variance += sum(p * (1 - p) for p in chances)
        for link, latency in edges(graph).items():
            assert latency == pytest.approx(2 * apart[link])
    assert abs(surplus) < 4 * sqrt(variance)
    assert sqrt(variance) < 60  # 13,500 pairs: α and β swapped would be far off


def test_a_random_graph_in_pieces_reaches_nobody():
    lone = Geometric(radius=1e-6, latency_per_distance=1.0, graph=7)
    assert "owners 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more have no path" in said(lone, 13)[0]
    assert lone.distances(2) == (inf, inf)
    for spec in RANDOM:
        assert said(spec, 20) == []


def test_graphml_and_csv_say_the_same(written, tmp_path):
    graph = nx.Graph()
    graph.add_edge("learner", "1", latency=1)  # a whole number is a key of its own
    graph.add_edge("1", "2", latency=1.0, colour="red")
    links = [("2", "hub", 2.0), ("hub", "learner", 2.0), ("hub", "hub", 7.0)]
    graph.add_weighted_edges_from(links, weight="latency")
    nx.write_graphml(graph, tmp_path / "net.graphml")
    spec, listed = GraphFile(path=str(tmp_path / "net.graphml")), written(SQUARE)
    assert said(spec) == []
    assert edges(spec.build(2)) == edges(listed.build(2))
    assert spec.distances(2) == (1.0, 2.0)
    for each in (spec, listed):
        data = Path(each.path).read_bytes()
        assert each.content_digest() == hashlib.sha256(data).hexdigest()


def test_graphml_by_hand_with_a_default_latency():
    spec = GraphFile(path=str(HERE / "default_latency.graphml"))
    assert said(spec) == []
    assert spec.distances(2) == (0.25, 0.75)


def test_a_file_that_cannot_be_read(written, tmp_path):
    nowhere = str(tmp_path / "nowhere.graphml")
    assert said(GraphFile(path=nowhere)) == [
        f"topology.path: given '{nowhere}'; there is no such file; {KINDS}"
    ]
    other = written("graph {}", "net.dot")
    with pytest.raises(SpecError, match="GraphML"):
        other.content_digest()
    with pytest.raises(SpecError, match="header"):
        written("from,to,latency\nlearner,1,1\n").build(2)


DRAWN = (HERE / "drawn.graphml").read_text("utf-8")
"""As graph editors and collections of maps write it."""


def test_graphml_may_say_much_else(written):
    spec = written(DRAWN, "net.graphml")
    assert said(spec, 3) == []
    assert spec.distances(3) == (0.5, 0.75, 0.85)
    edges = EdgeFile(path=written(DRAWN.replace("learner", "4"), "owners.graphml").path)
    assert edges.misfits(4) == []
    assert sorted(edges.links(4)) == [(1, 2), (2, 3), (4, 1)]
    assert [str(fault) for fault in faults_of_servers(edges, 3)] == [
        "graph.path: given the edge 4 to 1 (owners.graphml, edge 1); allowed are two different "
        "servers from 1 to 3"
    ]
    told = [str(fault) for fault in EdgeFile(path=spec.path).misfits(3)]
    assert told == [
        "graph.path: given the edge 'learner' to '1' (net.graphml, edge 1); allowed are numbers "
        "of owners"
    ]
