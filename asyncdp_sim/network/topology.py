"""Topology: distances of owners from the learner, and links that fail."""

import random
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial
from math import dist, inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.kernel import Activity, Priority
from asyncdp_sim.core.specification import (
    FAMILY,
    CachedSpec,
    Count,
    Duration,
    PerOwner,
    Positive,
    Spec,
    Variant,
    per_owner,
    trait,
    wrong_length,
)
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import some_of
from asyncdp_sim.network.laws import LastingLaw, alternate
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.table_file import CONVERT, FromFile, LinkFile, links_of, shortened, time_of

if TYPE_CHECKING:
    import networkx as nx

LEARNER = 0
"""The learner's node; owners are 1 to N."""

Node = int | str
"""The learner, an owner, or the name of a router."""


class LinkFailures(Spec):
    """Each link works for a ``gap`` and fails for a ``length``, over and over, starting up.

    Links fail independently. An owner's distance is always that of the shortest path over the
    links that work; an owner without a path is offline. Messages under way keep their delay.
    """

    gap: LastingLaw
    length: LastingLaw


def links(graph: "nx.Graph") -> list[tuple[Node, Node]]:
    """Return the edges in an order that depends on their nodes alone: numbers before names."""
    pairs: list[tuple[Node, Node]] = list(graph.edges)
    ordered = [(b, a) if _rank(b) < _rank(a) else (a, b) for a, b in pairs]
    return sorted(ordered, key=lambda link: (_rank(link[0]), _rank(link[1])))


def _rank(node: Node) -> tuple[int, str]:
    return (node, "") if isinstance(node, int) else (2**63, node)


class Routes:
    """The shortest paths over the links that work, found anew once per tick of change."""

    def __init__(self, graph: "nx.Graph", owners: Sequence[Owner], learner: Learner) -> None:
        self._latency = {link: graph.edges[link]["latency"] for link in links(graph)}
        self._working = graph.copy()
        self._owners = owners
        self._learner = learner
        self._stranded = [False] * len(owners)
        self._due = False

    def change(self, link: tuple[Node, Node], works: bool) -> None:
        """Put a link back or take it away; routes follow, after other changes at this tick."""
        if works:
            self._working.add_edge(*link, latency=self._latency[link])
        else:
            self._working.remove_edge(*link)
        if not self._due:
            self._due = True
            self._learner.kernel.start(self._reroute())

    def _reroute(self) -> Activity:
        import networkx as nx  # only where there are links to follow

        yield self._learner.kernel.after(0, Priority.PRESENCE)
        self._due = False
        reached = nx.single_source_dijkstra_path_length(self._working, LEARNER, weight="latency")
        for index, owner in enumerate(self._owners):
            distance = reached.get(owner.number)
            if distance is not None:
                owner.distance = to_ticks(distance)
            if self._stranded[index] != (distance is None):
                self._stranded[index] = distance is None
                owner.set_online(distance is not None, self._learner)


