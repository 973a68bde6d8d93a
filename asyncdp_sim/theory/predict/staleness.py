"""The law of answers' staleness, or at least its mean, where it is known."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, fsum, log, log1p

import numpy as np

from asyncdp_sim.network import Network
from asyncdp_sim.network.facts import Facts
from asyncdp_sim.theory.formulas.arguments import Array
from asyncdp_sim.theory.formulas.staleness import (
    always_busy,
    always_busy_mean,
    one_at_a_time,
    overlapping,
)
from asyncdp_sim.theory.predict.shared_channels import contention, load_of
from asyncdp_sim.theory.prediction import Prediction, Unknown, either

SAID = "other updates between read and apply"


@dataclass(frozen=True)
class StalenessLaw:
    """The long-run law of an update's staleness.

    Attributes
    ----------
    name : str
        With its parameters.
    chance : callable
        From the largest value n to P(staleness = s), s = 0 … n.
    """

    name: str
    chance: Callable[[int], Array]


def staleness_law(network: Network) -> StalenessLaw | Unknown:
    """Return the law of the staleness, or why none is known.

    0 where exchanges lock the learner or jobs take no time. Where owners push, with Poisson
    clocks and jobs of one constant length S: Poisson(ΛS) if every tick starts a job, Λ = Σλ_i,
    and Binomial(N−1, ρ/(1+ρ)), ρ = λS, if an owner has one job at a time.
    """
    facts = network.facts
    never = never_stale(facts)
    if never:
        return StalenessLaw(f"0, {never}", lambda largest: _padded(np.ones(1), largest))
    doubt, job = _doubt(facts) or facts.not_poisson, facts.constant
    if doubt or facts.rates is None:
        return Unknown(doubt)
    if job is None:
        return Unknown("an exchange does not take one constant time")
    total, n_owners = fsum(facts.rates), facts.n_owners
    if facts.overlap:
        return StalenessLaw(f"Poisson({total * job:.3g})", lambda n: overlapping(1, total, job, n))
    rate = facts.rate
    if rate is None:
        return Unknown("owners' rates differ")
    name = f"Binomial({n_owners - 1}, {rate * job / (1 + rate * job):.3g})"
    return StalenessLaw(name, lambda n: _padded(one_at_a_time(n_owners, rate, job), n))


def lateness(network: Network) -> tuple[Array, ...] | Unknown:
    """Return P(staleness = s), s = 0, 1 …, of each owner's updates, or why it is not known.

    0 where no update comes between; geometric where owners are never idle and take exponential
    times. Tails below 10⁻¹⁵ are left out.
    """
    facts: Facts = network.facts
    if never_stale(facts):
        return tuple(np.ones(1) for _ in range(facts.n_owners))
    own: tuple[float, ...] | Unknown | None
    own = None if facts.from_outside else network.protocol.ends_next(facts)
    if own is None and network.clock.saturated and not _doubt(facts):
        own = _races(facts)
    if own is None:
        own = Unknown(_doubt(facts) or "no formula is known for each owner's staleness")
    if isinstance(own, Unknown):
        return Unknown(own.reason)
    return tuple(always_busy(share, _until(share)) for share in own)


def _races(facts: Facts) -> tuple[float, ...] | Unknown:
    """Return the chance that an owner's job is the next of all to end, where that is known."""
    if not facts.exponential():
        return Unknown("owners' times are not exponential")
    return tuple((1 / each) / fsum(1 / one for one in facts.services) for each in facts.services)


def _until(share: float) -> int:
    """Return the staleness beyond which a geometric law has less than 10⁻¹⁵ left."""
    return 0 if share == 1 else ceil(log(1e-15) / log1p(-share))


def staleness(facts: Facts) -> Iterator[Prediction]:
    """Yield the mean staleness.

    Staleness and jobs in flight just after updates have one sum (ORACLES 18). Owners that push on
    their own are independent of one another: just after an update of owner i, another owner j is
    at work with probability b_j, so that the mean is Σ_i w_i Σ_{j≠i} b_j with w_i the shares of
    the updates. Any law of the jobs will do.
    """
    never = never_stale(facts)
    if never:
        yield Prediction("mean_staleness", 0.0, f"{SAID}: none, {never}")
        return
    circulating: float | Unknown | None = facts.network.protocol.staleness(facts)
    if circulating is not None:
        yield either("mean_staleness", circulating, f"{SAID}: m−1 of m tasks, any law")
        return
    own = _on_a_channel(facts)
    if facts.network.clock.saturated:
        said, doubt = f"{SAID}: N−1 where owners are always busy", _doubt(facts)
        found = Unknown(doubt) if doubt else always_busy_mean(facts.n_owners)
        yield either("mean_staleness", found if own is None else own, said)
        return
    if own is not None:
        yield either("mean_staleness", own, f"{SAID}: those under way just after an update")
        return
    said = f"{SAID}: (N−1)ρ/(1+ρ) for equal owners, any law"
    if facts.overlap:
        said = f"{SAID}: Poisson(ΛS) given S"
    reason = _doubt(facts) or facts.not_poisson
    if reason or facts.rates is None:
        yield Prediction("mean_staleness", None, said, reason)
        return
    loads = [rate * job for rate, job in zip(facts.rates, facts.services, strict=True)]
    if facts.overlap:
        yield Prediction("mean_staleness", fsum(loads), said)
        return
    flows = [rate / (1 + load) for rate, load in zip(facts.rates, loads, strict=True)]
    busy = [load / (1 + load) for load in loads]
    all_busy = fsum(busy)
    value = fsum(flow * (all_busy - own) for flow, own in zip(flows, busy, strict=True))
    yield Prediction("mean_staleness", value / fsum(flows), said)


def never_stale(facts: Facts) -> str:
    """Return why no update can come between a read and its use; empty where one may."""
    network: Network = facts.network
    if facts.from_outside:
        return ""
    if network.protocol.fresh:
        return network.protocol.fresh
    at_once = facts.eventless or (not facts.not_poisson and facts.instant)
    if network.protocol.reads_early or not at_once:
        return ""
    if network.channel.contended is None:
        return "as jobs take no time"
    alone = network.channel.exclusive and network.channel.retransmissions == 0
    return "as whatever overlaps an answer destroys it" if alone else ""


def _on_a_channel(facts: Facts) -> float | Unknown | None:
    """Return the mean by the formula of a shared channel, or why not; None if it has none."""
    channel = facts.network.channel
    mean: float | Unknown | None = channel.mean_staleness(load_of(facts))
    if mean is None:
        return None
    if facts.buffered:
        return Unknown(facts.buffered)
    found = contention(facts)
    return found if isinstance(found, Unknown) else mean


def _doubt(facts: Facts) -> str:
    """Why owners' jobs are not on their own and each an update, if they are not."""
    if facts.from_outside:
        return facts.from_outside
    if facts.network.protocol.reads_early:
        return f"no formula is known for {facts.network.protocol.kind}"
    return facts.buffered or facts.can_lose_messages or facts.shared or facts.spent()


def _padded(chance: Array, largest: int) -> Array:
    """Return a law's probabilities of 0 … ``largest``."""
    return np.concatenate([chance, np.zeros(max(0, largest + 1 - len(chance)))])[: largest + 1]
