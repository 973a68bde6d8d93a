"""Throughput, collisions and load of a channel that owners share, for the networks that have them.

The formulas are the channel's own; this gathers what they ask of the rest of the network.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import fsum, inf

from asyncdp_sim.network.channels import Aloha, Csma, Parallel, SlottedAloha, Tdma
from asyncdp_sim.network.channels.contended import Contended, Uplink
from asyncdp_sim.network.facts import Facts
from asyncdp_sim.theory.formulas import aloha, csma
from asyncdp_sim.theory.formulas.random_access import RandomAccess
from asyncdp_sim.theory.formulas.tdma import tdma
from asyncdp_sim.theory.prediction import Prediction, Unknown, either

UNKNOWN = Unknown("no formula is known for this variant of the channel")


def access(facts: Facts) -> Iterator[Prediction]:
    """Yield throughput, collisions and load of a channel that owners contend for."""
    found, channel = contention(facts), facts.network.channel
    airtime, who = facts.network.airtime or 0.0, f"{facts.n_owners} owners"
    who = "infinite population" if facts.overlap else who
    said = f"{channel.kind}, {who}, answers of one length, nothing is sent again"
    rate: float | Unknown
    lost: float | Unknown
    load: float | Unknown
    if isinstance(found, Unknown):
        rate = lost = load = found
    else:
        rate, lost = found.success_rate, 1 - found.success_probability
        load = found.attempt_rate * airtime
        if getattr(channel.contended, "collision_detection", False):
            load = Unknown("answers that are broken off are not of one length")
    yield either("throughput", rate, said)
    if in_turn(facts):
        yield Prediction("collision_rate", 0.0, "an owner has slots of its own")
    else:
        yield either("collision_rate", lost, said)
    yield either("offered_load", load, said)


def in_turn(facts: Facts) -> bool:
    """Return whether nothing can collide: slots of one's own, and one message at a time."""
    drops = facts.network.protocol.one_each
    return isinstance(facts.network.channel.contended, Tdma) and drops


def contention(facts: Facts) -> RandomAccess | Unknown:
    """Return what gets through a shared channel under ``push``, or why it is not known."""
    found = unspent(facts)
    if isinstance(found, Unknown):
        return found
    per_answer = 1 / found.success_probability if found.success_probability > 0 else inf
    spent = facts.spent(per_answer)
    return Unknown(spent) if spent else found


def unspent(facts: Facts) -> RandomAccess | Unknown:
    """Return the same for a network whose budgets last for ever."""
    network, channel = facts.network, facts.network.channel.contended
    if channel is None:
        return Unknown("owners share no channel")
    if not network.protocol.always_served:
        return Unknown(f"the formula is for protocol push, not {network.protocol.kind}")
    if network.channel.retransmissions > 0:
        return Unknown("answers are sent again")
    if facts.can_lose_messages:
        return Unknown(facts.can_lose_messages)
    if isinstance(channel, Tdma):
        return _by_turns(facts, channel)
    if facts.not_poisson or facts.rates is None:
        return Unknown(facts.not_poisson)
    airtime = network.airtime or 0.0
    slow = _slow(facts)
    if slow:
        return Unknown(slow)
    return through(network.channel, facts.rates, airtime, overlap=facts.overlap)


def through(
    channel: object, rates: Sequence[float], airtime: float, *, overlap: bool
) -> RandomAccess | Unknown:
    """Return what gets through a shared channel, or several side by side.

    Parameters
    ----------
    channel : Channel
        Not time division.
    rates : sequence of float
        Of the owners' Poisson clocks, > 0; all the same unless jobs overlap.
    airtime : float
        Of every answer, > 0.
    overlap : bool
        Whether every tick starts a job of its own: then attempts are Poisson, as those of an
        infinite population. Otherwise an idle owner's tick starts an answer.
    """
    sensed = channel.contended if isinstance(channel, Uplink) else None
    if isinstance(sensed, Csma) and sensed.propagation_delay >= airtime:
        return Unknown(f"the formula needs a propagation delay below the airtime {airtime:g}")
    alike = max(rates) - min(rates) <= 1e-12 * max(rates)
    if not overlap and not alike:
        return Unknown("owners' rates differ")
    if not isinstance(channel, Parallel):
        return _one(channel, len(rates), fsum(rates), airtime, overlap)
    number = channel.channels
    if channel.choice == "random" and number > 1:
        if not overlap:
            return Unknown(
                "owners choose among channels at random, which is known for overlapping jobs"
            )
        parts = {(len(rates), fsum(rates) / number): number}
    else:
        groups = (rates[first::number] for first in range(min(number, len(rates))))
        parts = Counter((len(group), fsum(group)) for group in groups)
    begun, survived = [], []
    for (n_owners, rate), count in parts.items():
        found = _one(channel.each, n_owners, rate, airtime, overlap)
        if isinstance(found, Unknown):
            return found
        begun.append(count * found.attempt_rate)
        survived.append(count * found.success_rate)
    return RandomAccess.of(fsum(survived) / fsum(begun), fsum(begun))


