"""Gossip: an edge's clock wakes two neighbours, which average their models and each take a step.

Async is the star, where every edge joins an owner to the learner; on other graphs there are owners
only, all of which hold data.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from typing import Annotated, Any, Literal

from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Activity, Priority
from asyncdp_sim.core.specification import FAMILY, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.words import number
from asyncdp_sim.network import clocks
from asyncdp_sim.network.graphs import Edge, GossipGraph
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Durations, Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, lossy
from asyncdp_sim.network.topology import LEARNER
from asyncdp_sim.theory.formulas.convergence import mean_update, second_eigenvalue
from asyncdp_sim.trace import Detail, EventKind, Exchange, ExchangeOutcome


class Meetings:
    """Wakes pairs of neighbours while both may still answer."""

    def __init__(self, owners: Sequence[Owner], edges: Iterable[Edge], learner: Learner) -> None:
        self._nodes = {LEARNER: Owner(LEARNER)} | {owner.number: owner for owner in owners}
        self._learner = learner
        self._neighbours: dict[int, dict[int, None]] = {number: {} for number in self._nodes}
        for a, b in edges:  # a dictionary for a set that keeps its order
            self._neighbours[a][b] = self._neighbours[b][a] = None

    def follow(self, owner: int) -> Activity:
        """Silence an owner's edges as soon as it can never answer again."""
        while self._learner.awaits(owner):
            yield self._learner.absences.end(owner)
        self._silence(owner)

    def wake(self, edge: Edge, ticks: Iterator[int]) -> Activity:
        """Run an edge's clock: each tick that finds both nodes online and free is a meeting."""
        learner, (a, b) = self._learner, edge
        ends = [self._nodes[a], self._nodes[b]]
        for tick in ticks:
            yield tick, Priority.CLOCK_TICK
            if b not in self._neighbours[a]:
                return
            away = [end.number for end in ends if not end.attends(tick)]
            busy = [end.number for end in ends if end.busy]
            if len(away) > 0:
                learner.event(EventKind.clock_dropped, _named(away, b), detail=Detail.offline)
            elif len(busy) > 0:
                learner.event(EventKind.clock_dropped, _named(busy, b), detail=Detail.busy)
            else:
                learner.event(EventKind.clock_tick, _named(edge, b))
                learner.kernel.start(self._meet(ends))
        self._cut_edge(a, b)

    def _meet(self, ends: list[Owner]) -> Activity:
        """Let two nodes average, compute and step; only owners answer."""
        learner, kernel = self._learner, self._learner.kernel
        for end in ends:
            end.busy = True
        pairs = [(end, other.number) for end, other in zip(ends, ends[::-1], strict=True)]
        owners = [end for end in ends if end.number != LEARNER]
        exchanges = [
            learner.read(end.number, learner.begin(end.number), kernel.tick, peer)
            for end, peer in pairs
            if end.number != LEARNER
        ]
        travel = _slower(owner.query for owner in owners)
        if travel is not None:
            yield kernel.tick + travel, Priority.QUERY_ARRIVES
            for exchange in exchanges:
                learner.event(EventKind.query_received, exchange.owner, exchange.message)
        work = _slower(owner.compute for owner in owners)
        if work is not None:
            yield kernel.tick + work, Priority.GRADIENT_READY
        for exchange in exchanges:
            learner.release(exchange)
            if not learner.awaits(exchange.owner):
                self._silence(exchange.owner)
        sending = _slower(owner.answer for owner in owners)
        if sending is not None:
            yield kernel.tick + sending, Priority.ANSWER_END
        arrived = [
            exchange
            for owner, exchange in zip(owners, exchanges, strict=True)
            if self._arrives(owner, exchange)
        ]
        if len(arrived) > 0:
            learner.update(arrived[-1].owner, arrived[-1].message)
        for end in ends:
            end.busy = False
        for _ in exchanges:
            learner.finish()

    def _arrives(self, owner: Owner, exchange: Exchange) -> bool:
        """Return whether an owner's answer comes to the other, which uses it."""
        lost = owner.link.losses["answer"]
        if lost is None or not next(lost):
            self._learner.apply(exchange)
            return True
        self._learner.transmission(EventKind.answer_lost, exchange, Detail.noise)
        self._learner.drop(exchange, ExchangeOutcome.lost)
        return False

    def _silence(self, owner: int) -> None:
        for other in list(self._neighbours[owner]):
            self._cut_edge(owner, other)

    def _cut_edge(self, a: int, b: int) -> None:
        """Let an edge be silent for ever; an owner with no other edge does not answer any more."""
        if b not in self._neighbours[a]:
            return
        for node, other in ((a, b), (b, a)):
            del self._neighbours[node][other]
            if len(self._neighbours[node]) == 0 and node != LEARNER:
                self._learner.leave(node)


def _named(nodes: Sequence[int], owner: int) -> int:
    """Return the first of the nodes for a note; where it is the learner, its neighbour."""
    return owner if nodes[0] == LEARNER else nodes[0]


def _slower(durations: Iterable[Durations]) -> int | None:
    """Return the longest of the next durations; None where nobody takes an event."""
    return max((next(ticks) for ticks in durations if ticks is not None), default=None)


EdgeClock = Annotated[
    clocks.PoissonClock | clocks.GammaClock | clocks.DeterministicClock | clocks.ScriptedClock,
    FAMILY,
]
"""Clocks that edges can have."""
_BLOCK = 64
"""Gaps that an edge's clock draws at a time; does not change their values."""


