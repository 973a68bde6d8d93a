"""Every owner on a link of its own to the learner."""

from typing import TYPE_CHECKING, Annotated, Literal

from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.topology.failures import LEARNER
from asyncdp_sim.network.topology.routed import TopologyKind
from asyncdp_sim.spec import Duration, PerOwner, about, per_owner, wrong_length

if TYPE_CHECKING:
    import networkx as nx


class Star(TopologyKind):
    """A link of ``latency`` between the learner and each owner, and no other.

    Adding owners leaves the others as they are.
    """

    kind: Literal["star"] = "star"
    latency: Annotated[
        PerOwner[Duration], about("Time a message takes along an owner's link", "time units")
    ] = 0.0

    @property
    @override
    def of_everybody(self) -> bool:
        return self.failures is not None

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
