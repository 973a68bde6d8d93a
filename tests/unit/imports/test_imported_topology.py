"""GraphML of others: a table of inputs, each with its links and decisions, and one of refusals."""

import random
from itertools import combinations
from pathlib import Path

import networkx as nx
import pytest

from asyncdp_sim.core.errors import InputError
from asyncdp_sim.imports.topology import import_topology
from asyncdp_sim.network.topology import GraphFile

KEY = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
NODES = '<node id="hub"/><node id="a"/><node id="b"/><node id="c"/>'
LEARNER = "learner: 'hub', the first node of the file; --learner NODE takes another"
WEIGHT = "latency: attribute 'weight', of a message in one direction"


def edge(a: str, b: str, weight: object = None, key: str = "w", more: str = "") -> str:
    data = "" if weight is None else f'<data key="{key}">{weight}</data>'
    return f'<edge source="{a}" target="{b}" {more}>{data}</edge>'


STAR = edge("hub", "a", 1) + edge("hub", "b", 2) + edge("hub", "c", 3)
CASE = (
    edge("hub", "a", 10.0)
    + edge("a", "hub", 12.0)
    + edge("hub", "b", 30.0)
    + edge("b", "hub", 30.0)
    + edge("a", "b", 5.0)
    + edge("b", "a", 5.0)
    + edge("hub", "c", 40.0)
    + edge("c", "hub", 41.0)
    + edge("hub", "c", 44.0)
)
TRIANGLE = edge("hub", "a", 10) + edge("hub", "b", 30) + edge("a", "b", 5)
SQUARE = TRIANGLE + edge("hub", "c", 9) + edge("a", "c", 9) + edge("b", "c", 9)


def graphml(edges: str, nodes: str = NODES, keys: str = KEY, default: str = "undirected") -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}'
        f'<graph edgedefault="{default}">{nodes}{edges}</graph></graphml>'
    )


def imported(folder: Path, text: str, **options: object) -> tuple[dict[str, float], list[str]]:
    """Import a document; return the latencies of its links by labels, and what was printed."""
    (folder / "theirs.graphml").write_text(text, encoding="utf-8")
    out = folder / "ours.graphml"
    lines = import_topology(folder / "theirs.graphml", out, **options)
    spec, owners = GraphFile(path=str(out)), int(lines[-1].rpartition(" ")[2])
    block = 'topology = { kind = "file", path = "ours.graphml" }'
    assert lines[-1] == f"{block}  # and owners.count = {owners}"
    assert spec.faults(owners) == []
    labels = nx.read_graphml(out).nodes(data="label")
    names = {0: labels["learner"]} | {i: labels[str(i)] for i in range(1, owners + 1)}
    links = spec.build(owners).edges(data="latency")
    return {f"{names.get(a, a)}-{names.get(b, b)}": far for a, b, far in links}, lines[:-1]


