"""Neighbours that meet as in a loss network: how often, and who else talks then.

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
from functools import cache
from math import fsum

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
    rates: Mapping[Edge, float], times: Mapping[Edge, float], marks: Mapping[Edge, float]
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
    nodes = max(max(edge) for edge in rates) + 1
    if nodes > MOST_NODES:
        return None
    near: dict[int, list[tuple[int, float, float]]] = {}
    for (a, b), rate in rates.items():
        if (weight := rate * times[a, b]) > 0:
            near.setdefault(a, []).append((b, weight, marks[a, b]))
            near.setdefault(b, []).append((a, weight, marks[a, b]))

    @cache
    def sums(left: int) -> tuple[float, float]:
        """Return Σ weights, and Σ weight × marks, over the matchings of nodes whose bits are set.

        The first node that has neighbours is single, or paired with each of them.
        """
        if sums.cache_info().currsize == MOST_SUMS:
            raise OverflowError
        for node in range(left.bit_length()):
            pairs = near.get(node, []) if left >> node & 1 else []
            pairs_left = [pair for pair in pairs if left >> pair[0] & 1]
            if len(pairs_left) > 0:
                break
        else:
            return 1.0, 0.0
        rest = left & ~(1 << node)
        total, marked = sums(rest)
        for other, weight, mark in pairs_left:
            without, more = sums(rest & ~(1 << other))
            total += weight * without
            marked += weight * (more + mark * without)
        return total, marked

    everybody = (1 << nodes) - 1
    try:
        total, _ = sums(everybody)
        flows, after = {}, {}
        for edge, rate in rates.items():
            without, marked = sums(everybody & ~(1 << edge[0]) & ~(1 << edge[1]))
            flows[edge] = rate * without / total
            after[edge] = marked / without
    except OverflowError:
        return None
    return LossNetwork(flows, 1 - 1 / total, after)
