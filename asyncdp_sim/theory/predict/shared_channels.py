"""Throughput, collisions and load of a channel that owners share, for the networks that have them.

The formulas are of the channel; this gathers what they ask of the rest of the network.
"""

from collections.abc import Iterator
from math import inf

from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess
from asyncdp_sim.theory.predict.channels import Load
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.table import theory_of
from asyncdp_sim.theory.prediction import Prediction, Unknown, either

BROKEN_OFF = Unknown("answers that are broken off are not of one length")


def access(facts: Facts) -> Iterator[Prediction]:
    """Yield throughput, collisions and load of a channel that owners contend for."""
    found, channel = contention(facts), facts.network.channel
    shared, airtime = channel.contended, facts.network.airtime
    if shared is None or airtime is None:
        return
    who = "infinite population" if facts.overlap else f"{facts.n_owners} owners"
    said = f"{channel.label}, {who}, answers of one length, {theory_of(channel).assumed}"
    rate: float | Unknown
    lost: float | Unknown
    load: float | Unknown
    if isinstance(found, Unknown):
        rate = lost = load = found
    else:
        rate, load = found.success_rate, found.attempt_rate * airtime
        lost = 0.0 if channel.retransmissions > 0 else 1 - found.success_probability
        if shared.breaks_off:
            load = BROKEN_OFF
    yield either("throughput", rate, said)
    if facts.in_turn:
        yield Prediction("collision_rate", 0.0, "an owner has slots of its own")
    else:
        yield either("collision_rate", lost, said)
    yield either("offered_load", load, said)


def contention(facts: Facts) -> RandomAccess | Unknown:
    """Return what gets through a shared channel under ``push``, or why it is not known."""
    found, channel = unspent(facts), facts.network.channel
    if isinstance(found, Unknown):
        return found
    per_answer = 1.0
    if channel.retransmissions == 0 or channel.resend == "fresh":
        per_answer = 1 / found.success_probability if found.success_probability > 0 else inf
    spent = facts.spent(per_answer)
    return Unknown(spent) if spent else found


def unspent(facts: Facts) -> RandomAccess | Unknown:
    """Return the same for a network whose budgets last for ever."""
    channel, protocol = facts.network.channel, facts.network.protocol
    if channel.contended is not None and not protocol.always_served:
        return Unknown(f"the formula is for protocol push, not {protocol.kind}")
    return theory_of(channel).access(load_of(facts))


def load_of(facts: Facts) -> Load:
    """Return what owners that push ask of the channel."""
    network = facts.network
    saturated = network.clock.saturated
    return Load(
        n_owners=facts.n_owners,
        rates=facts.rates or (),
        airtime=network.airtime or 0.0,
        overlap=facts.overlap,
        attempts=1 + network.channel.retransmissions,
        fresh=network.channel.resend == "fresh",
        saturated=saturated,
        job=facts.constant if saturated else None,
        can_lose_messages=facts.can_lose_messages,
        not_poisson=facts.not_poisson,
        slow=_slow(facts),
    )


def _slow(facts: Facts) -> str:
    """Why answers do not begin at ticks of owners idle until then, where that matters."""
    if facts.overlap:  # a Poisson process displaced by independent times is one
        return ""
    network = facts.network
    if max(*network.mean_times("query"), *network.mean_times("compute")) > 0:
        return "queries or computing take time"
    far = max(network.mean_times("answer")) > 0
    return "answers travel on after their airtime, while their owner stays busy" if far else ""