INPUTS = {
    "the case": (
        graphml(CASE, default="directed"),
        {"unit": "ms"},
        {"hub-a": 0.011, "hub-b": 0.03, "hub-c": 0.0405, "a-b": 0.005},
        [
            WEIGHT,
            "unit: ms, and a time unit is 1 s",
            "1 parallel edge: the shortest of a direction counts",
            "2 pairs of nodes with unequal directions: their mean counts (most unequal: 'a' to "
            "'hub' 0.012 s, back 0.01 s)",
            LEARNER,
            "3 owners: 1 = 'a', 2 = 'b', 3 = 'c'",
            "messages take the shortest route over links",
            "routes through other nodes are shorter than 1 of 3 direct edges, by at most 0.014 s: "
            "'hub' to 'b' 0.03 s measured, 0.016 s through 'a'",
        ],
    ),
    "a complete graph of measured latencies": (
        graphml(SQUARE),
        {},
        {"hub-a": 10, "hub-b": 30, "hub-c": 9},
        [
            "complete graph, so latencies are end to end: messages take the direct edge",
            "routes through other nodes are shorter than 1 of 3 direct edges, by at most 15: "
            "'hub' to 'b' 30 measured, 15 through 'a'",
        ],
    ),
    "a complete graph without shorter routes": (
        graphml(SQUARE.replace(">30<", ">15<")),
        {},
        {"hub-a": 10, "hub-b": 15, "hub-c": 9},
        ["complete graph, so latencies are end to end: messages take the direct edge"],
    ),
    "one direction only": (
        graphml(STAR, default="directed"),
        {},
        {"hub-a": 1, "hub-b": 2, "hub-c": 3},
        ["3 pairs of nodes with an edge in one direction only: it counts for both"],
    ),
    "an undirected graph with weight": (
        graphml(STAR),
        {"unit": "us"},
        {"hub-a": 1e-6, "hub-b": 2e-6, "hub-c": 3e-6},
        [WEIGHT, "unit: us, and a time unit is 1 s", LEARNER],
    ),
    "a unit that is a number": (
        graphml(STAR),
        {"unit": "0.5"},
        {"hub-a": 0.5, "hub-b": 1, "hub-c": 1.5},
        ["unit: a latency of 1 is 0.5 time units; with --unit s, ms or us a time unit is 1 s"],
    ),
    "seconds": (
        graphml(STAR),
        {"unit": "s"},
        {"hub-a": 1, "hub-b": 2, "hub-c": 3},
        ["unit: s, and a time unit is 1 s"],
    ),
    "an undirected multigraph": (
        graphml(STAR + edge("a", "hub", 0.5) + edge("hub", "a", 7)),
        {},
        {"hub-a": 0.5, "hub-b": 2, "hub-c": 3},
        ["2 parallel edges: the shortest of a direction counts"],
    ),
    "a directed edge in an undirected graph": (
        graphml(STAR + edge("hub", "a", 0.5, more='directed="true"')),
        {},
        {"hub-a": 0.75, "hub-b": 2, "hub-c": 3},
        [
            "1 pair of nodes with unequal directions: their mean counts (most unequal: 'a' to "
            "'hub' 1, back 0.5)"
        ],
    ),
    "an edge from a node to itself": (
        graphml(STAR + edge("a", "a", -1)),
        {},
        {"hub-a": 1, "hub-b": 2, "hub-c": 3},
        ["1 edge from a node to itself: left out"],
    ),
    "isolated nodes, and a part without a path": (
        graphml(edge("hub", "a", 1) + edge("b", "c", 1), NODES + '<node id="d"/>'),
        {},
        {"hub-a": 1},
        ["3 nodes without a path left out: 'b', 'c', 'd'", "1 owner: 1 = 'a'"],
    ),
    "another learner": (
        graphml(STAR),
        {"learner": "b"},
        {"b-hub": 2, "hub-a": 1, "hub-c": 3},
        ["learner: 'b', by --learner", "3 owners: 1 = 'hub', 2 = 'a', 3 = 'c'"],
    ),
    "ids that are not 1 to N": (
        graphml(
            edge("7", "0", 1) + edge("7", "12", 2),
            '<node id="0"/><node id="7"/><node id="12"/>',
        ),
        {"learner": "7"},
        {"7-0": 1, "7-12": 2},
        ["2 owners: 1 = '0', 2 = '12'"],
    ),
    "our names, with a gap and a router": (
        graphml(
            edge("learner", "core", 1) + edge("core", "10", 2) + edge("core", "9", 3),
            '<node id="10"/><node id="9"/><node id="core"/><node id="learner"/>',
        ),
        {},
        {"learner-core": 1, "10-core": 2, "9-core": 3},
        [
            "learner: 'learner', the node of that name; --learner NODE takes another",
            "2 owners: 1 = '9', 2 = '10'",
            "1 router: 'core'",
        ],
    ),
    "labels": (
        graphml(
            edge("n0", "n1", 1) + edge("n1", "n2", 2),
            '<node id="n0"><data key="l">Köln</data></node><node id="n1"><data key="l">Bonn</data>'
            '</node><node id="n2"><data key="l">Bonn</data></node>',
            KEY + '<key id="l" for="node" attr.name="Name" attr.type="string"/>',
        ),
        {"learner": "Köln"},
        {"Köln-n1": 1, "n1-n2": 2},
        ["learner: 'Köln', by --learner", "2 owners: 1 = 'n1', 2 = 'n2'"],
    ),
    "labels of a graph editor": (
        graphml(
            edge("n0", "n1", 1),
            '<node id="n0"><data key="g"><y:NodeLabel xmlns:y="y">Rome</y:NodeLabel></data></node>'
            '<node id="n1"/>',
            KEY + '<key id="g" for="node" yfiles.type="nodegraphics"/>',
        ),
        {},
        {"Rome-n1": 1},
        ["1 owner: 1 = 'n1'"],
    ),
    "another attribute, latency first": (
        graphml(
            '<edge source="hub" target="a"><data key="w">9</data><data key="d">1</data></edge>'
            '<edge source="hub" target="b"><data key="w">9</data><data key="d">2</data></edge>',
            '<node id="hub"/><node id="a"/><node id="b"/>',
            KEY + '<key id="d" for="edge" attr.name="latency" attr.type="double"/>',
        ),
        {},
        {"hub-a": 1, "hub-b": 2},
        ["latency: attribute 'latency', of a message in one direction"],
    ),
    "an attribute that is named": (
        graphml(STAR.replace('"w"', '"r"'), keys=KEY + '<key id="r" for="edge" attr.name="rtt"/>'),
        {"latency": "rtt"},
        {"hub-a": 1, "hub-b": 2, "hub-c": 3},
        ["latency: attribute 'rtt', of a message in one direction"],
    ),
    "two keys of one name, an edge with either": (
        graphml(
            edge("hub", "a", 1) + edge("hub", "b", 2.5, "v") + edge("hub", "c", 3),
            keys=KEY + '<key id="v" for="edge" attr.name="weight" attr.type="long"/>'
            '<key id="n" for="node" attr.name="weight" attr.type="string"/>',
        ),
        {},
        {"hub-a": 1, "hub-b": 2.5, "hub-c": 3},
        [WEIGHT],
    ),
    "the id of a key": (
        graphml(
            '<edge source="hub" target="a"><data key="w">9</data><data key="v">1</data></edge>',
            '<node id="hub"/><node id="a"/>',
            KEY + '<key id="v" for="edge" attr.name="weight" attr.type="double"/>',
        ),
        {"latency": "v"},
        {"hub-a": 1},
        ["latency: attribute 'v', of a message in one direction"],
    ),
    "edges without a latency": (
        graphml(STAR + edge("a", "b")),
        {"missing": 7.0, "unit": "ms"},
        {"hub-a": 0.001, "hub-b": 0.002, "hub-c": 0.003, "a-b": 0.007},
        ["1 edge without a latency: 7.0 each"],
    ),
    "no latencies at all": (
        graphml(edge("hub", "a") + edge("a", "b")),
        {"missing": 1.0},
        {"hub-a": 1, "a-b": 1},
        ["2 edges without a latency: 1.0 each", "1 node without a path left out: 'c'"],
    ),
    "the default of a key": (
        graphml(STAR + edge("a", "b"), keys=KEY.replace("/>", "><default>4</default></key>")),
        {"missing": 7.0},
        {"hub-a": 1, "hub-b": 2, "hub-c": 3, "a-b": 4},
        ["1 edge without a latency: 4 each"],
    ),
}


