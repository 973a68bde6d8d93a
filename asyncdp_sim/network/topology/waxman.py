"""Random links between random places, the nearer the likelier."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.network.topology.routed import RandomGraph, stretched
from asyncdp_sim.spec import Duration, about

if TYPE_CHECKING:
    import networkx as nx

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

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(alpha=1.0, beta=1.0, latency_per_distance=0.1),)

    @override
    def draw(self, n_owners: int) -> "nx.Graph":
        import networkx as nx

        graph = nx.waxman_graph(n_owners + 1, beta=self.beta, alpha=self.alpha, seed=self.source)
        return stretched(graph, self.latency_per_distance)
