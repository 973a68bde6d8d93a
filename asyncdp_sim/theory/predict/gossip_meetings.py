"""How often neighbours meet where a node talks to one of them at a time.

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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp, fsum, sqrt

from asyncdp_sim.network.graphs.kinds import Edge
from asyncdp_sim.network.laws import Constant, Exponential, Law, NoTime
from asyncdp_sim.network.protocols import Gossip
from asyncdp_sim.network.topology.failures import LEARNER
from asyncdp_sim.theory.formulas.arguments import nonnegative, positive
from asyncdp_sim.theory.predict.facts import SPREADS, STAGES, Facts
from asyncdp_sim.theory.prediction import Prediction, Unknown, none_of

SAID = "neighbours meet as in a loss network: Poisson edges, any law of the time they take"
MOST_NODES, MOST_SUMS = 100, 10_000
"""Nodes of a graph, and partial sums over its matchings, beyond which none is worked out."""


@dataclass(frozen=True)
class Meetings:
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


def meetings(rates: Mapping[Edge, float], times: Mapping[Edge, float]) -> Meetings | None:
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
    sums = _Sums(weights)
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
    return Meetings(flows, 1 - 1 / total, after / fsum(flows.values()))


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


def met(facts: Facts) -> Iterator[Prediction]:
    """Yield throughput, utilisation and staleness under ``gossip``."""
    found, names = _long_run(facts), ("throughput", "utilisation", "mean_staleness")
    if isinstance(found, Unknown):
        yield from none_of(names, found.reason, SAID)
        return
    for name, value in zip(names, (found.rate, found.busy_fraction, found.others), strict=True):
        yield Prediction(name, value, SAID)


def _long_run(facts: Facts) -> Meetings | Unknown:
    network, n_owners = facts.network, facts.n_owners
    protocol, available = network.protocol, network.availability
    if not isinstance(protocol, Gossip):
        return Unknown(f"protocol {protocol.kind} has no meetings")
    edges = protocol.graph.edges(n_owners)
    online = available.online_share(n_owners)
    ticks = protocol.clock.rates(len(edges))
    if not protocol.clock.memoryless or ticks is None:
        return Unknown(f"clocks are {protocol.clock.kind}, not Poisson")
    if available.kind not in ("always", "bernoulli") or online is None or min(online) == 0:
        return Unknown(
            f"availability is {available.kind}, which is not drawn for each wake-up alone"
        )
    share = (1.0, *online)
    rates, times = {}, {}
    for edge, rate in zip(edges, ticks, strict=True):
        time = _mean_time(facts, edge)
        if isinstance(time, Unknown):
            return time
        rates[edge], times[edge] = rate * share[edge[0]] * share[edge[1]], time
    found = meetings(rates, times)
    if found is None:
        return Unknown("the graph has too many matchings to sum")
    for owner, allowed in enumerate(network.answers_allowed, start=1):
        often = fsum(flow for edge, flow in found.flows.items() if owner in edge) / found.rate
        spent = network.updates * often
        if allowed < min(network.updates, spent + SPREADS * sqrt(spent)):
            return Unknown(f"a budget of {allowed} answers may be spent before the run ends")
    return found


def _mean_time(facts: Facts, edge: Edge) -> float | Unknown:
    """Return the mean time of a meeting, stage by stage the slower node's, or why it is unknown."""
    total = 0.0
    for stage in STAGES:
        means, laws = facts.network.mean_times(stage), facts.laws(stage)
        owners = [number - 1 for number in edge if number != LEARNER]
        if len(owners) == 1:
            total += means[owners[0]]
            continue
        longer = _mean_longer(*((laws[i], means[i] - laws[i].mean) for i in owners))
        if longer is None:
            kinds = " and ".join(sorted({laws[i].kind for i in owners}))
            return Unknown(f"no formula is known for the slower of two {kinds} times")
        total += longer
    return total


def _mean_longer(one: tuple[Law, float], two: tuple[Law, float]) -> float | None:
    """Return E max(X + a, Y + b) of independent exponential or constant X and Y."""
    if isinstance(one[0], NoTime | Constant):
        one, two = two, one
    (x, a), (y, b) = one, two
    if isinstance(x, NoTime | Constant) and isinstance(y, NoTime | Constant):
        return max(x.mean + a, y.mean + b)
    if isinstance(x, Exponential) and isinstance(y, NoTime | Constant):
        least = max(0.0, y.mean + b - a)
        return a + least + x.mean * exp(-least / x.mean)
    if isinstance(x, Exponential) and isinstance(y, Exponential) and a == b:
        return a + x.mean + y.mean - 1 / (1 / x.mean + 1 / y.mean)
    return None
