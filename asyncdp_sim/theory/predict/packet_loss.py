"""Shares of answers lost, and how often answers are sent; owners online in the long run."""

from collections.abc import Iterator
from math import fsum

from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.table import IN_STEP, LOSSES
from asyncdp_sim.theory.prediction import Prediction, Unknown, each_of


def losses(facts: Facts) -> Iterator[Prediction]:
    """Yield the share of answers lost and the mean number of transmissions, if any can be lost.

    Whatever the clocks and the availability: losses do not look at them.
    """
    if not facts.loses(""):
        return iter(())
    names = ("loss_rate", "transmissions_per_answer")
    said = "each transmission is lost on its own or in bursts: 1 − P(delivered), (1−l^R)/(1−l)"
    reason = _entangled(facts)
    return each_of(names, Unknown(reason) if reason else _lost(facts), said)


def _entangled(facts: Facts) -> str:
    """Why an answer's losses depend on more than its transmissions, if they do."""
    network = facts.network
    again = network.channel.retransmissions > 0
    loss = network.channel.packet_loss()
    shares = loss.shares(facts.n_owners)
    if network.channel.contended is not None:
        return "owners share a channel"
    if network.protocol.newest_only:
        return "answers to older queries are discarded"
    if facts.vanishing:
        return "owners vanish"
    if network.protocol.gives_up_after is not None:
        return "the learner gives up after a timeout"
    if again and facts.loses("_acknowledgement"):
        return "answers that arrived are sent again where acknowledgements are lost"
    if max(shares) > min(shares):
        return "owners' answers are lost differently often"
    if again and loss.bursty and facts.overlap and not facts.instant:
        return "bursts strike several answers of one owner at a time"
    return ""


def _lost(facts: Facts) -> tuple[float, float]:
    """Return the share of answers lost and the mean number of transmissions of one."""
    channel = facts.network.channel
    loss = channel.packet_loss()
    if channel.resend == "fresh":  # every transmission is an answer of its own
        return loss.shares(facts.n_owners)[0], 1.0
    return LOSSES[type(loss)](loss, 1 + channel.retransmissions)


def presence(facts: Facts) -> Iterator[Prediction]:
    """Yield the mean share of the time, or of ticks (queries), that an owner is online."""
    network = facts.network
    available, kind = network.availability, network.availability.kind
    shares = available.online_share(facts.n_owners)
    in_step = IN_STEP.get(type(available))
    reason = "" if in_step is None else in_step(available, network)
    if facts.wires_fail and not available.drawn_per_tick:
        reason = "links fail"
    if shares is None:
        reason = f"availability is {kind}, which has no long run"
    value = None if reason or shares is None else fsum(shares) / facts.n_owners
    yield Prediction("mean_online", value, f"long-run share of availability {kind}", reason)