@pytest.mark.parametrize("name", INPUTS)
def test_a_graph_of_others_becomes_ours(tmp_path: Path, name: str) -> None:
    text, options, links, decisions = INPUTS[name]
    found, lines = imported(tmp_path, text, **options)
    assert {frozenset(link.split("-")): far for link, far in found.items()} == {
        frozenset(link.split("-")): far for link, far in links.items()
    }
    assert [line for line in decisions if line not in lines] == []
    if name == "the case":
        assert lines == decisions
    if "routes through" not in " ".join(decisions):
        assert not any("routes through" in line for line in lines)


NUMBER = "allowed is a number alone, from 0 to 1e+09 time units"
NODE = "allowed is one node for each id"


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (
            graphml(STAR + edge("a", "b", -1) + edge("a", "c", "5 ms") + edge("b", "c", "nan")),
            {},
            [
                f"latency '-1' on the edge 'a' to 'b' (edge 4); {NUMBER}",
                f"latency '5 ms' on the edge 'a' to 'c' (edge 5); {NUMBER}",
                f"latency 'nan' on the edge 'b' to 'c' (edge 6); {NUMBER}",
            ],
        ),
        (
            graphml(STAR + edge("a", "b", "1,5") + edge("a", "b")),
            {},
            [
                f"latency '1,5' on the edge 'a' to 'b' (edge 4); {NUMBER}",
                "no weight on the edge 'a' to 'b' (edge 5); allowed is one on every edge; "
                "--missing VALUE is that of edges without",
            ],
        ),
        (
            graphml(STAR),
            {"unit": "1e9"},
            [
                f"latency '{i}' on the edge 'hub' to '{n}' (edge {i}); {NUMBER}"
                for i, n in ((2, "b"), (3, "c"))
            ],
        ),
        (
            graphml(edge("hub", "a", 1) + edge("hub", "z", 1) + edge("", "a", 1)),
            {},
            [
                "the edge 'hub' to 'z' (edge 2); allowed are edges between nodes of the graph",
                "the edge '' to 'a' (edge 3); allowed are edges between nodes of the graph",
            ],
        ),
        (
            graphml(STAR, NODES + '<node id="a"/><node/>'),
            {},
            [f"again the node 'a'; {NODE}", f"a node without an id; {NODE}"],
        ),
        (
            graphml(STAR.replace('"w"', '"r"'), keys='<key id="r" for="edge" attr.name="rtt"/>'),
            {},
            [
                "edges without latency or weight; allowed is --latency with one of rtt, or "
                "--missing VALUE, the latency of edges that state none"
            ],
        ),
        (
            graphml(STAR),
            {"latency": "delay"},
            [
                "edges without 'delay'; allowed is --latency with one of weight, or --missing "
                "VALUE, the latency of edges that state none"
            ],
        ),
        (
            graphml(edge("hub", "a")),
            {},
            [
                "edges without latency or weight; allowed is --missing VALUE, the latency of edges "
                "that state none"
            ],
        ),
        (
            graphml(
                '<edge source="hub" target="a"><data key="w">9</data><data key="v">1</data></edge>',
                keys=KEY + KEY.replace('"w"', '"v"'),
            ),
            {},
            [
                "2 latencies on the edge 'hub' to 'a' (edge 1); allowed is the id of one key: "
                "--latency w or v"
            ],
        ),
        (
            graphml(STAR + '<hyperedge><endpoint node="a"/></hyperedge>'),
            {},
            ["a hyperedge; allowed are edges between two nodes"],
        ),
        (
            graphml(edge("a", "b", 1)),
            {},
            ["the learner 'hub' without edges; allowed is a node with an edge: --learner NODE"],
        ),
        (graphml("", ""), {}, ["a graph without nodes; allowed is one with two or more"]),
        (
            "hub,a,1",
            {},
            [
                "text that is not XML: syntax error: line 1, column 0 (theirs.graphml); allowed is "
                "GraphML"
            ],
        ),
        (
            graphml(STAR).replace("UTF-8", "klingon"),
            {},
            [
                "text that is not XML: unknown encoding: klingon (theirs.graphml); "
                "allowed is GraphML"
            ],
        ),
        (
            "<svg/>",
            {},
            ["XML without a graph (theirs.graphml); allowed is GraphML: <graphml> with a <graph>"],
        ),
    ],
)
def test_what_is_wrong_is_a_line_each(
    tmp_path: Path, text: str, options: dict[str, object], expected: list[str]
) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, text, **options)
    assert error.value.lines() == [f"given {line}" for line in expected]
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.graphml"]


