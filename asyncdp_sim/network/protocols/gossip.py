"""Gossip: an edge's clock wakes two neighbours, which average their models and each take a step.

Async is the star, where every edge joins an owner to the learner; on other graphs there are owners
only, all of which hold data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from typing import Annotated, Any, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.clocks import (
    Clock,
    DeterministicClock,
    GammaClock,
    PoissonClock,
    ScriptedClock,
)
from asyncdp_sim.network.graphs.kinds import GossipGraph
from asyncdp_sim.network.latency import acknowledged
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, lossy, period_of
from asyncdp_sim.network.protocols.meetings import Meetings
from asyncdp_sim.network.topology.failures import LEARNER
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope
from asyncdp_sim.theory.formulas.gossip_spectrum import mean_update, second_eigenvalue

EdgeClock = Annotated[PoissonClock | GammaClock | DeterministicClock | ScriptedClock, FAMILY]
"""Clocks that edges can have."""
_BLOCK = 64
"""Gaps that an edge's clock draws at a time; does not change their values."""


class Gossip(ProtocolKind):
    """Neighbours on a graph talk in pairs; many pairs may talk at once, but a node to one only.

    A wake-up of an edge finds both its nodes online and free, or is dropped. Both are busy then:
    models travel (the slower of the two queries), gradients are computed (the slower one) and
    sent (the slower answer), and the answers of the nodes that hold data make one update. Of
    two owners' answers each may be lost by itself; where both are, there is no update. An
    edge between owners of which one has spent its budget, or has left, is silent.
    """

    one_on_one = False
    sends_requests = False
    acts_on_ticks = False
    always_served = False
    reads_early = False
    at_mean = True
    update_of = "pair"
    ideal_only = True

    kind: Literal["gossip"] = "gossip"
    graph: Annotated[GossipGraph, about("Who is whose neighbour")]
    clock: Annotated[
        EdgeClock,
        about(
            "Clock of every edge; rates, phases and scripts are one for all edges or a list with "
            "one per edge, in ascending order of the edges. The owners' own clocks are not "
            "followed"
        ),
    ] = PoissonClock()

    @model_validator(mode="after")
    def _each_edge_has_a_clock(self) -> Self:
        if self.clock.superposed:
            allowed = 'allowed is "per-owner": every edge has a clock of its own'
            raise faults_of([Fault("clock.population", "'superposed'", allowed)])
        return self

    @property
    @override
    def of_everybody(self) -> bool:
        return True

    @property
    @override
    def has_learner(self) -> bool:
        return self.graph.learner

    @property
    @override
    def plain(self) -> bool:
        return True

    @override
    def faults_of_network(self, n_owners: int, parts: Any) -> list[Fault]:
        """Refuse what gossip does not have: clocks of owners, a learner's lines and losses."""
        channel = parts.channel
        found = [fault.under("protocol") for fault in self._misfits(n_owners)]
        found += _owners_clocks(parts.clock)
        if channel.contended is not None:
            allowed = "protocol gossip needs channel ideal: neighbours talk side by side"
            found.append(Fault("channel.kind", repr(channel.kind), allowed))
        for name, share in lossy(channel, n_owners):
            if name != "loss" or self.has_learner:
                allowed = "protocol gossip loses answers between owners alone: allowed is 0"
                found.append(Fault(f"channel.{name}", f"{share:g} for some owner", allowed))
        if channel.retransmissions > 0:
            allowed = "protocol gossip sends nothing again: allowed is 0"
            found.append(Fault("channel.retransmissions", str(channel.retransmissions), allowed))
        if acknowledged(parts.latency.acknowledgement):
            allowed = "protocol gossip acknowledges nothing: allowed is none"
            found.append(Fault("latency.acknowledgement", "a law", allowed))
        if parts.topology is not None:
            allowed = "protocol gossip has a graph of its own: allowed is nothing"
            found.append(Fault("topology.kind", repr(parts.topology.kind), allowed))
        return found

    def _misfits(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners, or of edges."""
        found = self.graph.faults(n_owners)
        if len(found) == 0:
            for fault in self.clock.faults(len(self.graph.edges(n_owners))):
                found.append(replace(fault, allowed=fault.allowed.replace("per owner", "per edge")))
        return found

    @override
    def stall_period(self, network: Any, count: int) -> int | None:
        n_edges = len(self.graph.edges(network.n_owners))
        return period_of(self.clock.rates(n_edges), max(count, n_edges))

    def edge_shares(self, n_owners: int) -> tuple[float, ...]:
        """Return each edge's share of all wake-ups, in the order of the edges.

        By the declared rates: what is dropped counts too. Edges with scripts count alike.
        """
        n_edges = len(self.graph.edges(n_owners))
        rates = self.clock.rates(n_edges) or (1.0,) * n_edges
        total = sum(rates)
        return tuple(rate / total for rate in rates)

    def contraction(self, n_owners: int) -> float:
        """Return λ_2(E W), by its closed form or by its matrix: what averaging alone leaves."""
        shares = self.edge_shares(n_owners)
        known = self.graph.second_eigenvalue(n_owners)
        if known is not None and max(shares) - min(shares) <= 1e-12 * max(shares):
            return known
        nodes = self.graph.nodes(n_owners)
        edges = [(a - nodes[0], b - nodes[0]) for a, b in self.graph.edges(n_owners)]
        return second_eigenvalue(mean_update(len(nodes), edges, shares))

    @override
    def words(self, network: Any, said: str, service: float) -> Iterator[str]:
        n_owners, graph = network.n_owners, self.graph
        edges, nodes = graph.edges(n_owners), len(graph.nodes(n_owners))
        rates = self.clock.rates(len(edges))
        pace = f"{self.clock.kind} clocks"
        if rates is not None:
            pace = f"{fsum(rates):.4g} wake-ups per unit"
        yield f"network: gossip, {graph.kind}, {nodes} nodes, {len(edges)} edges, {pace}"
        left = self.contraction(n_owners)
        lost = "" if network.channel.lossless else " and no answer lost"
        yield (
            f"spectral gap: {1 - left:.4g} (averaging alone leaves at most λ_2(E W) = {left:.4g} "
            f"of the expected disagreement after an update, were no wake-up dropped{lost})"
        )

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        edges = self.graph.edges(len(owners))
        meetings = Meetings(owners, edges, learner)
        for owner in owners:
            learner.kernel.start(meetings.follow(owner.number))
        for number, (a, b) in enumerate(edges):
            named = ("owner", b) if a == LEARNER else ("edge", a, b)  # as under ``request``
            source = partial(streams.generator, *named, "clock")
            ticks = self.clock.ticks(number, source, _BLOCK)
            learner.kernel.start(meetings.wake((a, b), ticks))


def _owners_clocks(clock: Clock) -> list[Fault]:
    """Return a fault where owners were given clocks, which nobody follows."""
    allowed = "under protocol gossip edges have clocks, not owners: set protocol.clock"
    if isinstance(clock, PoissonClock):  # the clock of whoever says nothing of clocks
        given = not clock.superposed and clock.rate != 1.0
        return [Fault("clock.rate", str(clock.rate), allowed)] if given else []
    return [] if clock.saturated else [Fault("clock.kind", repr(clock.kind), allowed)]
