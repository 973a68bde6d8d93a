"""Graphs of servers that exchange models when they agree: one, or several that take turns."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Literal

from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.network.graphs.connected import GraphKind
from asyncdp_sim.network.graphs.file import EdgeFile
from asyncdp_sim.network.graphs.kinds import Complete, Edges, GeometricGraph, Ring
from asyncdp_sim.spec import Several, about

Neighbours = tuple[tuple[int, ...], ...]
"""By server, the numbers (from 1) of those that it exchanges models with, in order."""

OneGraph = Annotated[Ring | Complete | GeometricGraph | Edges, FAMILY]
"""What may take a turn."""


class GraphsInTurn(GraphKind):
    """Graphs that change with time: agreement w is on the w-th of them, counted round.

    None of them has to be connected; all of them together have to be (POLAR, section V-A, where
    transition matrices are products of B_k … B_s).
    """

    learner = False
    remedy = "add edges to one of them"

    kind: Literal["in-turn"] = "in-turn"
    graphs: Annotated[Several[OneGraph], about("The graphs of agreements 1, 2, …, counted round")]

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
    return [
        Fault(
            fault.key,
            fault.given.replace("owner", "server"),
            fault.allowed.replace("owner", "server"),
        )
        for fault in graph.faults(count)
    ]


def neighbours(graph: GraphKind, count: int) -> Neighbours | None:
    """Return every server's neighbours; None where all are everybody's."""
    edges = graph.edges(count)
    if len(edges) == count * (count - 1) // 2:
        return None
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:  # in ascending order, and so each list
        near[a - 1].append(b)
        near[b - 1].append(a)
    return tuple(tuple(sorted(each)) for each in near)
