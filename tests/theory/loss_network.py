"""Neighbours that meet as in a loss network, and what a run of gossip has of that.

Wake-ups that find both nodes free are the calls of a loss network, whose circuits are the nodes and
whose routes are the edges. The pairs that talk are a matching of the graph, and the stationary
probability of a matching is in proportion to the product of λ_e m_e over its edges, whatever the
law of the time that a pair talks (m_e is its mean). Just after a meeting of e has ended, it is that
of the matchings which leave both ends of e free: the reverse of the process is one of its kind.

References
----------
Kelly, "Loss networks", Ann. Appl. Probab. 1(3), 1991; Heilmann and Lieb, "Theory of monomer-dimer
systems", Commun. Math. Phys. 25, 1972.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, fsum, prod

from asyncdp_sim.core.specification import per_owner
from asyncdp_sim.network import Network
from asyncdp_sim.network.laws import LawKind
from asyncdp_sim.network.spec import STAGES
from asyncdp_sim.network.topology import LEARNER

Edge = tuple[int, int]
"""Two nodes."""
MOST_NODES, MOST_SUMS = 100, 10_000
"""Nodes of a graph, and partial sums over its matchings, beyond which none is worked out."""


@dataclass(frozen=True)
class LossNetwork:
    """The long run of pairs that meet.

    Attributes
    ----------
    flows : dict
        Meetings per time unit of every edge, λ_e Z(G − i − j)/Z(G), with Z the sum over matchings.
    busy_fraction : float
        Share of the time in which some pair talks, 1 − 1/Z(G).
    after : dict
        Mean sum of the marks of all pairs that talk just after a meeting of an edge has ended;
        where every mark is 1, how many pairs talk then.
    """

    flows: dict[Edge, float]
    busy_fraction: float
    after: dict[Edge, float]

    def of(self, node: int) -> float:
        """Return the meetings of a node per time unit."""
        return fsum(flow for edge, flow in self.flows.items() if node in edge)

    def total(self, each: Mapping[Edge, float]) -> float:
        """Return Σ_e f_e x_e of what each meeting brings, per time unit."""
        return fsum(flow * each[edge] for edge, flow in self.flows.items())


def loss_network(
    rates: Mapping[Edge, float],
    times: Mapping[Edge, float],
    marks: Mapping[Edge, float],
) -> LossNetwork | None:
    """Return the long run, or None where the graph has too many matchings to sum.

    Parameters
    ----------
    rates : mapping
        From an edge (two nodes, numbered from 0) to λ_e > 0, wake-ups per time unit.
    times : mapping
        From an edge to m_e ≥ 0, the mean time of a meeting (time units).
    marks : mapping
        From an edge to what a pair that talks counts for, ≥ 0.
    """
    weights = {edge: rate * times[edge] for edge, rate in rates.items()}
    nodes = max(max(edge) for edge in rates) + 1
    if nodes > MOST_NODES:
        return None
    sums = _Sums({edge: weight for edge, weight in weights.items() if weight > 0}, marks)
    everybody = (1 << nodes) - 1
    try:
        total, _ = sums.of(everybody)
        flows, after = {}, {}
        for edge, rate in rates.items():
            without, marked = sums.of(everybody & ~(1 << edge[0]) & ~(1 << edge[1]))
            flows[edge] = rate * without / total
            after[edge] = marked / without
    except OverflowError:
        return None
    return LossNetwork(flows, 1 - 1 / total, after)


class _Sums:
    """Sums over the matchings of parts of a graph: of their weights, and of weight × marks."""

    def __init__(self, weights: Mapping[Edge, float], marks: Mapping[Edge, float]) -> None:
        self._near: dict[int, list[tuple[int, float, float]]] = {}
        for (a, b), weight in weights.items():
            mark = marks[a, b]
            self._near.setdefault(a, []).append((b, weight, mark))
            self._near.setdefault(b, []).append((a, weight, mark))
        self._known: dict[int, tuple[float, float]] = {}

    def of(self, nodes: int) -> tuple[float, float]:
        """Return the sums for the nodes whose bits are set.

        Raises
        ------
        OverflowError
            If there are too many.
        """
        if nodes not in self._known:
            if len(self._known) == MOST_SUMS:
                raise OverflowError
            self._known[nodes] = self._worked_out(nodes)
        return self._known[nodes]

    def _worked_out(self, nodes: int) -> tuple[float, float]:
        """Leave the first node that has neighbours single, or pair it with each of them."""
        for node in range(nodes.bit_length()):
            if nodes >> node & 1:
                near = [pair for pair in self._near.get(node, []) if nodes >> pair[0] & 1]
                if len(near) > 0:
                    break
        else:
            return 1.0, 0.0
        rest = nodes & ~(1 << node)
        total, marked = self.of(rest)
        for other, weight, mark in near:
            without, more = self.of(rest & ~(1 << other))
            total += weight * without
            marked += weight * (more + mark * without)
        return total, marked


def figures(network: Network) -> dict[str, float]:
    """Return throughput, utilisation and staleness of gossip whose edges have Poisson clocks.

    Losses take no time and change nothing that follows: of each edge e an update is made with
    chance q_e, and r_e answers are used on average. Staleness of the answers used and answers in
    flight just after updates have one sum, so that the mean staleness is
    Σ_e f_e q_e E_e[Σ r of the pairs that talk] / Σ_e f_e r_e.
    """
    protocol, n_owners = network.protocol, network.n_owners
    edges = protocol.graph.edges(n_owners)
    share = (1.0, *network.availability.online_share(n_owners))
    ticks = zip(edges, protocol.clock.rates(len(edges)), strict=True)
    rates = {edge: rate * share[edge[0]] * share[edge[1]] for edge, rate in ticks}
    losses = network.channel.packet_loss().shares(n_owners)
    own = {edge: [losses[node - 1] for node in edge if node != LEARNER] for edge in edges}
    updating = {edge: 1 - prod(lost) for edge, lost in own.items()}
    used = {edge: fsum(1 - loss for loss in lost) for edge, lost in own.items()}
    meetings = loss_network(rates, {edge: mean_time(network, edge) for edge in edges}, used)
    in_flight = {edge: chance * meetings.after[edge] for edge, chance in updating.items()}
    return {
        "throughput": meetings.total(updating),
        "utilisation": meetings.busy_fraction,
        "mean_staleness": meetings.total(in_flight) / meetings.total(used),
    }


def mean_time(network: Network, edge: Edge) -> float:
    """Return the mean time of a meeting, stage by stage the slower node's."""
    total = 0.0
    for stage in STAGES:
        laws = network.compute if stage == "compute" else getattr(network.latency, stage)
        own = [per_owner(laws, network.n_owners)[node - 1] for node in edge if node != LEARNER]
        total += own[0].mean if len(own) == 1 else mean_longer(*own)
    return total


def mean_longer(x: LawKind, y: LawKind) -> float:
    """Return E max(X, Y) of independent exponential or constant times."""
    if x.constant:
        x, y = y, x
    if x.constant:
        return max(x.mean, y.mean)
    if y.constant:
        return y.mean + x.mean * exp(-y.mean / x.mean)
    return x.mean + y.mean - 1 / (1 / x.mean + 1 / y.mean)
