"""Gossip graphs: of owners, or of owners around the learner."""

import random
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.graphs.connected import Edge, GraphKind
from asyncdp_sim.network.graphs.file import EdgeFile
from asyncdp_sim.network.topology.failures import LEARNER
from asyncdp_sim.spec import Count, Positive, Several, about
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.formulas import gossip_spectrum


class StarGraph(GraphKind):
    """Every owner talks to the learner alone, as in Async."""

    learner = True

    kind: Literal["star"] = "star"

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        return ((LEARNER, owner) for owner in self.nodes(n_owners)[1:])

    @override
    def second_eigenvalue(self, n_owners: int) -> float:
        return gossip_spectrum.star(n_owners)


class Ring(GraphKind):
    """Every owner talks to the one before it and the one after it, the last to the first."""

    learner = False

    kind: Literal["ring"] = "ring"

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        return ((owner, owner % n_owners + 1) for owner in self.nodes(n_owners))

    @override
    def second_eigenvalue(self, n_owners: int) -> float:
        return gossip_spectrum.ring(n_owners)


class Complete(GraphKind):
    """Every owner talks to every other."""

    learner = False

    kind: Literal["complete"] = "complete"

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        owners = self.nodes(n_owners)
        return ((a, b) for a in owners for b in range(a + 1, n_owners + 1))

    @override
    def second_eigenvalue(self, n_owners: int) -> float:
        return gossip_spectrum.complete(n_owners)


class GeometricGraph(GraphKind):
    """Owners at independent uniform places of the unit square talk to those that are near.

    Drawn once: the same in all replicates and for every seed of the run.
    """

    learner = False
    remedy = "raise radius or choose another graph number"

    kind: Literal["geometric"] = "geometric"
    radius: Annotated[
        Positive,
        about(
            "Two owners at most so far apart in the unit square are linked; √2 or more links all",
            "sides of the square",
        ),
    ]
    graph: Annotated[Count, about("Which random graph: another number, another graph", "none")] = 1

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        import networkx as nx

        start = Streams(self.graph).generator("gossip", self.kind)
        source = random.Random(int(start.integers(2**63)))
        drawn = nx.random_geometric_graph(n_owners, self.radius, seed=source)
        return ((a + 1, b + 1) for a, b in drawn.edges)


class Edges(GraphKind):
    """Any graph, edge by edge.

    ``Edges(between=tuple(graph.edges))`` takes those of a networkx graph on the nodes 1 to N.
    """

    learner = False

    kind: Literal["edges"] = "edges"
    between: Annotated[
        Several[Several[Count]],
        about("The edges: two different owners each, every pair once", "none"),
    ]

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

    @override
    def links(self, n_owners: int) -> Iterable[tuple[int, int]]:
        return ((pair[0], pair[1]) for pair in self.between)

    @override
    def misfits(self, n_owners: int) -> list[Fault]:
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


GossipGraph = Annotated[StarGraph | Ring | Complete | GeometricGraph | Edges | EdgeFile, FAMILY]
"""Every graph; a new one joins by its line here."""

__all__ = [
    "Complete",
    "Edge",
    "Edges",
    "GeometricGraph",
    "GossipGraph",
    "GraphKind",
    "Ring",
    "StarGraph",
]
