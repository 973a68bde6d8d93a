"""Every owner on a link of its own to the learner."""

from typing import TYPE_CHECKING, Literal

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.topology.failures import LEARNER
from asyncdp_sim.network.topology.routed import Routed
from asyncdp_sim.spec import Duration, PerOwner, per_owner, wrong_length

if TYPE_CHECKING:
    import networkx as nx


class Star(Routed):
    """A link of ``latency`` between the learner and each owner, and no other.

    ``latency`` (time units, ≥ 0) is one number or a list with one per owner. Adding owners leaves
    the others as they are.
    """

    kind: Literal["star"] = "star"
    latency: PerOwner[Duration] = 0.0

    def draw(self, n_owners: int) -> "nx.Graph":
        """Return the star."""
        import networkx as nx

        star = nx.Graph()
        star.add_node(LEARNER)
        for number, latency in enumerate(self.distances(n_owners), start=1):
            star.add_edge(LEARNER, number, latency=latency)
        return star

    def distances(self, n_owners: int) -> tuple[float, ...]:
        """Return each owner's distance from the learner (time units): its own link's latency."""
        return per_owner(self.latency, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return wrong_length("topology.latency", self.latency, n_owners)