class TopologyKind(CachedSpec, Variant):
    """An undirected graph of the learner, the owners, and perhaps routers between them.

    Every message between the learner and owner i travels for the length of the shortest path
    between them, by the links' latencies (Dijkstra), on top of what its latency law draws.
    """

    of_everybody = True

    kind: str
    failures: LinkFailures | None = None

    @abstractmethod
    def draw(self, n_owners: int) -> "nx.Graph":
        """Return the graph: nodes 0 (the learner), 1 to N (the owners) and the names of routers.

        Every edge has an attribute ``latency`` (time units, ≥ 0).
        """

    @abstractmethod
    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""

    def build(self, n_owners: int) -> "nx.Graph":
        """Return the graph of :meth:`draw`, made once and frozen."""
        key = f"graph of {n_owners}"
        if key not in self.remembered:
            import networkx as nx  # takes long to import

            self.remembered[key] = nx.freeze(self.draw(n_owners))
        return self.remembered[key]

    def distances(self, n_owners: int) -> tuple[float, ...]:
        """Return each owner's distance from the learner (time units); inf without a path."""
        key = f"distances of {n_owners}"
        if key not in self.remembered:
            import networkx as nx

            graph = self.build(n_owners)
            reached = nx.single_source_dijkstra_path_length(graph, LEARNER, weight="latency")
            numbers = range(1, n_owners + 1)
            self.remembered[key] = tuple(float(reached.get(i, inf)) for i in numbers)
        distances: tuple[float, ...] = self.remembered[key]
        return distances

    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Set every owner's distance (ticks), and start the links' failures.

        A link's streams are named by its two nodes.
        """
        for owner, distance in zip(owners, self.distances(len(owners)), strict=True):
            owner.distance = to_ticks(distance)
        if self.failures is None:
            return
        graph, gap, length = self.build(len(owners)), self.failures.gap, self.failures.length
        routes = Routes(graph, owners, learner)
        for link in links(graph):
            own, change = streams.within("edge", *link), partial(routes.change, link)
            learner.kernel.start(alternate(learner.kernel, own, gap, length, change))

    def stranded(self, n_owners: int) -> str:
        """Name the owners that have no path to the learner; empty where all have one."""
        cut = [i for i, far in enumerate(self.distances(n_owners), start=1) if far == inf]
        if len(cut) == 0:
            return ""
        names = some_of(cut, 10)
        return f"owner {names} has" if len(cut) == 1 else f"owners {names} have"


class RandomGraph(TopologyKind):
    """A graph drawn at random, once: the same in all replicates and for every seed of the run.

    The learner is node 0, with no place of its own choosing.
    """

    remedy: ClassVar[str]
    """The field to raise for more links, for messages; empty where all nodes are linked anyway."""

    graph: Count = 1

    def faults(self, n_owners: int) -> list[Fault]:
        """Return a fault where owners have no path to the learner."""
        subject = self.stranded(n_owners)
        if subject == "":
            return []
        rule = (
            f"the graph is not connected: {subject} no path to the learner; "
            f"raise {self.remedy} or choose another graph number"
        )
        return [Fault("topology.graph", str(self.graph), rule)]


def source_of(graph: int, *name: str) -> random.Random:
    """Return the random generator of a drawn graph, seeded by its number and this name alone."""
    return random.Random(int(Streams(graph).generator(*name).integers(2**63)))


def stretched(graph: "nx.Graph", latency_per_distance: float) -> "nx.Graph":
    """Give every edge the latency of its Euclidean length between the nodes' ``pos``."""
    places = graph.nodes
    for a, b, link in graph.edges(data=True):
        link["latency"] = dist(places[a]["pos"], places[b]["pos"]) * latency_per_distance
    return graph


class Star(TopologyKind):
    """One link of ``latency`` between the learner and each owner.

    Adding owners leaves the others as they are.
    """

    of_everybody = trait(lambda self: self.failures is not None)

    kind: Literal["star"] = "star"
    latency: PerOwner[Duration] = 0.0

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        star = nx.Graph()
        star.add_node(LEARNER)
        for number, latency in enumerate(self.distances(n_owners), start=1):
            star.add_edge(LEARNER, number, latency=latency)
        return star

    @override
    def distances(self, n_owners: int) -> tuple[float, ...]:
        return per_owner(self.latency, n_owners)

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        return wrong_length("topology.latency", self.latency, n_owners)


class Geometric(RandomGraph):
    """A random geometric graph on the unit square.

    The N + 1 nodes have independent uniform positions. Two are linked if their Euclidean distance
    is at most ``radius``.
    """

    remedy = "radius"

    kind: Literal["geometric"] = "geometric"
    radius: Positive
    latency_per_distance: Duration

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        source = source_of(self.graph, "topology", self.kind)
        graph = nx.random_geometric_graph(n_owners + 1, self.radius, seed=source)
        return stretched(graph, self.latency_per_distance)


Share = Annotated[float, Field(gt=0, le=1)]


class Waxman(RandomGraph):
    """Waxman's graph on the unit square (IEEE J. Select. Areas Commun. 6(9), 1988).

    The N + 1 nodes have independent uniform positions. Two at Euclidean distance d are linked with
    probability β exp(−d/(αL)), independently, where L is the largest distance between any two
    nodes.
    """

    remedy = "alpha or beta"

    kind: Literal["waxman"] = "waxman"
    alpha: Annotated[float, Field(ge=1e-6, le=1)]  # αL below the least float would divide by 0
    beta: Share
    latency_per_distance: Duration

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        source = source_of(self.graph, "topology", self.kind)
        graph = nx.waxman_graph(n_owners + 1, beta=self.beta, alpha=self.alpha, seed=source)
        return stretched(graph, self.latency_per_distance)


