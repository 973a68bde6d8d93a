"""Random networks: near places linked, random links of random places, growth by linking."""

from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import override

from asyncdp_sim.network.topology.routed import RandomGraph, stretched
from asyncdp_sim.spec import Duration, Positive, about

if TYPE_CHECKING:
    import networkx as nx
from typing import TYPE_CHECKING

from pydantic import Field

if TYPE_CHECKING:
    import networkx as nx
from typing import TYPE_CHECKING

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.topology.failures import links
from asyncdp_sim.spec import Count
from asyncdp_sim.streams import Streams
from asyncdp_sim.units import TICKS_PER_UNIT

if TYPE_CHECKING:
    import networkx as nx


class Geometric(RandomGraph):
    """A random geometric graph on the unit square.

    The N + 1 nodes stand at independent uniform places; two are linked where their Euclidean
    distance is at most ``radius``.
    """

    remedy = "radius"

    kind: Literal["geometric"] = "geometric"
    radius: Annotated[
        Positive,
        about(
            "Two nodes at most so far apart in the unit square are linked; √2 or more links all",
            "sides of the square",
        ),
    ]
    latency_per_distance: Annotated[
        Duration,
        about(
            "Time a message takes along a link, per unit of its Euclidean distance",
            "time units / side",
        ),
    ]

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        graph = nx.random_geometric_graph(n_owners + 1, self.radius, seed=self.source)
        return stretched(graph, self.latency_per_distance)


Share = Annotated[float, Field(gt=0, le=1)]


class Waxman(RandomGraph):
    """Waxman's graph on the unit square (IEEE J. Select. Areas Commun. 6(9), 1988).

    The N + 1 nodes stand at independent uniform places; two at Euclidean distance d are linked
    with probability β exp(−d/(αL)), independently, where L is the largest distance between any
    two nodes.
    """

    remedy = "alpha or beta"

    kind: Literal["waxman"] = "waxman"
    alpha: Annotated[Share, about("α: how far links reach", "none")]
    beta: Annotated[Share, about("β: how many links there are", "none")]
    latency_per_distance: Annotated[
        Duration,
        about(
            "Time a message takes along a link, per unit of its Euclidean distance",
            "time units / side",
        ),
    ]

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        graph = nx.waxman_graph(n_owners + 1, beta=self.beta, alpha=self.alpha, seed=self.source)
        return stretched(graph, self.latency_per_distance)


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
