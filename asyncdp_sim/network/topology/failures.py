"""Links that fail and are repaired, and owners' routes around them."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import model_validator

from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.laws import Law, too_short
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Spec, about
from asyncdp_sim.streams import Scope
from asyncdp_sim.units import to_ticks

if TYPE_CHECKING:
    import networkx as nx

LEARNER = 0
"""The learner's node; owners are 1 to N."""

Node = int | str
"""The learner, an owner, or the name of a router."""


class LinkFailures(Spec):
    """Each link works for a ``gap`` and fails for a ``length``, over and over, starting up.

    Links fail independently. An owner's distance is always that of the shortest path over the
    links that work; an owner without a path is offline. Messages under way keep their delay.
    """

    gap: Annotated[
        Law,
        about(
            "Time until a link fails; its mean is positive",
            example={"kind": "exponential", "mean": 20.0},
        ),
    ]
    length: Annotated[
        Law,
        about(
            "How long it stays down; its mean is positive",
            example={"kind": "exponential", "mean": 2.0},
        ),
    ]

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        found = too_short({"gap": self.gap, "length": self.length})
        if len(found) > 0:
            raise faults_of(found)
        return self

    def begin(
        self, graph: "nx.Graph", owners: Sequence[Owner], learner: Learner, streams: Scope
    ) -> None:
        """Start every link's failures; a link's streams are named by its two nodes."""
        routes = Routes(graph, owners, learner)
        for link in links(graph):
            learner.kernel.start(self._recur(link, routes, learner, streams))

    def _recur(
        self, link: tuple[Node, Node], routes: "Routes", learner: Learner, streams: Scope
    ) -> Activity:
        own = streams.within("edge", *link)
        gaps = self.gap.durations(partial(own.generator, "gap"), 16)
        lengths = self.length.durations(partial(own.generator, "length"), 16)
        while gaps is not None and lengths is not None:
            yield learner.kernel.tick + next(gaps), Priority.PRESENCE
            routes.cut(link)
            yield learner.kernel.tick + next(lengths), Priority.PRESENCE
            routes.mend(link)


def links(graph: "nx.Graph") -> list[tuple[Node, Node]]:
    """Return the edges in an order that depends on their nodes alone: numbers before names."""
    pairs: list[tuple[Node, Node]] = list(graph.edges)
    ordered = [(b, a) if _rank(b) < _rank(a) else (a, b) for a, b in pairs]
    return sorted(ordered, key=lambda link: (_rank(link[0]), _rank(link[1])))


def _rank(node: Node) -> tuple[int, str]:
    return (node, "") if isinstance(node, int) else (2**63, node)


class Routes:
    """The shortest paths over the links that work, found anew once per tick of change."""

    def __init__(self, graph: "nx.Graph", owners: Sequence[Owner], learner: Learner) -> None:
        self._latency = {link: graph.edges[link]["latency"] for link in links(graph)}
        self._working = graph.copy()
        self._owners = owners
        self._learner = learner
        self._stranded = [False] * len(owners)
        self._due = False

    def cut(self, link: tuple[Node, Node]) -> None:
        """Take a link away."""
        self._working.remove_edge(*link)
        self._change()

    def mend(self, link: tuple[Node, Node]) -> None:
        """Put a link back."""
        self._working.add_edge(*link, latency=self._latency[link])
        self._change()

    def _change(self) -> None:
        """Find routes anew at this tick, after the other links that change at it."""
        if not self._due:
            self._due = True
            self._learner.kernel.start(self._reroute())

    def _reroute(self) -> Activity:
        import networkx as nx  # only where there are links to follow

        yield self._learner.kernel.after(0, Priority.PRESENCE)
        self._due = False
        reached = nx.single_source_dijkstra_path_length(self._working, LEARNER, weight="latency")
        for index, owner in enumerate(self._owners):
            distance = reached.get(owner.number)
            if distance is not None:
                owner.distance = to_ticks(distance)
            if self._stranded[index] == (distance is None):
                continue
            self._stranded[index] = distance is None
            if distance is None:
                owner.go_offline(self._learner)
            else:
                owner.go_online(self._learner)
