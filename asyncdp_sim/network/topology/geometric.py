"""Random places, linked where they are near."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from typing_extensions import override

from asyncdp_sim.network.topology.routed import RandomGraph, stretched
from asyncdp_sim.spec import Duration, Positive, about

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

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(radius=2.0, latency_per_distance=0.1, graph=3),)

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        graph = nx.random_geometric_graph(n_owners + 1, self.radius, seed=self.source)
        return stretched(graph, self.latency_per_distance)
