"""A graph of links read from a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import override

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.faults import show
from asyncdp_sim.network.contents import FromFile, rows_of, shortened, text_of, time_of
from asyncdp_sim.network.graphml import CONVERT, Edge, graphml_of
from asyncdp_sim.network.topology.failures import LEARNER, Node
from asyncdp_sim.network.topology.routed import TopologyKind, enumerated
from asyncdp_sim.spec import about

if TYPE_CHECKING:
    import networkx as nx

KEY = "topology.path"
COLUMNS = ("source", "target", "latency")
KINDS = f"allowed is GraphML (.graphml) or a CSV (.csv) with the columns {','.join(COLUMNS)}"
TIME = "allowed is a number from 0 to 1e9 (time units) on every edge"
NAME = "learner"


class GraphFile(FromFile, TopologyKind):
    """The links that a file tells of; they are undirected.

    The learner's node is named ``learner``, those of the owners ``1`` to ``N``; all others are
    routers, which pass messages on. Edges from a node to itself are ignored.
    """

    kind: Literal["file"] = "file"
    path: Annotated[
        str,
        about(
            "GraphML (.graphml: node ids are names, edges have an attribute latency), or a CSV "
            "with the columns source, target and latency; latencies are in time units, 0 to 10⁹",
            example="links.csv",
        ),
    ]

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        """Return the graph.

        Raises
        ------
        SpecError
            If the file does not hold one.
        """
        import networkx as nx

        content = self._content
        if len(content.wrong) > 0:
            raise SpecError(content.wrong)
        numbers: dict[str, Node] = {NAME: LEARNER}
        numbers |= {str(number): number for number in range(1, n_owners + 1)}
        graph = nx.Graph()
        graph.add_nodes_from(range(n_owners + 1))
        for (a, b), latency in content.edges.items():
            graph.add_edge(numbers.get(a, a), numbers.get(b, b), latency=latency)
        return graph

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        content, name = self._content, Path(self.path).name
        found = list(content.wrong)
        if content.nodes is not None:
            needed = [NAME, *map(str, range(1, n_owners + 1))]
            absent = [node for node in needed if node not in content.nodes]
            if len(absent) > 0:
                few = "node" if len(absent) == 1 else "nodes"
                given = f"no {few} {enumerated(absent)} ({name})"
                owners = "1" if n_owners == 1 else f"1 to {n_owners}"
                allowed = f"allowed is a graph with the nodes {NAME} and {owners}"
                if name.lower().endswith(".graphml"):
                    allowed = f"{allowed}; {CONVERT.format(name=name)}"
                found.insert(0, Fault(KEY, given, allowed))
        if len(found) == 0 and (who := self.stranded(n_owners)) != "":
            allowed = "allowed is a graph in which every owner has one"
            found.append(
                Fault(KEY, f"a graph in which {who} no path to the learner ({name})", allowed)
            )
        return shortened(found, name)

    @override
    def content_digest(self) -> str:
        if self._content.sha256 is None:
            raise SpecError(self._content.wrong)
        return self._content.sha256

    @cached_property
    def _content(self) -> "_Content":
        return _read(self.path)


@dataclass(frozen=True)
class _Content:
    """The contents of a file of a graph.

    Attributes
    ----------
    sha256 : str, optional
        Of its bytes; None where it could not be read.
    nodes : frozenset of str, optional
        The names of all nodes; None where they cannot be known.
    edges : mapping
        From two nodes to the latency between them.
    wrong : tuple of Fault
        In the order of the file.
    """

    sha256: str | None
    nodes: frozenset[str] | None = None
    edges: Mapping[tuple[str, str], float] = field(default_factory=dict)
    wrong: tuple[Fault, ...] = ()


def _read(path: str) -> _Content:
    name, suffix = Path(path).name, Path(path).suffix.lower()
    if suffix not in (".graphml", ".csv"):
        return _Content(None, wrong=(Fault(KEY, repr(path), KINDS),))
    try:
        text, sha256 = text_of(path, KEY, KINDS)
    except SpecError as error:
        return _Content(None, wrong=error.faults)
    try:
        if suffix == ".graphml":
            nodes, told, wrong = *graphml_of(text, name, KEY), list[Fault]()
        else:
            nodes, told, wrong = _edge_list(text, name)
    except SpecError as error:
        return _Content(sha256, wrong=error.faults)
    edges: dict[tuple[str, str], float] = {}
    seen: set[tuple[str, str]] = set()
    for a, b, cell, where in told:
        nodes += [a, b]
        link = (a, b) if a <= b else (b, a)
        between = f"the edge {a} to {b} ({where})"
        latency = None if cell is None else time_of(cell)
        if a == b:
            continue
        if link in seen:
            wrong.append(Fault(KEY, f"again {between}", "allowed is one edge between two nodes"))
        elif latency is None:
            given = "no latency" if cell is None else f"latency {show(cell)}"
            wrong.append(Fault(KEY, f"{given} on {between}", TIME))
        else:
            edges[link] = latency
        seen.add(link)
    return _Content(sha256, frozenset(nodes), edges, tuple(wrong))


def _edge_list(text: str, name: str) -> tuple[list[str], list[Edge], list[Fault]]:
    """Return the nodes, edges and faults of a CSV."""
    rows, by_line = rows_of(text, COLUMNS, name, KEY)
    wrong = [fault for _, fault in by_line]
    if len(rows) == 0:
        raise SpecError(wrong)
    edges: list[Edge] = []
    for line, (a, b, latency) in rows:
        where = f"{name}, line {line}"
        if a == "" or b == "":
            given = f"a node without a name ({where})"
            wrong.append(Fault(KEY, given, f"allowed are {NAME}, owner numbers and names"))
        else:
            edges.append((a, b, None if latency == "" else latency, where))
    return [], edges, wrong