class Gossip(ProtocolKind):
    """Neighbours on a graph exchange in pairs; each node is in one pair at a time.

    If a node of an edge is offline or busy when the edge wakes up, the wake-up is dropped.
    Otherwise both nodes are busy until the exchange ends: models travel (for the slower of the two
    queries), gradients are computed (the slower one) and sent (the slower answer), and the answers
    of the nodes that hold data make one update. Two owners' answers are lost independently; if both
    are lost, there is no update. An edge is silent if one of its owners has left or has no budget
    left.
    """

    acts_on_ticks = False
    at_mean = True
    update_of = "pair"
    of_everybody = True
    paced_by = ("protocol.clock.rate", "edges whose clocks tick")
    has_learner = trait(lambda self: self.graph.learner)

    kind: Literal["gossip"] = "gossip"
    graph: GossipGraph
    clock: EdgeClock = clocks.PoissonClock()

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.clock.superposed:
            rule = 'allowed is "per-owner": every edge has a clock of its own'
            yield Fault("clock.population", "'superposed'", rule)

    @override
    def faults_of_network(self, network: Any) -> Iterator[Fault]:
        """Refuse what gossip does not have: clocks of owners, a learner's lines and losses."""
        channel, n_owners = network.channel, network.n_owners
        yield from (fault.under("protocol") for fault in self._misfits(n_owners))
        yield from _owners_clocks(network.clock)
        if channel.contended is not None:
            rule = "protocol gossip needs channel ideal: neighbours talk side by side"
            yield Fault("channel.kind", repr(channel.kind), rule)
        for name, share in lossy(channel, n_owners):
            if name != "loss" or self.has_learner:
                rule = "protocol gossip loses answers between owners alone: allowed is 0"
                yield Fault(f"channel.{name}", f"{share:g} for some owner", rule)
        if channel.retransmissions > 0:
            rule = "protocol gossip sends nothing again: allowed is 0"
            yield Fault("channel.retransmissions", str(channel.retransmissions), rule)
        if network.latency.acknowledges:
            rule = "protocol gossip acknowledges nothing: allowed is none"
            yield Fault("latency.acknowledgement", "a law", rule)
        if network.topology is not None:
            rule = "not allowed with protocol gossip, which has its own graph"
            yield Fault("topology.kind", repr(network.topology.kind), rule)

    def _misfits(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners, or of edges."""
        faults = self.graph.faults(n_owners)
        if len(faults) > 0:
            return faults
        by_edge = self.clock.faults(len(self.graph.edges(n_owners)))
        return [replace(f, allowed=f.allowed.replace("per owner", "per edge")) for f in by_edge]

    @override
    def rates(self, network: Any) -> tuple[float, ...] | None:
        return self.clock.rates(len(self.graph.edges(network.n_owners)))

    def edge_shares(self, n_owners: int) -> tuple[float, ...]:
        """Return each edge's share of all wake-ups, in the order of the edges.

        By the declared rates: what is dropped counts too. Edges with scripts count alike.
        """
        n_edges = len(self.graph.edges(n_owners))
        rates = self.clock.rates(n_edges) or (1.0,) * n_edges
        total = sum(rates)
        return tuple(rate / total for rate in rates)

    def contraction(self, n_owners: int) -> float:
        """Return λ_2(E W): what averaging alone leaves of the expected disagreement, at most."""
        nodes = self.graph.nodes(n_owners)
        edges = [(a - nodes[0], b - nodes[0]) for a, b in self.graph.edges(n_owners)]
        mean = mean_update(len(nodes), edges, self.edge_shares(n_owners))
        return max(0.0, round(second_eigenvalue(mean), 14))  # 0 has an error of rounding

    @override
    def describe(self, network: Any, duration: str, mean: float) -> Iterator[str]:
        n_owners, graph = network.n_owners, self.graph
        edges, nodes = graph.edges(n_owners), len(graph.nodes(n_owners))
        rates = self.clock.rates(len(edges))
        pace = f"{self.clock.kind} clocks"
        if rates is not None:
            pace = f"{number(fsum(rates))} wake-ups per unit"
        yield f"network: gossip, {graph.kind}, {nodes} nodes, {len(edges)} edges, {pace}"
        left = self.contraction(n_owners)
        lost = "" if network.channel.lossless else " and no answer lost"
        yield (
            f"spectral gap: {1 - left:.3g} (averaging alone leaves at most λ_2(E W) = {left:.3g} "
            f"of the expected disagreement after an update, if no wake-up is dropped{lost})"
        )

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        edges = self.graph.edges(len(owners))
        meetings = Meetings(owners, edges, learner)
        for owner in owners:
            learner.kernel.start(meetings.follow(owner.number))
        for place, (a, b) in enumerate(edges):
            named = ("owner", b) if a == LEARNER else ("edge", a, b)  # as under ``request``
            source = partial(streams.generator, *named, "clock")
            ticks = self.clock.ticks(place, source, _BLOCK)
            learner.kernel.start(meetings.wake((a, b), ticks))


def _owners_clocks(clock: clocks.Clock) -> list[Fault]:
    """Return a fault where owners were given clocks, which nobody follows."""
    rule = "under protocol gossip edges have clocks, not owners: set protocol.clock"
    if isinstance(clock, clocks.PoissonClock):  # the default
        shown = not clock.superposed and clock.rate != 1.0
        return [Fault("clock.rate", str(clock.rate), rule)] if shown else []
    return [] if clock.saturated else [Fault("clock.kind", repr(clock.kind), rule)]
