"""Who gossips with whom: graphs of owners, or of owners around the learner."""

import random
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.graphs.connected import Edge, Graph
from asyncdp_sim.network.graphs.file import EdgeFile
from asyncdp_sim.network.topology.failures import LEARNER
from asyncdp_sim.spec import Count, Positive, Several
from asyncdp_sim.streams import Streams


class Star(Graph):
    """Every owner talks to the learner alone, as in Async."""

    learner: ClassVar[bool] = True

    kind: Literal["star"] = "star"

    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        """Return an edge from the learner to each owner."""
        return ((LEARNER, owner) for owner in self.nodes(n_owners)[1:])


class Ring(Graph):
    """Every owner talks to the one before it and the one after it, the last to the first."""

    kind: Literal["ring"] = "ring"

    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        """Return an edge from each owner to the next; one alone between two owners."""
        return ((owner, owner % n_owners + 1) for owner in self.nodes(n_owners))


class Complete(Graph):
    """Every owner talks to every other."""

    kind: Literal["complete"] = "complete"

    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        """Return all pairs."""
        owners = self.nodes(n_owners)
        return ((a, b) for a in owners for b in range(a + 1, n_owners + 1))


class Geometric(Graph):
    """Owners at independent uniform places of the unit square talk to those that are near.

    Drawn once: the same in all replicates and for every seed of the run.

    Attributes
    ----------
    radius : float
        > 0; two owners at most so far apart (Euclidean) are linked; √2 or more links all.
    graph : int
        Which random graph, ≥ 1: another number, another graph.
    """

    remedy: ClassVar[str] = "raise radius or choose another graph number"

    kind: Literal["geometric"] = "geometric"
    radius: Positive
    graph: Count = 1

    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        """Return the edges."""
        import networkx as nx

        start = Streams(self.graph).generator("gossip", self.kind)
        source = random.Random(int(start.integers(2**63)))
        drawn = nx.random_geometric_graph(n_owners, self.radius, seed=source)
        return ((a + 1, b + 1) for a, b in drawn.edges)


class Edges(Graph):
    """Any graph, edge by edge.

    ``Edges(between=tuple(graph.edges))`` takes those of a networkx graph on the nodes 1 to N.

    Attributes
    ----------
    between : list of pairs
        Two different owners each, every pair once.
    """

    kind: Literal["edges"] = "edges"
    between: Several[Several[Count]]

    @model_validator(mode="after")
    def _are_pairs(self) -> Self:
        wrong = [
            Fault(f"between[{place}]", str(list(pair)), "allowed are two different owners")
            for place, pair in enumerate(self.between)
            if len(pair) != 2 or pair[0] == pair[1]
        ]
        if len(wrong) > 0:
            raise faults_of(wrong)
        return self

    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:  # noqa: ARG002
        """Return the edges as they were listed."""
        return ((pair[0], pair[1]) for pair in self.between)

    def _misfits(self, n_owners: int) -> list[Fault]:
        """Return the pairs that name unknown owners, or stood before."""
        found: list[Fault] = []
        seen: set[Edge] = set()
        for place, pair in enumerate(self.between):
            edge = (min(pair), max(pair))
            where, given = f"graph.between[{place}]", str(list(pair))
            if edge[1] > n_owners:
                found.append(Fault(where, given, f"allowed are owners from 1 to {n_owners}"))
            elif edge in seen:
                found.append(Fault(where, f"{given} again", "allowed is one edge between two"))
            seen.add(edge)
        return found


GossipGraph = Annotated[Star | Ring | Complete | Geometric | Edges | EdgeFile, FAMILY]
"""Every graph; a new one joins by its line here."""

__all__ = [
    "Complete",
    "Edge",
    "Edges",
    "Geometric",
    "GossipGraph",
    "Graph",
    "Ring",
    "Star",
]
