"""How often synchronous learning updates: once for each round, which the slowest owner ends."""

from collections.abc import Iterator

from asyncdp_sim.network.laws import Constant, Exponential, NoTime
from asyncdp_sim.network.protocols import Gossip, Rounds
from asyncdp_sim.theory.facts import STAGES, Facts
from asyncdp_sim.theory.meetings import met
from asyncdp_sim.theory.prediction import Prediction, either
from asyncdp_sim.theory.rounds import mean_round

SAID = "synchronous rounds: 1/E max of N response times, H_N/μ where they are exponential"


def rounds(facts: Facts) -> Iterator[Prediction]:
    """Yield updates per unit, and their staleness, where the protocol makes the updates."""
    if isinstance(facts.network.protocol, Gossip):
        yield from met(facts)
        return
    yield either("throughput", _throughput(facts), SAID)
    yield Prediction("mean_staleness", 0.0, "a round's answers are all of the newest model")


def _throughput(facts: Facts) -> float | str:
    """Return 1/(c + H_N/μ) for response times c + Exp(μ), alike for all owners, or why not."""
    network = facts.network
    if not isinstance(network.protocol, Rounds):
        return f"no formula is known for protocol {network.protocol.kind}"
    if network.availability.kind != "always":
        return f"availability is {network.availability.kind}: the offline delay a round or miss it"
    if network.protocol.deadline is not None:
        return "rounds may end at the deadline"
    doubt = facts.fragile or facts.shared
    if doubt or facts.wires_fail:
        return doubt or "links fail"
    least = min(network.answers_allowed)
    if least < network.updates:  # nothing is lost: every round takes one answer of each owner
        return f"a budget of {least} answers may be spent before the run ends"
    service = facts.services[0]
    if max(facts.services) - min(facts.services) > 1e-12 * max(facts.services):
        return "owners are not equally fast"
    if max(facts.services) == 0:
        return "rounds take no time"
    random = [
        [law for law in own if not isinstance(law, NoTime | Constant)]
        for own in zip(*map(facts.laws, STAGES), strict=True)
    ]
    if facts.n_owners == 1 or all(len(own) == 0 for own in random):
        return 1 / service
    if any(own != random[0] for own in random):
        return "owners' times have different laws"
    if len(random[0]) > 1 or not isinstance(random[0][0], Exponential):
        return "response times are no constant and one exponential time"
    slow = random[0][0].mean
    return 1 / (service - slow + mean_round(facts.n_owners, 1 / slow))
