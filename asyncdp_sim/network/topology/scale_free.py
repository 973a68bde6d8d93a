"""A network that grew by linking newcomers to what is well linked."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.laws import Constant, Exponential, Law
from asyncdp_sim.network.topology.failures import LinkFailures, links
from asyncdp_sim.network.topology.routed import RandomGraph
from asyncdp_sim.spec import Count, about
from asyncdp_sim.streams import Streams
from asyncdp_sim.units import TICKS_PER_UNIT

if TYPE_CHECKING:
    import networkx as nx


class ScaleFree(RandomGraph):
    """A Barabási–Albert graph (Science 286, 1999), which is always connected.

    It starts as a star of m links around node 0, the learner; each further node links to m
    others, chosen with probabilities in proportion to their degrees.
    """

    remedy = ""

    kind: Literal["scale-free"] = "scale-free"
    edges: Annotated[
        Count, about("m: links of each node that joins, at most N; 1 makes a tree", "links")
    ]
    latency: Annotated[
        Law,
        about(
            "Time a message takes along a link, drawn once for each in the order of its nodes' "
            "numbers"
        ),
    ]

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (
            cls(edges=1, latency=Exponential(mean=0.05)),
            cls(
                edges=2,
                latency=Constant(value=0.1),
                failures=LinkFailures(gap=Exponential(mean=2.0), length=Exponential(mean=0.5)),
            ),
        )

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        graph = nx.barabasi_albert_graph(n_owners + 1, self.edges, seed=self.source)
        streams = Streams(self.graph).within("topology", self.kind)
        ticks = self.latency.durations(lambda: streams.generator("latency"), 16)
        for link in links(graph):
            graph.edges[link]["latency"] = 0.0 if ticks is None else next(ticks) / TICKS_PER_UNIT
        return graph

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        if self.edges <= n_owners:
            return []
        allowed = f"allowed is a whole number from 1 to the number of owners, {n_owners}"
        return [Fault("topology.edges", str(self.edges), allowed)]
