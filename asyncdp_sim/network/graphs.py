"""Graphs: which owners gossip with each other, and which servers exchange models.

Servers average with their neighbours by Metropolis weights (Xiao, Boyd and Lall 2005, A scheme for
robust distributed sensor fusion based on average consensus, IPSN).
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import FAMILY, CachedSpec, Count, Positive, Several, Variant
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import some_of
from asyncdp_sim.network.table_file import FromFile, LinkFile, is_number, links_of, shortened
from asyncdp_sim.network.topology import LEARNER, source_of

if TYPE_CHECKING:
    import networkx as nx

Edge = tuple[int, int]
"""Two nodes, the smaller number first; owners are numbered from 1, the learner is 0."""


class GraphKind(CachedSpec, Variant):
    """An undirected, connected graph without loops; its nodes are owners 1 to N."""

    learner: ClassVar[bool]
    """Node 0, the learner, is one of the nodes; it holds no data."""
    remedy: ClassVar[str] = "add edges"
    """What to do where it is not connected."""

    kind: str

    @abstractmethod
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        """Return pairs of linked nodes, in any order."""

    def edges(self, n_owners: int) -> tuple[Edge, ...]:
        """Return the edges in ascending order; that order numbers their clocks."""
        key = f"edges of {n_owners}"
        if key not in self.remembered:
            pairs = {(min(pair), max(pair)) for pair in self.links(n_owners)}
            self.remembered[key] = tuple(sorted(pairs))
        edges: tuple[Edge, ...] = self.remembered[key]
        return edges

    def cycle(self) -> tuple["GraphKind", ...]:
        """Return the graphs that take turns where it changes with time; itself alone if not."""
        return (self,)

    def nodes(self, n_owners: int) -> range:
        """Return the nodes, in order."""
        return range(LEARNER if self.learner else 1, n_owners + 1)

    def build(self, n_owners: int) -> "nx.Graph":
        """Return the graph as networkx has it."""
        import networkx as nx  # takes long to import

        graph = nx.Graph()
        graph.add_nodes_from(self.nodes(n_owners))
        graph.add_edges_from(self.edges(n_owners))
        return graph

    def faults(self, n_owners: int) -> list[Fault]:
        """Return why it is no connected graph of so many owners."""
        if not self.learner and n_owners < 2:
            rule = "allowed are 2 owners or more, since there is no learner to talk to"
            return [Fault("graph.kind", f"{self.kind!r} with 1 owner", rule)]
        return self.misfits(n_owners) or self._split(n_owners)

    def misfits(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return what else does not fit the number of owners."""
        return []

    def _split(self, n_owners: int) -> list[Fault]:
        """Return a fault where some nodes have no path to the first."""
        import networkx as nx  # takes long to import

        nodes = self.nodes(n_owners)
        reached = nx.node_connected_component(self.build(n_owners), nodes[0])
        cut = [node for node in nodes if node not in reached]
        if len(cut) == 0:
            return []
        subject = f"owner {cut[0]} has" if len(cut) == 1 else f"owners {some_of(cut, 10)} have"
        rule = f"allowed is a connected graph: {self.remedy}"
        return [Fault("graph", f"one in which {subject} no path to owner {nodes[0]}", rule)]


COLUMNS = ("source", "target")
KINDS = (
    f"allowed is GraphML (.graphml), or a CSV with the columns {','.join(COLUMNS)}, a row an edge"
)


class EdgeFile(FromFile, GraphKind):
    """The edges of a file between owners, which are numbered from 1 to N; it is read once.

    GraphML (``.graphml``), in which owners' numbers are the ids of nodes, or a CSV with the columns
    ``source`` and ``target``. Other content is ignored.
    """

    learner = False

    kind: Literal["file"] = "file"
    path: str

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        """Return the edges.

        Raises
        ------
        SpecError
            If the file does not hold any.
        """
        edges, wrong = self._edges_of_file
        if len(wrong) > 0:
            raise SpecError(wrong)
        return (edge for edge, _ in edges)

    @override
    def misfits(self, n_owners: int) -> list[Fault]:
        """Return what is wrong with the file: the first ten faults, and how many more."""
        edges, wrong = self._edges_of_file
        faults = list(wrong)
        seen: set[Edge] = set()
        for (a, b), place in edges:
            edge, where = (min(a, b), max(a, b)), f"the edge {a} to {b} ({place})"
            if a == b or edge[0] < 1 or edge[1] > n_owners:
                rule = f"allowed are two different owners from 1 to {n_owners}"
                faults.append(Fault("graph.path", where, rule))
            elif edge in seen:
                rule = "allowed is one edge between two"
                faults.append(Fault("graph.path", f"again {where}", rule))
            seen.add(edge)
        return shortened(faults, Path(self.path).name)

    @cached_property
    @override
    def _content(self) -> LinkFile:
        return links_of(self.path, COLUMNS, "graph.path", KINDS)

    @cached_property
    def _edges_of_file(self) -> tuple[list[tuple[Edge, str]], list[Fault]]:
        """Edges with where they stand, and faults."""
        edges, wrong = [], [fault for _, fault in self._content.wrong]
        for a, b, _, place in self._content.edges:
            if is_number(a) and is_number(b):
                edges.append(((int(a), int(b)), place))
            else:
                shown = f"the edge {show(a)} to {show(b)} ({place})"
                wrong.append(Fault("graph.path", shown, "allowed are numbers of owners"))
        return edges, wrong


class StarGraph(GraphKind):
    """Every owner communicates with the learner only, as in Async."""

    learner = True

    kind: Literal["star"] = "star"

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        return ((LEARNER, owner) for owner in self.nodes(n_owners)[1:])


