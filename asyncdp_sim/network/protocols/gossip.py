"""Gossip: an edge's clock wakes two neighbours, which average their models and each take a step.

Async is the star, where every edge joins an owner to the learner; on other graphs there are owners
only, all of which hold data.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Moment, Priority
from asyncdp_sim.network.clocks import DeterministicClock, GammaClock, PoissonClock, ScriptedClock
from asyncdp_sim.network.graphs.kinds import Edge, GossipGraph
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Durations, Owner
from asyncdp_sim.network.protocols.convened import Convened
from asyncdp_sim.network.topology.failures import LEARNER
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Detail, EventKind

EdgeClock = Annotated[PoissonClock | GammaClock | DeterministicClock | ScriptedClock, FAMILY]
"""Clocks that edges can have."""
_BLOCK = 64
"""Gaps that an edge's clock draws at a time; does not change their values."""


class Gossip(Convened):
    """Neighbours on a graph talk in pairs; many pairs may talk at once, but a node to one only.

    A wake-up of an edge finds both its nodes online and free, or is dropped. Both are busy then:
    models travel (the slower of the two queries), gradients are computed (the slower one) and
    sent (the slower answer), and the answers of the nodes that hold data make one update. An
    edge between owners of which one has spent its budget, or has left, is silent.

    Attributes
    ----------
    graph : graph
        Who is whose neighbour.
    clock : clock
        Of every edge; rates, phases and scripts are one for all edges or a list with one per edge,
        in ascending order of the edges. The owners' own clocks are not followed.
    """

    kind: Literal["gossip"] = "gossip"
    graph: GossipGraph
    clock: EdgeClock = PoissonClock()

    @model_validator(mode="after")
    def _each_edge_has_a_clock(self) -> Self:
        if self.clock.superposed:
            allowed = 'allowed is "per-owner": every edge has a clock of its own'
            raise faults_of([Fault("clock.population", "'superposed'", allowed)])
        return self

    @property
    def fresh(self) -> str:
        """Why no update comes between a read and its use, whatever takes time; else empty."""
        return ""

    @property
    def asks(self) -> Literal["average", "central"]:
        """Gradients are taken at the mean of the two nodes' models."""
        return "average"

    @property
    def plain(self) -> bool:
        """An exchange has no other way to go than to its update."""
        return True

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners, or of edges."""
        found = self.graph.faults(n_owners)
        if len(found) == 0:
            for fault in self.clock.faults(len(self.graph.edges(n_owners))):
                found.append(replace(fault, allowed=fault.allowed.replace("per owner", "per edge")))
        return found

    def edge_shares(self, n_owners: int) -> tuple[float, ...]:
        """Return each edge's share of all wake-ups, in the order of the edges.

        By the declared rates: what is dropped counts too. Edges with scripts count alike.
        """
        n_edges = len(self.graph.edges(n_owners))
        rates = self.clock.rates(n_edges) or (1.0,) * n_edges
        total = sum(rates)
        return tuple(rate / total for rate in rates)

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start the edges' clocks."""
        edges = self.graph.edges(len(owners))
        meetings = _Meetings(owners, edges, learner)
        for owner in owners:
            learner.kernel.start(meetings.follow(owner.number))
        for number, (a, b) in enumerate(edges):
            named = ("owner", b) if a == LEARNER else ("edge", a, b)  # as under ``request``
            source = partial(streams.generator, *named, "clock")
            ticks = self.clock.ticks(number, source, _BLOCK)
            learner.kernel.start(meetings.wake((a, b), ticks))


class _Meetings:
    """Wakes pairs of neighbours while both may still answer."""

    def __init__(self, owners: Sequence[Owner], edges: Iterable[Edge], learner: Learner) -> None:
        self._nodes = {LEARNER: Owner(LEARNER)} | {owner.number: owner for owner in owners}
        self._learner = learner
        self._near: dict[int, dict[int, None]] = {number: {} for number in self._nodes}
        for a, b in edges:  # a dictionary for a set that keeps its order
            self._near[a][b] = self._near[b][a] = None

    def follow(self, owner: int) -> Activity:
        """Silence an owner's edges as soon as it can never answer again."""
        while self._learner.awaits(owner):
            yield self._learner.presence(owner)
        self._silence(owner)

    def wake(self, edge: Edge, ticks: Iterator[int]) -> Activity:
        """Run an edge's clock: each tick that finds both nodes online and free is a meeting."""
        learner, (a, b) = self._learner, edge
        ends = [self._nodes[a], self._nodes[b]]
        for tick in ticks:
            yield Moment(learner.kernel, tick, Priority.CLOCK_TICK)
            if b not in self._near[a]:
                return
            away = [end.number for end in ends if not _online(end, tick)]
            busy = [end.number for end in ends if end.busy]
            if len(away) > 0:
                learner.event(EventKind.clock_dropped, _named(away, b), detail=Detail.offline)
            elif len(busy) > 0:
                learner.event(EventKind.clock_dropped, _named(busy, b), detail=Detail.busy)
            else:
                learner.event(EventKind.clock_tick, _named(edge, b))
                learner.kernel.start(self._meet(ends))
        self._part(a, b)

    def _meet(self, ends: list[Owner]) -> Activity:
        """Let two nodes average, compute and step; only owners answer."""
        learner, kernel = self._learner, self._learner.kernel
        for end in ends:
            end.busy = True
        pairs = [(end, other.number) for end, other in zip(ends, ends[::-1], strict=True)]
        owners = [end for end in ends if end.number != LEARNER]
        exchanges = [
            learner.read(end.number, learner.begin(end.number), kernel.now, peer)
            for end, peer in pairs
            if end.number != LEARNER
        ]
        travel = _slower(owner.query for owner in owners)
        if travel is not None:
            yield Moment(kernel, kernel.now + travel, Priority.QUERY_ARRIVES)
            for exchange in exchanges:
                learner.event(EventKind.query_received, exchange.owner, exchange.message)
        work = _slower(owner.compute for owner in owners)
        if work is not None:
            yield Moment(kernel, kernel.now + work, Priority.GRADIENT_READY)
        for exchange in exchanges:
            learner.release(exchange)
            if not learner.awaits(exchange.owner):
                self._silence(exchange.owner)
        sending = _slower(owner.answer for owner in owners)
        if sending is not None:
            yield Moment(kernel, kernel.now + sending, Priority.ANSWER_END)
        for exchange in exchanges:
            learner.apply(exchange)
        learner.update(exchanges[-1].owner, exchanges[-1].message)
        for end in ends:
            end.busy = False
        for _ in exchanges:
            learner.finish()

    def _silence(self, owner: int) -> None:
        for other in list(self._near[owner]):
            self._part(owner, other)

    def _part(self, a: int, b: int) -> None:
        """Let an edge be silent for ever; whoever has no other will not answer any more."""
        if b not in self._near[a]:
            return
        for node, other in ((a, b), (b, a)):
            del self._near[node][other]
            if len(self._near[node]) == 0 and node != LEARNER:
                self._learner.leave(node)


def _online(node: Owner, tick: int) -> bool:
    return node.dark == 0 and (node.attends is None or node.attends(tick))


def _named(nodes: Sequence[int], owner: int) -> int:
    """Return the first of the nodes for a note; where it is the learner, its neighbour."""
    return owner if nodes[0] == LEARNER else nodes[0]


def _slower(durations: Iterable[Durations]) -> int | None:
    """Return the longest of the next durations; None where nobody takes an event."""
    return max((next(each) for each in durations if each is not None), default=None)
