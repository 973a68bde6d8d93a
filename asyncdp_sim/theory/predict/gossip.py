"""Meetings of neighbours per time unit, and for which networks that is known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, prod, sqrt

from typing_extensions import override

from asyncdp_sim.network.graphs import Edge
from asyncdp_sim.network.latency import STAGES
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols import Gossip
from asyncdp_sim.network.topology import LEARNER
from asyncdp_sim.theory.formulas.loss_network import LossNetwork, loss_network
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.prediction import SPREADS, Prediction, Unknown, each_of

SAID = "neighbours meet as in a loss network: Poisson edges, any law of the time they take"


@dataclass(frozen=True)
class LongRun:
    """Meetings in the long run, and what comes of them.

    Losses take no time and change nothing that follows, so that meetings are those of a network
    without them: of each edge, an update is made with chance q_e, and r_e answers are used on
    average.

    Attributes
    ----------
    meetings : LossNetwork
        With r_e for its marks.
    updating, used : mapping
        q_e and r_e.
    """

    meetings: LossNetwork
    updating: Mapping[Edge, float]
    used: Mapping[Edge, float]

    @property
    def rate(self) -> float:
        """Updates per time unit."""
        return self._of(self.updating)

    @property
    def staleness(self) -> float:
        """Updates between read and use of an answer, on average.

        Staleness of the answers used and answers in flight just after updates have one sum
        (ORACLES 18): Σ_e f_e q_e E_e[Σ r of the pairs that talk] / Σ_e f_e r_e.
        """
        flying = {
            edge: chance * self.meetings.after[edge] for edge, chance in self.updating.items()
        }
        return self._of(flying) / self._of(self.used)

    def of(self, owner: int) -> float:
        """Return the meetings of an owner per time unit."""
        return fsum(flow for edge, flow in self.meetings.flows.items() if owner in edge)

    def _of(self, each: Mapping[Edge, float]) -> float:
        return fsum(flow * each[edge] for edge, flow in self.meetings.flows.items())


class GossipFacts(Facts):
    """Meetings of neighbours."""

    dependent = "neighbours answer in pairs"
    lost_alike = True
    protocol: Gossip

    @property
    @override
    def meetings(self) -> tuple[tuple[Edge, ...], float]:
        return self.protocol.graph.edges(self.n_owners), self.protocol.contraction(self.n_owners)

    @override
    def predictions(self) -> Iterator[Prediction]:
        """Yield throughput, utilisation and staleness."""
        found, names = self._long_run(), ("throughput", "utilisation", "mean_staleness")
        if isinstance(found, Unknown):
            return each_of(names, found, SAID)
        return each_of(names, (found.rate, found.meetings.busy_fraction, found.staleness), SAID)

    @override
    def answers(self, updates: float) -> tuple[float, ...] | Unknown:
        """Return each owner's meetings per time unit."""
        found = self._long_run()
        if isinstance(found, Unknown):
            return found
        return tuple(found.of(owner) for owner in range(1, self.n_owners + 1))

    def _long_run(self) -> LongRun | Unknown:
        """Return the long run of neighbours that meet, or why it is not known."""
        network, clock = self.network, self.protocol.clock
        edges = self.protocol.graph.edges(self.n_owners)
        loss = network.channel.packet_loss()
        if self.loses("") and loss.bursty:
            return Unknown("answers are lost in bursts, and meetings where both are make no update")
        available = network.availability
        online = available.online_share(self.n_owners)
        ticks = clock.rates(len(edges))
        if not clock.memoryless or ticks is None:
            return Unknown(f"clocks are {clock.kind}, not Poisson")
        if not available.keeps_poisson or online is None or min(online) == 0:
            return Unknown(
                f"availability is {available.kind}, which is not drawn for each wake-up alone"
            )
        share = (1.0, *online)
        rates, times = {}, {}
        for edge, rate in zip(edges, ticks, strict=True):
            time = _mean_time(self, edge)
            if isinstance(time, Unknown):
                return time
            rates[edge], times[edge] = rate * share[edge[0]] * share[edge[1]], time
        updating, used = _come_through(edges, loss.shares(self.n_owners))
        meetings = loss_network(rates, times, used)
        if meetings is None:
            return Unknown("the graph has too many matchings to sum")
        found = LongRun(meetings, updating, used)
        spent = _spent(self, found)
        return Unknown(spent) if spent else found


def _come_through(
    edges: Sequence[Edge], losses: Sequence[float]
) -> tuple[dict[Edge, float], dict[Edge, float]]:
    """Return for each edge the chance that some answer arrives, and how many do on average."""
    updating, used = {}, {}
    for edge in edges:
        own = [losses[number - 1] for number in edge if number != LEARNER]
        updating[edge] = 1 - prod(own)
        used[edge] = fsum(1 - each for each in own)
    return updating, used


def _spent(facts: Facts, found: LongRun) -> str:
    """Return why an owner may fall silent before the run ends, if it may."""
    updates = facts.network.updates
    most = inf if facts.loses("") else updates
    for owner, allowed in enumerate(facts.network.answers_allowed, start=1):
        spent = updates * found.of(owner) / found.rate
        if allowed < min(most, spent + SPREADS * sqrt(spent)):
            return f"a budget of {allowed} answers may be spent before the run ends"
    return ""


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
    if one[0].constant:
        one, two = two, one
    (x, a), (y, b) = one, two
    if x.constant and y.constant:
        return max(x.mean + a, y.mean + b)
    if x.memoryless and y.constant:
        least = max(0.0, y.mean + b - a)
        return a + least + x.mean * exp(-least / x.mean)
    if x.memoryless and y.memoryless and a == b:
        return a + x.mean + y.mean - 1 / (1 / x.mean + 1 / y.mean)
    return None
