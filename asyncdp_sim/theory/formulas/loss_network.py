"""Pairs of neighbours that meet, where a node talks to one of them at a time: a loss network.

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

from asyncdp_sim.theory.formulas.arguments import nonnegative, positive

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
    others : float
        Mean number of pairs that talk just after a meeting has ended.
    """

    flows: dict[Edge, float]
    busy_fraction: float
    others: float

    @property
    def rate(self) -> float:
        """Meetings per time unit."""
        return fsum(self.flows.values())


def loss_network(rates: Mapping[Edge, float], times: Mapping[Edge, float]) -> LossNetwork | None:
    """Return the long run, or None where the graph has too many matchings to sum.

    Parameters
    ----------
    rates : mapping
        From an edge (two nodes, numbered from 0) to λ_e > 0, wake-ups per time unit.
    times : mapping
        From an edge to m_e ≥ 0, the mean time of a meeting (time units).

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    weights = {
        edge: positive("rates", rate) * nonnegative("times", times[edge])
        for edge, rate in rates.items()
    }
    nodes = max(max(edge) for edge in rates) + 1
    if nodes > MOST_NODES:
        return None
    sums = _Sums({edge: weight for edge, weight in weights.items() if weight > 0})
    everybody = (1 << nodes) - 1
    try:
        total = fsum(sums.of(everybody))
        flows, after = {}, 0.0
        for edge, rate in rates.items():
            without = sums.of(everybody & ~(1 << edge[0]) & ~(1 << edge[1]))
            flows[edge] = rate * fsum(without) / total
            after += rate * fsum(size * part for size, part in enumerate(without)) / total
    except OverflowError:
        return None
    return LossNetwork(flows, 1 - 1 / total, after / fsum(flows.values()))


class _Sums:
    """Sums over the matchings of parts of a graph, by the number of their edges."""

    def __init__(self, weights: Mapping[Edge, float]) -> None:
        self._near: dict[int, list[tuple[int, float]]] = {}
        for (a, b), weight in weights.items():
            self._near.setdefault(a, []).append((b, weight))
            self._near.setdefault(b, []).append((a, weight))
        self._known: dict[int, list[float]] = {}

    def of(self, nodes: int) -> list[float]:
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

    def _worked_out(self, nodes: int) -> list[float]:
        """Leave the first node that has neighbours single, or pair it with each of them."""
        for node in range(nodes.bit_length()):
            if nodes >> node & 1:
                near = [(b, w) for b, w in self._near.get(node, []) if nodes >> b & 1]
                if len(near) > 0:
                    break
        else:
            return [1.0]
        rest = nodes & ~(1 << node)
        found = list(self.of(rest))
        for other, weight in near:
            for size, part in enumerate(self.of(rest & ~(1 << other)), start=1):
                if size == len(found):
                    found.append(0.0)
                found[size] += weight * part
        return found