def test_the_first_faults_of_many_are_shown(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, graphml(STAR + edge("a", "b", "x") * 15))
    assert len(error.value.lines()) == 11


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_a_document_is_decoded_as_it_declares(tmp_path: Path, encoding: str) -> None:
    nodes = '<node id="Zürich"/><node id="Genève"/>'
    text = graphml(edge("Zürich", "Genève", 1), nodes)
    declared = text.replace("UTF-8", encoding.removesuffix("-sig"))
    (tmp_path / "theirs.graphml").write_bytes(declared.encode(encoding))
    lines = import_topology(tmp_path / "theirs.graphml", tmp_path / "ours.graphml")
    assert "1 owner: 1 = 'Genève'" in lines


def test_links_are_the_mean_of_the_shortest_of_each_direction(tmp_path: Path) -> None:
    """Twenty random directed multigraphs that networkx writes, whole numbers among the weights."""
    for seed in range(20):
        draws = random.Random(seed)
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(["hub", "a", "b", "c", "d"])
        for _ in range(30):
            a, b = draws.sample(["hub", "a", "b", "c", "d"], 2)
            graph.add_edge(a, b, weight=draws.choice((draws.uniform(0, 9), draws.randrange(9))))
        nx.write_graphml(graph, tmp_path / "drawn.graphml")
        found, _ = imported(tmp_path, (tmp_path / "drawn.graphml").read_text(encoding="utf-8"))
        expected = {}
        for a, b in combinations(graph, 2):
            each = [
                min((w for *ends, w in graph.edges(data="weight") if ends == way), default=None)
                for way in ([a, b], [b, a])
            ]
            given = [far for far in each if far is not None]
            if given:
                expected[frozenset((a, b))] = sum(given) / len(given)
        if len(expected) == 10:
            expected = {link: far for link, far in expected.items() if "hub" in link}
        assert {frozenset(link.split("-")): far for link, far in found.items()} == pytest.approx(
            expected
        )
