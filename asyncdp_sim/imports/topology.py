"""Topologies of others: real GraphML as the graph file that ``[topology]`` reads."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.words import number
from asyncdp_sim.imports.around import counted
from asyncdp_sim.network.table_file import (
    LONGEST,
    bytes_of,
    graph_of,
    shortened,
    text_in,
    time_of,
    within,
)
from asyncdp_sim.network.topology import NAME, enumerated
from asyncdp_sim.results.write import write_into
from asyncdp_sim.spec.validation import show

if TYPE_CHECKING:
    import networkx as nx

IN_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6}
LATENCIES = ("latency", "weight")
"""Attributes of edges that hold latencies where no other is named, in this order."""
KIND = "allowed is GraphML (.graphml)"
FROM_GML = (
    "convert it: python -c \"import networkx as nx; nx.write_graphml(nx.read_gml('{file}', "
    "label='id'), '{file}.graphml')\""
)
"""What to type for GML, which is not read."""


class _Attribute(NamedTuple):
    """An attribute of edges: its name, the ids of its keys, and its value where none is stated."""

    name: str
    keys: Collection[str]
    default: str | None


class _Edge(NamedTuple):
    """An edge: two nodes, whether it has one direction, its latency, and whether it states one."""

    source: str
    target: str
    directed: bool
    latency: float
    stated: bool


def import_topology(
    file: Path,
    out: Path,
    *,
    latency: str | None = None,
    unit: str | None = None,
    missing: float | None = None,
    learner: str | None = None,
) -> list[str]:
    """Write a graph of others as a graph file of ours, and return what was decided, in words.

    Parameters
    ----------
    file : Path
        GraphML, directed or not, with parallel edges or without.
    out : Path
        The graph file, .graphml. The attribute ``label`` of a node is its name in the other file.
    latency : str, optional
        The attribute of edges that holds latencies: its name, or the id of its key.
    unit : str, optional
        Of these latencies: s, ms or us, and a time unit is a second; or the time units in one.
    missing : float, optional
        The latency of edges that state none, in that unit.
    learner : str, optional
        The node of the learner, by its id or label.

    Raises
    ------
    DataError, SpecError
        If the file is no such graph, with a fault for each thing that is wrong.
    """
    import networkx as nx

    if out.suffix != ".graphml" or out.resolve() == file.resolve():
        remedy = "allowed is a name that ends in .graphml, other than the file that is read"
        raise DataError([Fault("-o", repr(str(out)), remedy)])
    if file.suffix.lower() == ".gml":
        convert = FROM_GML.format(file=file.name)
        raise DataError([Fault("", "a file .gml", f"{KIND}; {convert}")])
    root, graph = graph_of(bytes_of(str(file), "", KIND), file.name, "")
    wrong: list[Fault] = []
    labels = _labels(root, graph, wrong)
    attribute = _attribute(root, graph, latency, None if missing is None else repr(missing))
    edges = list(_edges(graph, labels, attribute, unit, wrong))
    if len(wrong) > 0:
        raise DataError(shortened(wrong, file.name))
    second = " s" if unit in IN_A_SECOND else ""
    ways, parallel = _shortest(edges)
    links = nx.Graph()
    links.add_nodes_from((node, {"label": label}) for node, label in labels.items())
    for (a, b), far in ways.items():
        links.add_edge(a, b, latency=(far + ways.get((b, a), far)) / 2)
    hub, reason = _learner(labels, learner)
    near = nx.node_connected_component(links, hub)
    apart = [node for node in labels if node not in near]
    links.remove_nodes_from(apart)
    if len(links) == 1:
        remedy = "allowed is a node with an edge: --learner NODE"
        raise DataError([Fault("", f"the learner {show(labels[hub])} without edges", remedy)])
    names = _names(links, hub)
    owners = [f"{name} = {show(labels[node])}" for node, name in names.items() if node != hub]
    routers = [show(labels[node]) for node in links if node not in names]
    lines = [
        *_about_edges(attribute, unit, edges, parallel),
        *_about_directions(ways, labels, second),
        f"learner: {show(labels[hub])}, {reason}",
        f"{counted(len(owners), 'owner')}: {enumerated(owners)}",
    ]
    if len(routers) > 0:
        lines.append(f"{counted(len(routers), 'router')}: {enumerated(routers)}")
    if len(apart) > 0:
        left_out = enumerated([show(labels[node]) for node in apart])
        lines.append(f"{counted(len(apart), 'node')} without a path left out: {left_out}")
    lines += _about_routes(links, hub, second)
    text = "\n".join(nx.generate_graphml(nx.relabel_nodes(links, names)))
    write_into(out.absolute().parent, out.name, f"{text}\n")
    block = f'topology = {{ kind = "file", path = "{out.name}" }}'
    return [*lines, f"{block}  # for a scenario with owners.count = {len(owners)}"]


def _labels(root: Element, graph: Element, wrong: list[Fault]) -> dict[str, str]:
    """Return the labels of nodes by id; a node whose label is absent or not unique has its id."""
    keys = {key.get("id"): key.get("attr.name", "").lower() for key in within(root, "key")}
    labels: dict[str, str] = {}
    for node in within(graph, "node"):
        name = node.get("id", "")
        if name == "" or name in labels:
            value = "a node without an id" if name == "" else f"again the node {show(name)}"
            wrong.append(Fault("", value, "allowed is one node for each id"))
        texts = {keys.get(data.get("key")): text_in(data) for data in within(node, "data")}
        labels[name] = texts.get("label") or texts.get("name") or ""
    if len(labels) == 0:
        raise DataError([Fault("", "a graph without nodes", "allowed is one with two or more")])
    nodes = Counter(labels.values())
    return {
        name: label if label != "" and nodes[label] == 1 else name for name, label in labels.items()
    }


def _attribute(root: Element, graph: Element, asked: str | None, missing: str | None) -> _Attribute:
    """Return the attribute of edges that holds latencies.

    Raises
    ------
    DataError
        If edges have no such attribute.
    """
    data = (item for edge in within(graph, "edge") for item in within(edge, "data"))
    used = {item.get("key") for item in data if text_in(item) is not None}
    by_name: dict[str, dict[str, str | None]] = {}
    for key in within(root, "key"):
        name = key.get("id", "")
        default = next(map(text_in, within(key, "default")), None)
        if name in used or (default is not None and key.get("for", "all") in ("edge", "all")):
            by_name.setdefault(key.get("attr.name", name), {})[name] = default
    ids = {key: {key: default} for keys in by_name.values() for key, default in keys.items()}
    for name in LATENCIES if asked is None else (asked,):
        keys = by_name.get(name) or ids.get(name)
        if keys is not None:
            defaults = [default for default in keys.values() if default is not None]
            return _Attribute(name, keys, next(iter(defaults), missing))
    if asked is None and missing is not None:
        return _Attribute("", (), missing)
    problem = f"edges without {' or '.join(LATENCIES) if asked is None else show(asked)}"
    rest = f"--latency with one of {enumerated(sorted(by_name))}, or " if len(by_name) > 0 else ""
    remedy = f"allowed is {rest}--missing VALUE, the latency of edges that state none"
    raise DataError([Fault("", problem, remedy)])


def _edges(
    graph: Element,
    labels: Mapping[str, str],
    attribute: _Attribute,
    unit: str | None,
    wrong: list[Fault],
) -> Iterator[_Edge]:
    """Yield the edges with their latencies, and add what is wrong with others to ``wrong``."""
    times, parts = 1.0, IN_A_SECOND.get(unit or "s", 1.0)
    if unit is not None and unit not in IN_A_SECOND:
        times = time_of(unit) or 0.0
    if times == 0:
        remedy = f"allowed: {', '.join(IN_A_SECOND)}, or a number > 0 of time units"
        raise DataError([Fault("--unit", repr(unit), remedy)])
    for _ in within(graph, "hyperedge"):
        wrong.append(Fault("", "a hyperedge", "allowed are edges between two nodes"))
    default = graph.get("edgedefault") == "directed"
    for place, edge in enumerate(within(graph, "edge"), start=1):
        source, target = edge.get("source", ""), edge.get("target", "")
        directed = edge.get("directed", str(default).lower()) == "true"
        where = f"the edge {show(source)} to {show(target)} (edge {place})"
        data = [item for item in within(edge, "data") if item.get("key") in attribute.keys]
        stated = {text for item in data if (text := text_in(item)) is not None}
        text = next(iter(stated), attribute.default)
        measured = None if text is None else time_of(text)
        if source not in labels or target not in labels:
            wrong.append(Fault("", where, "allowed are edges between nodes of the graph"))
        elif source == target:
            yield _Edge(source, target, directed, 0.0, True)
        elif len(stated) > 1:
            remedy = f"allowed is the id of one key: --latency {' or '.join(attribute.keys)}"
            wrong.append(Fault("", f"{len(stated)} latencies on {where}", remedy))
        elif text is None:
            remedy = "allowed is one on every edge; --missing VALUE is that of edges without"
            wrong.append(Fault("", f"no {attribute.name} on {where}", remedy))
        elif measured is None or measured * times / parts > LONGEST:
            remedy = f"allowed is a number alone, from 0 to {LONGEST:g} time units"
            wrong.append(Fault("", f"latency {show(text)} on {where}", remedy))
        else:
            yield _Edge(source, target, directed, measured * times / parts, len(stated) > 0)


def _shortest(edges: Sequence[_Edge]) -> tuple[dict[tuple[str, str], float], int]:
    """Return the shortest latency in each direction between two nodes, and how many were longer."""
    ways: dict[tuple[str, str], float] = {}
    parallel = 0
    for edge in edges:
        if edge.source == edge.target:
            continue
        ends = (edge.source, edge.target)
        both = [ends] if edge.directed else [ends, ends[::-1]]
        parallel += any(way in ways for way in both)
        for way in both:
            ways[way] = min(edge.latency, ways.get(way, inf))
    return ways, parallel


def _learner(labels: Mapping[str, str], asked: str | None) -> tuple[str, str]:
    """Return the learner's node, and why it is that one.

    Raises
    ------
    DataError
        If no node has the name that was asked for.
    """
    if asked is None:
        if NAME in labels:
            return NAME, "the node of that name; --learner NODE takes another"
        return next(iter(labels)), "the first node of the file; --learner NODE takes another"
    for node in [asked, *(node for node, label in labels.items() if label == asked)]:
        if node in labels:
            return node, "by --learner"
    remedy = f"allowed is a node: {enumerated(list(labels.values()))}"
    raise DataError([Fault("--learner", show(asked), remedy)])


def _names(links: "nx.Graph", hub: str) -> dict[str, str]:
    """Return our names of the learner and the owners; routers keep theirs.

    Beside a node named learner, as in files of ours, owners are the nodes that are numbers.
    """
    numbers = [node for node in links if node.isascii() and node.isdigit() and hub == NAME]
    owners = sorted(numbers, key=lambda node: (len(node), node)) or [
        node for node in links if node != hub
    ]
    return {hub: NAME} | {node: str(place) for place, node in enumerate(owners, start=1)}


def _about_edges(
    attribute: _Attribute, unit: str | None, edges: Sequence[_Edge], parallel: int
) -> Iterator[str]:
    """Yield which latencies are taken, and which edges are not."""
    if attribute.name != "":
        yield f"latency: attribute {show(attribute.name)}, of a message in one direction"
    if unit in IN_A_SECOND:
        yield f"unit: {unit}, and a time unit is 1 s"
    else:
        text = "1 time unit" if unit is None else f"{unit} time units"
        yield f"unit: a latency of 1 is {text}; with --unit s, ms or us a time unit is 1 s"
    without = sum(not edge.stated for edge in edges)
    if without > 0:
        yield f"{counted(without, 'edge')} without a latency: {attribute.default} each"
    loops = sum(edge.source == edge.target for edge in edges)
    if loops > 0:
        yield f"{counted(loops, 'edge')} from a node to itself: left out"
    if parallel > 0:
        yield f"{counted(parallel, 'parallel edge')}: the shortest of a direction counts"


def _about_directions(
    ways: Mapping[tuple[str, str], float], labels: Mapping[str, str], second: str
) -> Iterator[str]:
    """Yield what became of pairs of nodes whose directions are not alike."""
    unlike = [
        (far - ways[b, a], a, b) for (a, b), far in ways.items() if far > ways.get((b, a), far)
    ]
    if len(unlike) > 0:
        _, a, b = max(unlike)
        yield (
            f"{counted(len(unlike), 'pair')} of nodes with unequal directions: their mean counts "
            f"(most unequal: {show(labels[a])} to {show(labels[b])} {number(ways[a, b])}{second}, "
            f"back {number(ways[b, a])}{second})"
        )
    one_way = sum((b, a) not in ways for a, b in ways)
    if one_way > 0:
        pairs = f"{counted(one_way, 'pair')} of nodes with an edge in one direction only"
        yield f"{pairs}: it counts for both"


def _about_routes(links: "nx.Graph", hub: str, second: str) -> Iterator[str]:
    """Yield which way messages take; of a complete graph only the learner's edges are left.

    In a complete graph each latency was measured between two ends, and not along a link.
    """
    import networkx as nx

    far, routes = nx.single_source_dijkstra(links, hub, weight="latency")
    direct = {node: link["latency"] for node, link in links[hub].items()}
    saved = {n: edge - far[n] for n, edge in direct.items() if far[n] < edge * (1 - 1e-9)}
    if links.number_of_edges() == len(links) * (len(links) - 1) // 2:
        links.remove_edges_from([ends for ends in links.edges if hub not in ends])
        yield "complete graph, so latencies are end to end: messages take the direct edge"
    else:
        yield "messages take the shortest route over links"
    if len(saved) > 0:
        worst = max(saved, key=lambda node: saved[node])
        through = [show(links.nodes[node]["label"]) for node in routes[worst][1:-1]]
        a, b = (show(links.nodes[node]["label"]) for node in (hub, worst))
        yield (
            f"routes through other nodes are shorter than {len(saved)} of "
            f"{counted(len(direct), 'direct edge')}, by at most {number(saved[worst])}{second}: "
            f"{a} to {b} {number(direct[worst])}{second} measured, {number(far[worst])}{second} "
            f"through {enumerated(through)}"
        )