def gives_up(channel: Contended, airtime: float) -> bool:
    """Return whether who hears another never tries again, and hears collisions without a gap."""
    return (
        isinstance(channel, Csma)
        and channel.persistence == "non-persistent"
        and channel.backoff.kind == "none"
        and channel.propagation_delay < airtime
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


def _one(
    channel: object, n_owners: int, total: float, airtime: float, overlap: bool
) -> RandomAccess | Unknown:
    """Return what gets through one channel for owners with these ticks per unit in all."""
    if overlap:
        return _endless(channel, total, airtime)
    rate = total / n_owners
    if isinstance(channel, Aloha) and channel.capture_ratio is None:
        return aloha.aloha(n_owners, rate, airtime)
    if isinstance(channel, Aloha) and channel.capture_ratio is not None:
        return aloha.aloha_capture(n_owners, rate, airtime, channel.capture_ratio)
    if isinstance(channel, SlottedAloha):
        return aloha.slotted_aloha(n_owners, rate, channel.slot, airtime)
    if isinstance(channel, Csma) and gives_up(channel, airtime):
        formula = csma.csma_detecting if channel.collision_detection else csma.csma
        return formula(n_owners, rate, airtime, channel.propagation_delay)
    return UNKNOWN


def _endless(channel: object, total: float, airtime: float) -> RandomAccess | Unknown:
    """Return what gets through one channel for Poisson attempts at this rate."""
    load = total * airtime
    if isinstance(channel, Aloha):
        survived = aloha.aloha_infinite(load)
        if channel.capture_ratio is not None:
            survived = aloha.aloha_infinite_capture(load, channel.capture_ratio)
        return RandomAccess.of(survived / load, total)
    if isinstance(channel, SlottedAloha):
        slotted = total * channel.slot
        return RandomAccess.of(aloha.slotted_aloha_infinite(slotted) / slotted, total)
    if not isinstance(channel, Csma) or channel.propagation_delay >= airtime:
        return UNKNOWN
    delay = channel.propagation_delay / airtime
    if gives_up(channel, airtime):
        found = csma.csma_giving_up(load, delay, detecting=channel.collision_detection)
        return RandomAccess.of(found.success_probability, found.attempt_rate / airtime)
    if channel.persistence == 1.0 and not channel.collision_detection:
        survived = csma.csma_one_persistent_infinite(load, delay)
        return RandomAccess.of(survived / load, total)
    return UNKNOWN


def _by_turns(facts: Facts, channel: Tdma) -> RandomAccess | Unknown:
    """Return what owners get through in turn; the channels side by side do not matter."""
    airtime, frame = facts.network.airtime or 0.0, channel.frame or facts.n_owners
    if facts.overlap:
        return Unknown("jobs of one owner wait for the same slot, and collide")
    if facts.network.clock.saturated:
        length, job = frame * channel.slot, facts.constant
        if job is None or (job > 0 and job + airtime > length * (1 - 1e-9)):
            return Unknown("jobs do not surely end within a frame")
        return RandomAccess.of(1.0, facts.n_owners / length)
    reason = facts.not_poisson or _slow(facts)
    if reason or facts.rates is None:
        return Unknown(reason)
    each = (tdma(frame, channel.slot, airtime, rate).success_rate for rate in facts.rates)
    return RandomAccess.of(1.0, fsum(each) / frame)
