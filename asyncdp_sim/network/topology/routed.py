"""The base of every topology: distances over a graph of links, and the links' failures."""

import random
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from math import dist, inf
from typing import TYPE_CHECKING, Annotated, ClassVar

from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.topology.failures import LEARNER, LinkFailures
from asyncdp_sim.spec import Count, Kind, Remembering, about
from asyncdp_sim.streams import Scope, Streams
from asyncdp_sim.units import to_ticks

if TYPE_CHECKING:
    import networkx as nx


class TopologyKind(Remembering, Kind):
    """An undirected graph of the learner, the owners, and perhaps routers between them.

    Every message between the learner and owner i travels for the length of the shortest path
    between them, by the links' latencies (Dijkstra), on top of what its latency law draws.
    """

    kind: str
    failures: Annotated[
        LinkFailures | None,
        about(
            "When links fail and for how long; absent: never",
            example={
                "gap": {"kind": "exponential", "mean": 20.0},
                "length": {"kind": "exponential", "mean": 2.0},
            },
        ),
    ] = None

    @property
    @override
    def of_everybody(self) -> bool:
        return True

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
        if n_owners not in self._graphs:
            import networkx as nx  # takes long to import

            self._graphs[n_owners] = nx.freeze(self.draw(n_owners))
        return self._graphs[n_owners]

    def distances(self, n_owners: int) -> tuple[float, ...]:
        """Return each owner's distance from the learner (time units); inf without a path."""
        if n_owners not in self._distances:
            import networkx as nx

            graph = self.build(n_owners)
            reached = nx.single_source_dijkstra_path_length(graph, LEARNER, weight="latency")
            numbers = range(1, n_owners + 1)
            self._distances[n_owners] = tuple(float(reached.get(i, inf)) for i in numbers)
        return self._distances[n_owners]

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Set every owner's distance (ticks), and start the links' failures."""
        for owner, distance in zip(owners, self.distances(len(owners)), strict=True):
            owner.distance = to_ticks(distance)
        if self.failures is not None:
            self.failures.begin(self.build(len(owners)), owners, learner, streams)

    def stranded(self, n_owners: int) -> str:
        """Name the owners that have no path to the learner; empty where all have one."""
        cut = [i for i, far in enumerate(self.distances(n_owners), start=1) if far == inf]
        if len(cut) == 0:
            return ""
        told = enumerated(list(map(str, cut)))
        return f"owner {told} has" if len(cut) == 1 else f"owners {told} have"

    @cached_property
    def _graphs(self) -> "dict[int, nx.Graph]":
        return {}

    @cached_property
    def _distances(self) -> dict[int, tuple[float, ...]]:
        return {}


class RandomGraph(TopologyKind):
    """A graph drawn at random, once: the same in all replicates and for every seed of the run.

    The learner is node 0, with no place of its own choosing.
    """

    remedy: ClassVar[str]
    """What may be raised to link more nodes; empty where all are linked anyway."""

    graph: Annotated[Count, about("Which random graph: another number, another graph", "none")] = 1

    def faults(self, n_owners: int) -> list[Fault]:
        """Return a fault where owners have no path to the learner."""
        who = self.stranded(n_owners)
        if who == "":
            return []
        allowed = (
            f"the graph is not connected: {who} no path to the learner; "
            f"raise {self.remedy} or choose another graph number"
        )
        return [Fault("topology.graph", str(self.graph), allowed)]

    @property
    def source(self) -> random.Random:
        """What the graph is drawn from: a generator of its own, decided by ``graph`` and kind."""
        start = Streams(self.graph).generator("topology", self.kind)
        return random.Random(int(start.integers(2**63)))


def stretched(graph: "nx.Graph", latency_per_distance: float) -> "nx.Graph":
    """Give every edge the latency of its Euclidean length between the nodes' ``pos``."""
    places = graph.nodes
    for a, b, link in graph.edges(data=True):
        link["latency"] = dist(places[a]["pos"], places[b]["pos"]) * latency_per_distance
    return graph


def enumerated(names: Sequence[str]) -> str:
    """Return names in a row, cut short where there are many."""
    more = len(names) - 10
    return ", ".join(names if more <= 0 else [*names[:10], f"and {more} more"])