class Ring(GraphKind):
    """Every owner has two neighbours: the previous and the next by number, cyclically."""

    learner = False

    kind: Literal["ring"] = "ring"

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        return ((owner, owner % n_owners + 1) for owner in self.nodes(n_owners))


class Complete(GraphKind):
    """Every owner is a neighbour of every other."""

    learner = False

    kind: Literal["complete"] = "complete"

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        owners = self.nodes(n_owners)
        return ((a, b) for a in owners for b in range(a + 1, n_owners + 1))


class GeometricGraph(GraphKind):
    """Owners have independent uniform positions in the unit square; near owners are neighbours.

    Drawn once: the same in all replicates and for every seed of the run.
    """

    learner = False
    remedy = "raise radius or choose another graph number"

    kind: Literal["geometric"] = "geometric"
    radius: Positive
    graph: Count = 1

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        import networkx as nx

        source = source_of(self.graph, "gossip", self.kind)
        drawn = nx.random_geometric_graph(n_owners, self.radius, seed=source)
        return ((a + 1, b + 1) for a, b in drawn.edges)


class Edges(GraphKind):
    """A graph given by a list of edges.

    ``Edges(between=tuple(graph.edges))`` takes those of a networkx graph on the nodes 1 to N.
    """

    learner = False

    kind: Literal["edges"] = "edges"
    between: Several[Several[Count]]

    @override
    def own_faults(self) -> Iterator[Fault]:
        for place, pair in enumerate(self.between):
            if len(pair) != 2 or pair[0] == pair[1]:
                rule = "allowed are two different owners"
                yield Fault(f"between[{place}]", str(list(pair)), rule)

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        return ((pair[0], pair[1]) for pair in self.between)

    @override
    def misfits(self, n_owners: int) -> list[Fault]:
        faults: list[Fault] = []
        seen: set[Edge] = set()
        for place, pair in enumerate(self.between):
            edge = (min(pair), max(pair))
            where, shown = f"graph.between[{place}]", str(list(pair))
            if edge[1] > n_owners:
                faults.append(Fault(where, shown, f"allowed are owners from 1 to {n_owners}"))
            elif edge in seen:
                faults.append(Fault(where, f"{shown} again", "allowed is one edge between two"))
            seen.add(edge)
        return faults


GossipGraph = Annotated[StarGraph | Ring | Complete | GeometricGraph | Edges | EdgeFile, FAMILY]
"""Every graph; a new one joins by its line here."""


Neighbours = tuple[tuple[int, ...], ...]
"""By server, the numbers (from 1) of those that it exchanges models with, in order."""

OneGraph = Annotated[Ring | Complete | GeometricGraph | Edges, FAMILY]
"""Every graph that may be one of several in turn."""


class GraphsInTurn(GraphKind):
    """Graphs that change with time: agreement w uses the w-th of them, cyclically.

    Their union must be connected (POLAR, section V-A, where transition matrices are products of B_k
    … B_s).
    """

    learner = False
    remedy = "add edges to one of them"

    kind: Literal["in-turn"] = "in-turn"
    graphs: Several[OneGraph]

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        return (edge for graph in self.graphs for edge in graph.edges(n_owners))

    @override
    def cycle(self) -> tuple[GraphKind, ...]:
        return tuple(self.graphs)

    @override
    def misfits(self, n_owners: int) -> list[Fault]:
        return [
            replace(fault, key=fault.key.replace("graph", f"graph.graphs[{place}]", 1))
            for place, graph in enumerate(self.graphs)
            for fault in graph.misfits(n_owners)
        ]


ServerGraph = Annotated[Ring | Complete | GeometricGraph | Edges | EdgeFile | GraphsInTurn, FAMILY]
"""Every graph of servers; a new one joins by its line here."""


def faults_of_servers(graph: GraphKind, count: int) -> list[Fault]:
    """Return why it is no connected graph of so many servers."""
    faults = []
    for fault in graph.faults(count):
        # what is wrong in a file names that, which may have any name
        shown = fault.given if fault.key == "graph.path" else fault.given.replace("owner", "server")
        faults.append(Fault(fault.key, shown, fault.allowed.replace("owner", "server")))
    return faults


def neighbours(graph: GraphKind, count: int) -> Neighbours | None:
    """Return every server's neighbours; None where all are everybody's."""
    edges = graph.edges(count)
    if len(edges) == count * (count - 1) // 2:
        return None
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:  # in ascending order, and so each list
        near[a - 1].append(b)
        near[b - 1].append(a)
    return tuple(tuple(sorted(others_of)) for others_of in near)


def doubly_stochastic(near: Neighbours) -> Array:
    """Return B, shape (S, S): rows and columns sum to 1, and the diagonal is positive.

    Parameters
    ----------
    near : tuple of tuples
        Each server's neighbours, from 1.
    """
    matrix = np.zeros((len(near), len(near)))
    for server, neighbours_of in enumerate(near):
        for other in neighbours_of:
            matrix[server, other - 1] = 1 / parts(near, server, other - 1)
    return matrix + np.diag(1 - matrix.sum(axis=1))


def matrices_of(agreements: Sequence[Neighbours | None], n_servers: int) -> list[Array]:
    """Return B of each agreement; 11ᵀ/S where all servers exchange with all."""
    everybody = np.full((n_servers, n_servers), 1 / n_servers)
    return [everybody if near is None else doubly_stochastic(near) for near in agreements]


def parts(near: Neighbours, one: int, other: int) -> int:
    """Return 1 + max(d_I, d_J)."""
    return 1 + max(len(near[one]), len(near[other]))
