"""The law of when the next update comes and whose it is, where there is one."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from asyncdp_sim.network import Network
from asyncdp_sim.network.latency import STAGES
from asyncdp_sim.theory.formulas.packet_loss import mean_attempts
from asyncdp_sim.theory.formulas.rounds import mean_until_all
from asyncdp_sim.theory.moments.releases import Releases
from asyncdp_sim.theory.predict.channels import contention, theory_of
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import law
from asyncdp_sim.theory.predict.staleness import never_stale
from asyncdp_sim.theory.prediction import SPREADS, Prediction, Unknown, either

SURE = 1e-9


@dataclass(frozen=True)
class GapLaw:
    """Gaps between updates are independent and exponential.

    Merged Poisson clocks with zero service, thinned where owners are available with a
    probability per tick.

    Attributes
    ----------
    rate : float
        Updates per time unit, Σ λ_i p_i.
    n_gaps : int
        How many first gaps of a replicate may be compared: T, or as many as every replicate
        surely has before ``until``. (Later ones are seen only if short enough.)
    """

    rate: float
    n_gaps: int


@law
def gap_law(facts: Facts) -> GapLaw | Unknown:
    """Return the law of the gaps between updates, or why none is claimed."""
    network = facts.network
    doubt = facts.buffered or facts.not_poisson or facts.can_lose_messages
    doubt = doubt or facts.shared or facts.slow_requests
    if not doubt and not network.protocol.acts_on_ticks:
        doubt = f"protocol {network.protocol.kind} does not update at owners' ticks"
    if not doubt and network.stops:
        doubt = "the run may end at a target"
    if not doubt and not facts.instant:
        doubt = "an exchange takes time"
    doubt = doubt or facts.spent()
    if doubt or facts.rates is None:
        return Unknown(doubt)
    rate = fsum(facts.rates)
    n_gaps = _surely(network, rate)
    return GapLaw(rate, n_gaps) if n_gaps >= 1 else Unknown("too few updates fit before run.until")


@law
def selection(facts: Facts) -> tuple[float, ...] | Unknown:
    """Return P(i_k = i), k = 1, 2, …, where i_k is independent, or why it is not.

    Where an update takes several answers, i_k is the owner of the k-th answer used.

    With Poisson clocks it is λ_i/Σλ for instantaneous service, under a lock that refuses, and
    where every tick starts a job, whatever the law of the service; uniform for equal owners that
    contend for a channel by pure ALOHA or non-persistent CSMA. Under a lock each λ_i counts by
    the share of owner i's exchanges that arrive, where messages are lost each on its own.
    """
    network = facts.network
    if network.protocol.makes_updates:
        return Unknown(facts.buffered)
    if facts.n_owners == 1:
        return (1.0,)
    if network.protocol.one_on_one:
        result = releases(network)
        if isinstance(result, Unknown):
            return result
        spent = _unspent(facts, result)
        return Unknown(spent) if spent else tuple(result.chosen.tolist())
    reason = facts.not_poisson or _dependent(facts)
    if not reason and not facts.shared:
        reason = facts.spent()
    if reason or facts.rates is None:
        return Unknown(reason)
    total = fsum(facts.rates)
    return tuple(rate / total for rate in facts.rates)


@law
def releases(facts: Facts) -> Releases | Unknown:
    """Return how owners release answers while no budget is spent, or why that has no law here.

    Under a lock that refuses, or where exchanges take no time at all, with Poisson clocks, owners
    online with a probability per tick, and messages that are lost each on its own: whenever the
    learner is free, the next request that arrives is owner i's with probability ∝ λ_i, whatever
    has been. (Of a single owner the clock does not matter.)
    """
    network, channel = facts.network, facts.network.channel
    locked = network.protocol.one_on_one
    if not (locked or (channel.contended is None and never_stale(network) and facts.instant)):
        return Unknown(f"protocol {network.protocol.kind} does not lock the learner")
    reason = facts.can_time_out if facts.n_owners == 1 else facts.not_poisson or _dependent(facts)
    if not reason and channel.retransmissions > 0 and facts.loses("_acknowledgement"):
        reason = "answers that arrived are sent again where acknowledgements are lost"
    lost = [channel.packet_loss(message) for message in ("", "_query", "_request")]
    if any(loss.bursty and max(loss.shares(facts.n_owners)) > 0 for loss in lost):
        reason = reason or "messages are lost in bursts"
    if reason:
        return Unknown(reason)
    answer, query, request = (np.array(loss.shares(facts.n_owners)) for loss in lost)
    rates = np.ones(1) if facts.n_owners == 1 else np.array(facts.rates)
    attempts, fresh = 1 + channel.retransmissions, channel.resend == "fresh"
    return Releases(rates * (1 - query) * (1 - request), answer, attempts, fresh)


@law
def mean_gap(facts: Facts) -> float | Unknown:
    """Return the mean time units from one update to the next under a lock, or why it is not known.

    (1 + Σ λ_i h_i S_i)/Σ λ_i q_i, exact for every update while no budget is spent: λ_i h_i requests
    of owner i reach a free learner per time unit, each locks it for S_i in the mean, and λ_i q_i
    end in an update. With query, computing and answer times q, c, a, lost queries l_q, and A_i
    transmissions per answer that is begun, S_i = q + (1 − l_q)(c + A_i a), or with c for each of
    them where they are computed anew. Assumes what :func:`releases` does.
    """
    network, channel = facts.network, facts.network.channel
    result = releases(network)
    if isinstance(result, Unknown):
        return result
    reason = facts.not_poisson or _dependent(facts)
    if not reason and channel.contended is not None and channel.retransmissions > 0:
        reason = "answers may wait before they are sent again"
    if reason:
        return Unknown(reason)
    query, request = (
        np.array(channel.packet_loss(message).shares(facts.n_owners))
        for message in ("_query", "_request")
    )
    asked, compute, answer = (np.array(network.mean_times(stage)) for stage in STAGES)
    sent = np.array([mean_attempts(loss, result.attempts) for loss in result.loss.tolist()])
    work = (sent if result.fresh else 1.0) * compute + sent * (answer + (network.airtime or 0.0))
    reached = np.array(facts.rates) * (1 - request)
    locked = reached * (asked + (1 - query) * work)
    used = reached * (1 - query) * (1 - result.loss**result.attempts)
    return (1 + fsum(locked.tolist())) / fsum(used.tolist())


def surely_until(network: Network, updates: int) -> bool:
    """Return whether a run surely has so many updates before ``until``; False if unknown."""
    result = gap_law(network)
    return not isinstance(result, Unknown) and result.n_gaps >= updates


def _unspent(facts: Facts, found: Releases) -> str:
    """Return why some budget may be spent before the run ends, if it may."""
    if not any(facts.loses(part) for part in ("", "_query", "_request")):
        return facts.spent()
    rates = np.array(facts.rates)
    return facts.spent(float(np.max(found.per_update / rates)) * fsum(rates.tolist()))


@law
def shares(facts: Facts) -> tuple[float, ...] | Unknown:
    """Return each owner's long-run share of the answers used while no budget is spent, or why not.

    Where owners' updates are not independent too: λ_i times the share of ticks that find owner i
    online if service is instantaneous, whatever the clocks and the availability; 1/m_i for owners
    that are always busy, and λ_i/(1+λ_i m_i) for owners that push one job at a time; each times
    the share of owner i's exchanges whose messages all arrive.
    """
    network = facts.network
    if network.protocol.makes_updates:
        return Unknown(facts.buffered)
    if facts.n_owners == 1:
        return (1.0,)
    own = facts.shares()
    if own is not None:
        return own
    reason = facts.can_time_out or facts.shared or facts.slow_requests or _asked_again(facts)
    reason = reason or facts.dependent
    arriving = facts.arriving
    if reason or isinstance(arriving, Unknown):
        return Unknown(reason or str(arriving))
    locked = network.protocol.one_on_one
    if network.clock.saturated:
        flows = [1 / service for service in facts.services]
    elif facts.rates is None or min(facts.rates) <= 0:
        return Unknown("some owner has no long-run rate")
    elif facts.not_poisson and not (facts.instant and _mixing(facts)):
        return Unknown(facts.not_poisson)
    elif locked or facts.overlap:
        flows = list(facts.rates)
    else:
        pairs = zip(facts.rates, facts.services, strict=True)
        flows = [rate / (1 + rate * service) for rate, service in pairs]
    flows = [flow * share for flow, share in zip(flows, arriving, strict=True)]
    total = fsum(flows)
    return tuple(flow / total for flow in flows)


def choice(facts: Facts) -> Iterator[Prediction]:
    """Yield P(i_{k+1} = i_k), and the mean k by which all owners have contributed."""
    result = Unknown(facts.buffered) if facts.buffered else selection(facts.network)
    formula = "i_k independent: Σπ_i², 1/N where uniform"
    again = result if isinstance(result, Unknown) else fsum(share * share for share in result)
    yield either("p_repeat", again, formula)
    until = result if isinstance(result, Unknown) else _until_all(facts, result)
    yield either("updates_until_all", until, "N H_N where i_k is independent and uniform")


def _until_all(facts: Facts, found: tuple[float, ...]) -> float | Unknown:
    """Return N H_N, or why the mean that is measured is not it."""
    n_owners, network = facts.n_owners, facts.network
    if max(found) - min(found) > 1e-12:
        return Unknown("owners are not chosen alike")
    rate = _update_rate(facts)
    if n_owners * (1 - 1 / n_owners) ** _surely(network, rate) > SURE:
        return Unknown("the run is too short for every owner to contribute surely")
    return mean_until_all(n_owners)


def _update_rate(facts: Facts) -> float:
    """Return updates per time unit where ``selection`` is known, or fewer where they are lost."""
    result = contention(facts)
    if not isinstance(result, Unknown):
        return result.success_rate
    pairs = list(zip(facts.rates or (), facts.services, strict=False))
    load = 0.0 if facts.overlap else fsum(rate * service for rate, service in pairs)
    arriving = facts.arriving
    if isinstance(arriving, Unknown):
        return 0.0
    used = fsum(rate * share for (rate, _), share in zip(pairs, arriving, strict=False))
    tries = 1 + facts.network.channel.retransmissions
    return used / (1 + load * tries)


def _surely(network: Network, rate: float) -> int:
    """Return how many updates every replicate surely has, at this rate."""
    if network.stops:
        return 0
    if network.until is None:
        return network.updates
    expected = rate * network.until
    return max(0, min(network.updates, int(expected - SPREADS * sqrt(expected))))


def _dependent(facts: Facts) -> str:
    """Why owners of consecutive updates are not independent with one law, if they are not."""
    network = facts.network
    channel = network.channel
    if facts.dependent:
        return facts.dependent
    if network.protocol.one_on_one:
        return facts.can_time_out or facts.shared or facts.slow_requests or _asked_again(facts)
    if channel.contended is None:
        busy = not facts.overlap and not facts.instant
        return facts.can_lose_messages or ("jobs take time" if busy else "")
    result = contention(facts)
    if isinstance(result, Unknown):
        return result.reason
    return theory_of(channel).dependence(overlap=facts.overlap)


def _asked_again(facts: Facts) -> str:
    """Why a request that is refused or lost does not leave its owner as it was, if it does not."""
    if facts.network.protocol.asks_again and facts.loses("_request"):
        return "requests that are lost are sent again"
    return facts.waits


def _mixing(facts: Facts) -> bool:
    """Return whether ticks cannot keep step with when an owner is online."""
    network = facts.network
    return not facts.wires_fail and (network.availability.keeps_poisson or network.clock.mixing)