KEY = "topology.path"
COLUMNS = ("source", "target", "latency")
KINDS = f"allowed is GraphML (.graphml) or a CSV (.csv) with the columns {','.join(COLUMNS)}"
TIME = "allowed is a number from 0 to 1e9 (time units) on every edge"
NAME = "learner"


class GraphFile(FromFile, TopologyKind):
    """The undirected links of a file.

    The learner's node is named ``learner``, the owners' nodes ``1`` to ``N``. All other nodes are
    routers. Edges from a node to itself are ignored.
    """

    kind: Literal["file"] = "file"
    path: str

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        """Return the graph.

        Raises
        ------
        SpecError
            If the file does not hold one.
        """
        import networkx as nx

        links_by_nodes, wrong = self._latencies
        if len(wrong) > 0:
            raise SpecError(wrong)
        numbers: dict[str, Node] = {NAME: LEARNER}
        numbers |= {str(number): number for number in range(1, n_owners + 1)}
        graph = nx.Graph()
        graph.add_nodes_from(range(n_owners + 1))
        for (a, b), latency in links_by_nodes.items():
            graph.add_edge(numbers.get(a, a), numbers.get(b, b), latency=latency)
        return graph

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        content, name = self._content, Path(self.path).name
        faults = list(self._latencies[1])
        if len(content.edges) > 0 or len(content.wrong) == 0:
            nodes = {*content.nodes, *(node for a, b, *_ in content.edges for node in (a, b))}
            needed = [NAME, *map(str, range(1, n_owners + 1))]
            absent = [node for node in needed if node not in nodes]
            if len(absent) > 0:
                few = "node" if len(absent) == 1 else "nodes"
                shown = f"no {few} {some_of(absent, 10)} ({name})"
                owners = "1" if n_owners == 1 else f"1 to {n_owners}"
                rule = f"allowed is a graph with the nodes {NAME} and {owners}"
                if name.lower().endswith(".graphml"):
                    rule = f"{rule}; {CONVERT}"
                faults.insert(0, Fault(KEY, shown, rule))
        if len(faults) == 0 and (subject := self.stranded(n_owners)) != "":
            rule = "allowed is a graph in which every owner has one"
            faults.append(
                Fault(KEY, f"a graph in which {subject} no path to the learner ({name})", rule)
            )
        return shortened(faults, name)

    @cached_property
    @override
    def _content(self) -> LinkFile:
        if not self.path.lower().endswith((".graphml", ".csv")):
            return LinkFile(None, wrong=[(1, Fault(KEY, repr(self.path), KINDS))])
        return links_of(self.path, COLUMNS, KEY, KINDS)

    @cached_property
    def _latencies(self) -> tuple[dict[tuple[str, str], float], list[Fault]]:
        """The latency between two nodes, and what is wrong with the file, in its order."""
        latencies, wrong = dict[tuple[str, str], float](), [f for _, f in self._content.wrong]
        seen: set[tuple[str, str]] = set()
        for a, b, cell, where in self._content.edges:
            edge = (a, b) if a <= b else (b, a)
            between = f"the edge {a} to {b} ({where})"
            latency = None if cell is None else time_of(cell)
            if a == "" or b == "":
                rule = f"allowed are {NAME}, owner numbers and names"
                wrong.append(Fault(KEY, f"a node without a name ({where})", rule))
            elif a == b:
                continue
            elif edge in seen:
                rule = "allowed is one edge between two nodes"
                wrong.append(Fault(KEY, f"again {between}", rule))
            elif latency is None:
                shown = "no latency" if cell is None else f"latency {show(cell)}"
                wrong.append(Fault(KEY, f"{shown} on {between}", TIME))
            else:
                latencies[edge] = latency
            seen.add(edge)
        return latencies, wrong


Topology = Annotated[Star | Waxman | Geometric | GraphFile, FAMILY]
"""Every kind of topology; a new one joins by its line here."""
