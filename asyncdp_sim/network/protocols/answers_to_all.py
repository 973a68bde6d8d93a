"""Answers to queries that go to all owners, and for which networks their rate is known."""

from collections.abc import Iterator
from math import inf

from asyncdp_sim.network.facts import Facts
from asyncdp_sim.theory.formulas.broadcast import AnswersPerQuery, broadcast
from asyncdp_sim.theory.prediction import Prediction, Unknown, either, none_of

SAID = "owners that listen answer after U[0, W], pure ALOHA, W + airtime ≤ interval"


def answered(facts: Facts, interval: float, window: float | None) -> Iterator[Prediction]:
    """Yield throughput, and collisions and load where owners share a channel."""
    network = facts.network
    if network.channel.contended is None:
        yield Prediction("throughput", None, SAID, "owners share no channel")
        return
    found = _answers(facts, interval, window)
    if isinstance(found, Unknown):
        yield either("throughput", found, SAID)
        if facts.in_turn:
            yield Prediction("collision_rate", 0.0, "an owner has slots of its own")
            yield either("offered_load", found, SAID)
        else:
            yield from none_of(("collision_rate", "offered_load"), found.reason, SAID)
        return
    begun, clean = found.mean_begun, found.mean_clean
    yield Prediction("throughput", clean / interval, SAID)
    yield Prediction("collision_rate", 1 - clean / begun, SAID)
    yield Prediction("offered_load", begun * (network.airtime or 0.0) / interval, SAID)


def _answers(facts: Facts, interval: float, window: float | None) -> AnswersPerQuery | Unknown:
    """Return what a query brings in, or why it is not known."""
    network, airtime = facts.network, facts.network.airtime or 0.0
    channel, online = network.channel, network.availability.online_share(facts.n_owners)
    if facts.can_lose_messages:
        return Unknown(facts.can_lose_messages)
    if not facts.instant:
        return Unknown("queries, computing or answers take time besides the airtime")
    if window is None:
        return Unknown("answers do not wait for a uniform time from 0")
    shared = channel.contended
    plain = shared is channel and shared.sends_at_once and channel.exclusive
    if not plain or channel.retransmissions > 0:
        return Unknown("the channel is not pure ALOHA without capture and retransmission")
    if facts.wires_fail:
        return Unknown("links fail")
    if not network.availability.keeps_poisson or online is None:
        return Unknown(f"availability is {network.availability.kind}")
    if max(online) > min(online):
        return Unknown("owners listen differently often")
    if window + airtime > interval or airtime > window / 2:
        return Unknown("W + airtime > interval, or airtime > W/2")
    found = broadcast(facts.n_owners, online[0], airtime, window)
    begun, clean = found.mean_begun, found.mean_clean
    spent = facts.spent(begun / clean if clean > 0 else inf)
    return Unknown(spent) if spent else found
