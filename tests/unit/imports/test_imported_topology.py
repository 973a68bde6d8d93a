"""GraphML of others: a table of inputs, each with its links and decisions, and one of refusals."""

import random
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from asyncdp_sim.core.errors import InputError
from asyncdp_sim.imports.topology import import_topology
from asyncdp_sim.network.topology import GraphFile
from tests.tables import table

DATA = table(__file__, "imported_topology.toml")
KEY = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
NODES = '<node id="hub"/><node id="a"/><node id="b"/><node id="c"/>'


def edge(said: str) -> str:
    """Return an edge of its ends and its latency; XML as it is."""
    if said.startswith("<"):
        return said
    a, b, *weights = said.split()
    data = "".join(f'<data key="w">{weight}</data>' for weight in weights)
    return f'<edge source="{a}" target="{b}">{data}</edge>'


def graphml(edges="", nodes=NODES, keys=KEY, default="undirected"):
    drawn = "".join(edge(said) for said in edges.split(", ") if said != "")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}'
        f'<graph edgedefault="{default}">{nodes}{drawn}</graph></graphml>'
    )


def document(case: dict[str, Any]) -> str:
    """Return the document of a case."""
    parts = {key: case[key] for key in ("edges", "nodes", "keys", "default") if key in case}
    return str(case.get("text", graphml(**parts)))


def imported(folder: Path, text: str, **options: object) -> tuple[dict[str, float], list[str]]:
    """Import a document; return the latencies of its links by labels, and what was printed."""
    (folder / "theirs.graphml").write_text(text, encoding="utf-8")
    out = folder / "ours.graphml"
    lines = import_topology(folder / "theirs.graphml", out, **options)
    spec, owners = GraphFile(path=str(out)), int(lines[-1].rpartition(" ")[2])
    block = 'topology = { kind = "file", path = "ours.graphml" }'
    assert lines[-1] == f"{block}  # for a scenario with owners.count = {owners}"
    assert spec.faults(owners) == []
    labels = nx.read_graphml(out).nodes(data="label")
    names = {0: labels["learner"]} | {i: labels[str(i)] for i in range(1, owners + 1)}
    links = spec.build(owners).edges(data="latency")
    return {f"{names.get(a, a)}-{names.get(b, b)}": far for a, b, far in links}, lines[:-1]


@pytest.mark.parametrize("name", DATA["inputs"])
def test_a_graph_of_others_becomes_ours(tmp_path, name):
    case = DATA["inputs"][name]
    decisions = case["decisions"]
    found, lines = imported(tmp_path, document(case), **case.get("options", {}))
    assert {frozenset(link.split("-")): far for link, far in found.items()} == {
        frozenset(link.split("-")): far for link, far in case["links"].items()
    }
    assert [line for line in decisions if line not in lines] == []
    if name == "the case":
        assert lines == decisions
    if "routes through" not in " ".join(decisions):
        assert not any("routes through" in line for line in lines)


@pytest.mark.parametrize("case", DATA["wrong"])
def test_what_is_wrong_is_a_line_each(tmp_path, case):
    with pytest.raises(InputError) as error:
        imported(tmp_path, document(case), **case.get("options", {}))
    assert error.value.lines() == [f"given {line}" for line in case["lines"]]
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.graphml"]


def test_the_first_faults_of_many_are_shown(tmp_path):
    with pytest.raises(InputError) as error:
        imported(tmp_path, graphml(", ".join(["a b x"] * 15)))
    assert len(error.value.lines()) == 11


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_a_document_is_decoded_as_it_declares(tmp_path, encoding):
    nodes = '<node id="Zürich"/><node id="Genève"/>'
    text = graphml("Zürich Genève 1", nodes)
    declared = text.replace("UTF-8", encoding.removesuffix("-sig"))
    (tmp_path / "theirs.graphml").write_bytes(declared.encode(encoding))
    lines = import_topology(tmp_path / "theirs.graphml", tmp_path / "ours.graphml")
    assert "1 owner: 1 = 'Genève'" in lines


def test_links_are_the_mean_of_the_shortest_of_each_direction(tmp_path):
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
