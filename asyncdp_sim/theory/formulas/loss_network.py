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
