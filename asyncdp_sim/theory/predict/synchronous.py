"""Rounds, and servers that step together: how often, where a formula says so."""

from collections.abc import Iterator

from typing_extensions import override

from asyncdp_sim.network.latency import STAGES, laws_of
from asyncdp_sim.network.protocols import Rounds, Servers
from asyncdp_sim.theory.formulas.rounds import mean_round
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.prediction import Prediction, Unknown, either

ROUNDS = "synchronous rounds: 1/E max of N response times, H_N/μ where they are exponential"
STEPS = "servers: Δ/(Δ(q + Gc + a + 2s) + Me) for constant times, G gradients a step, M exchanges"


class RoundsFacts(Facts):
    """Rounds, which last as long as their slowest owners."""

    fresh = "a round's answers are all of the newest model"
    protocol: Rounds

    @override
    def predictions(self) -> Iterator[Prediction]:
        yield either("throughput", _round_rate(self, self.protocol.deadline), ROUNDS)
        yield Prediction("mean_staleness", 0.0, self.fresh)

    @override
    def answers(self, updates: float) -> tuple[float, ...]:
        """Return the rate of rounds: where that is known, each has an answer of everybody."""
        return (updates,) * self.n_owners


class ServersFacts(Facts):
    """Steps of several servers."""

    fresh = "a server waits for the answers to its own model"
    protocol: Servers

    @override
    def predictions(self) -> Iterator[Prediction]:
        yield either("throughput", _steps(self, self.protocol), STEPS)
        yield Prediction("mean_staleness", 0.0, self.fresh)


def _round_rate(facts: Facts, deadline: float | None) -> float | Unknown:
    """Return 1/(c + H_N/μ) for response times c + Exp(μ), alike for all owners, or why not."""
    network = facts.network
    if not network.availability.always_online:
        return Unknown(
            f"availability is {network.availability.kind}: the offline delay a round or miss it"
        )
    if deadline is not None and not facts.within(deadline):
        return Unknown("rounds may end at the deadline")
    if network.aggregation is not None and any(facts.services):
        return Unknown("a sum is opened by a trip of its own")
    doubt = facts.can_lose_messages or facts.shared
    if doubt or facts.wires_fail:
        return Unknown(doubt or "links fail")
    least = min(network.answers_allowed)
    if least < network.updates:  # nothing is lost: every round takes one answer of each owner
        return Unknown(f"a budget of {least} answers may be spent before the run ends")
    service = facts.services[0]
    if max(facts.services) - min(facts.services) > 1e-12 * max(facts.services):
        return Unknown("owners are not equally fast")
    if max(facts.services) == 0:
        return Unknown("rounds take no time")
    random = [
        [law for law in own if not law.constant]
        for own in zip(*map(facts.laws, STAGES), strict=True)
    ]
    if facts.n_owners == 1 or all(len(own) == 0 for own in random):
        return 1 / service
    if any(own != random[0] for own in random):
        return Unknown("owners' times have different laws")
    if len(random[0]) > 1 or not random[0][0].memoryless:
        return Unknown("response times are no constant and one exponential time")
    slow: float = random[0][0].mean
    return 1 / (service - slow + mean_round(facts.n_owners, 1 / slow))


def _steps(facts: Facts, protocol: Servers) -> float | Unknown:
    """Return steps per unit of servers that step together, or why they do not.

    A step takes the query q, G gradients of c each (one per server under "basic", else G = 1),
    the answer a and twice a server's own latency s; every Δ of them exchanges e follow: two where
    all servers agree, one where neighbours do.
    """
    own = [[facts.laws(stage)[i] for stage in STAGES] for i in range(facts.n_owners)]
    theirs = laws_of(protocol.latency, protocol.count)
    everything = [*(law for laws in own for law in laws), *theirs, protocol.exchange]
    if not all(law.constant for law in everything):
        return Unknown("times are random: servers and clients wait for the slowest of several")
    gradients = protocol.answers_each
    computing = facts.network.mean_times("compute")
    each = [s + (gradients - 1) * c for s, c in zip(facts.services, computing, strict=True)]
    slow = max(law.mean for law in theirs)
    if max(each) - min(each) > 1e-12 * max(each) or slow > min(law.mean for law in theirs):
        return Unknown("clients or servers are not equally fast")
    turns = protocol.agreements
    if any(len(others) == 0 for near in turns if near is not None for others in near):
        return Unknown("servers without neighbours in some agreement are ahead of the others")
    exchanges = sum(2 if near is None else 1 for near in turns) / len(turns)
    window = protocol.window * (each[0] + 2 * slow) + exchanges * protocol.exchange.mean
    return protocol.window / window if window > 0 else Unknown("steps take no time")
