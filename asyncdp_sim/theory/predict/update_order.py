"""The law of when the next update comes, whose it is, and how stale its answer is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import ceil, fsum, log, log1p, sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.network import Network
from asyncdp_sim.network.spec import STAGES
from asyncdp_sim.theory.formulas import exchanges
from asyncdp_sim.theory.formulas.channels import delivered, mean_attempts
from asyncdp_sim.theory.predict.channels import contention, load_of, theory_of
from asyncdp_sim.theory.predict.facts import RESENT, Facts, alike
from asyncdp_sim.theory.predict.protocols import facts_of, law
from asyncdp_sim.theory.prediction import (
    SPREADS,
    NoFormulaError,
    Prediction,
    Unknown,
    either,
    known,
    no_formula_if,
    required,
)

SAID = "other updates between read and apply"
LONG_RUN = ("throughput", "utilisation", "offered_load", "mean_waiting", "mean_staleness")
"""Figures that a run has not at its start, or at its end, as it has them in between."""
CLOSE = 100
"""Updates for each job under way that bring the mean of a run to 1 % of that for ever."""


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


@law
def staleness_law(facts: Facts) -> StalenessLaw:
    """Return the law of the staleness.

    0 where exchanges lock the learner or jobs take no time. Where owners push, with Poisson
    clocks and jobs of one constant length S: Poisson(ΛS) if every tick starts a job, Λ = Σλ_i,
    and Binomial(N−1, ρ/(1+ρ)), ρ = λS, if an owner has one job at a time.
    """
    never = _fresh(facts)
    if never:
        return StalenessLaw(f"0, {never}", lambda largest: _padded(np.ones(1), largest))
    no_formula_if(_doubt(facts) or facts.not_poisson)
    rates, n_owners, job = facts.rates or (), facts.n_owners, facts.constant
    if job is None:
        raise NoFormulaError("an exchange does not take one constant time")
    if facts.protocol.overlap:
        mean = fsum(rates) * job
        return StalenessLaw(f"Poisson({mean:.3g})", partial(exchanges.overlapping, mean))
    no_formula_if(not alike(rates), "owners' rates differ")
    rate = rates[0]
    name = f"Binomial({n_owners - 1}, {rate * job / (1 + rate * job):.3g})"
    return StalenessLaw(name, lambda n: _padded(exchanges.one_at_a_time(n_owners, rate, job), n))


@law
def lateness(facts: Facts) -> tuple[Array, ...]:
    """Return P(staleness = s), s = 0, 1 …, of each owner's updates.

    0 where no update comes between; geometric where owners are never idle and take exponential
    times. Tails below 10⁻¹⁵ are left out.
    """
    if _fresh(facts):
        return tuple(np.ones(1) for _ in range(facts.n_owners))
    own = facts.ends_next()
    if own is None:
        no_formula_if(_doubt(facts))
        endless = facts.network.clock.saturated
        no_formula_if(not endless, "no formula is known for each owner's staleness")
        no_formula_if(not facts.exponential(), "owners' times are not exponential")
        rate = fsum(1 / time for time in facts.services)
        own = tuple((1 / time) / rate for time in facts.services)
    return tuple(exchanges.always_busy(share, _until(share)) for share in own)


def _until(share: float) -> int:
    """Return the staleness beyond which a geometric law has less than 10⁻¹⁵ left."""
    return 0 if share == 1 else ceil(log(1e-15) / log1p(-share))


def staleness(facts: Facts) -> Iterator[Prediction]:
    """Yield the mean staleness for ever, or from which length on it is that of a run.

    What is under way when a run ends is never counted, and has seen many updates by then: where m
    jobs are always under way the mean of T updates is about (m−1)(1 − m/T).
    """
    found, first, made = _in_the_long_run(facts), settled_from(facts), facts.updates
    if found.value is None or found.value == 0 or made >= first:
        yield found
        return
    reason = (
        f"the long-run mean {number(found.value)} is within 1 % of a run's own mean from {first} "
        f"updates on; this run has {'at most ' * (made < facts.network.updates)}{made}"
    )
    yield replace(found, value=None, reason=reason)


def holds_from(facts: Facts, found: Prediction) -> int:
    """Return the updates from which on a prediction is within 1 % of a run's mean; 0 if always."""
    fixed = found.value is None or found.value == 0 or found.quantity not in LONG_RUN
    return 0 if fixed else settled_from(facts)


@lru_cache(maxsize=1)  # as predictions are kept
def settled_from(facts: Facts) -> int:
    """Return the updates from which on a run's means are within about 1 % of those for ever."""
    between = facts.protocol.makes_updates  # of several answers, and all are at rest then
    if between or facts.unknown:
        return CLOSE
    return ceil(CLOSE * (1 + (_in_the_long_run(facts).value or 0.0)))


def _in_the_long_run(facts: Facts) -> Prediction:
    """Return the mean staleness for ever.

    Staleness and jobs in flight just after updates have one sum (ORACLES 18). Owners that push on
    their own are independent of one another: just after an update of owner i, another owner j is
    at work with probability b_j, so that the mean is Σ_i w_i Σ_{j≠i} b_j with w_i the shares of
    the updates. Any law of the jobs will do; if all are always busy, it is N − 1.
    """
    never = _fresh(facts)
    if never:
        return Prediction("mean_staleness", 0.0, f"{SAID}: none, {never}")
    formula, result = "m−1 of m tasks, any law", known(facts.staleness)
    if result is None:
        formula, result = "those under way just after an update", known(_on_a_channel, facts)
        if facts.network.clock.saturated:
            formula = "N−1 where owners are always busy"
    if result is None:
        result = known(_among_others, facts)
        if not facts.network.clock.saturated:
            equal = "(N−1)ρ/(1+ρ) for equal owners, any law"
            formula = "Poisson(ΛS) given S" if facts.protocol.overlap else equal
    return either("mean_staleness", result, f"{SAID}: {formula}")


def _among_others(facts: Facts) -> float:
    """Return the mean where owners do not wait for each other."""
    no_formula_if(_doubt(facts))
    if facts.network.clock.saturated:
        return facts.n_owners - 1.0
    no_formula_if(facts.not_poisson)
    rates = facts.rates or ()
    loads = [rate * job for rate, job in zip(rates, facts.services, strict=True)]
    if facts.protocol.overlap:
        return fsum(loads)
    flows = [rate / (1 + load) for rate, load in zip(rates, loads, strict=True)]
    busy = [load / (1 + load) for load in loads]
    all_busy = fsum(busy)
    mean = fsum(flow * (all_busy - own) for flow, own in zip(flows, busy, strict=True))
    return mean / fsum(flows)


def never_stale(network: Network) -> str:
    """Return why no update can come between a read and its use; empty where one may."""
    facts = facts_of(network)
    return "" if facts.unknown else _fresh(facts)


def _fresh(facts: Facts) -> str:
    network = facts.network
    if facts.fresh:
        return facts.fresh
    at_once = facts.eventless or (not facts.not_poisson and facts.instant)
    if network.protocol.reads_early or not at_once:
        return ""
    if network.channel.contended is None:
        return "as jobs take no time"
    alone = network.channel.exclusive and network.channel.retransmissions == 0
    return "as whatever overlaps an answer destroys it" if alone else ""


def _on_a_channel(facts: Facts) -> float | None:
    """Return the mean by the formula of a shared channel; None if it has none."""
    mean = theory_of(facts.network.channel).mean_staleness(load_of(facts))
    if mean is not None:
        no_formula_if(facts.buffered)
        contention(facts)
    return mean


def _doubt(facts: Facts) -> str:
    """Why owners' jobs are not on their own and each an update, if they are not."""
    if facts.protocol.reads_early:
        return f"no formula is known for {facts.protocol.kind}"
    return facts.buffered or facts.can_lose_messages or facts.shared or facts.spent()


def _padded(chance: Array, largest: int) -> Array:
    """Return a law's probabilities of 0 … ``largest``."""
    return np.concatenate([chance, np.zeros(max(0, largest + 1 - len(chance)))])[: largest + 1]


@dataclass(frozen=True, eq=False)
class Releases:
    """Answers that owners release to a learner that serves them one by one, until a budget ends.

    Exchanges have independent owners, i with probability rate_i/Σ rate. Every transmission of
    owner i is lost with probability l_i on its own; an exchange ends with the first that arrives,
    which is an update, or after R of them. They are one answer sent again, or an answer each
    ("fresh"). Exchanges in which no answer is released may come between; they do not matter.

    Attributes
    ----------
    rate : array (N,)
        > 0, in proportion to how often an answer of owner i is ready to be sent.
    loss : array (N,)
        l_i in [0, 1), one of them < 1.
    attempts : int
        R ≥ 1.
    fresh : bool
        Whether every transmission is an answer of its own.
    """

    rate: Array
    loss: Array
    attempts: int = 1
    fresh: bool = False

    @property
    def chosen(self) -> Array:
        """π_i, in proportion to rate_i (1 − l_i^R), shape (N,)."""
        return self.used / fsum(self.used.tolist())

    @property
    def per_update(self) -> Array:
        """Mean answers that each owner releases per update of the learner, shape (N,)."""
        losses = self.loss.tolist()
        answers = [mean_attempts(loss, self.attempts) if self.fresh else 1.0 for loss in losses]
        return np.asarray(self.rate * answers / fsum(self.used.tolist()))

    @property
    def used(self) -> Array:
        """rate_i (1 − l_i^R), in proportion to how often an answer of owner i is used, (N,)."""
        return self.rate * [delivered(loss, self.attempts) for loss in self.loss.tolist()]


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
def gap_law(facts: Facts) -> GapLaw:
    """Return the law of the gaps between updates."""
    network = facts.network
    no_formula_if(facts.buffered or facts.not_poisson or facts.can_lose_messages)
    no_formula_if(facts.shared or facts.slow_requests)
    if not network.protocol.acts_on_ticks:
        raise NoFormulaError(f"protocol {network.protocol.kind} does not update at owners' ticks")
    no_formula_if(network.stops, "the run may end at a target")
    no_formula_if(facts.spent() if facts.instant else "an exchange takes time")
    rate = fsum(facts.rates or ())
    n_gaps = _surely(network, rate)
    no_formula_if(n_gaps < 1, "too few updates fit before run.until")
    return GapLaw(rate, n_gaps)


@law
def selection(facts: Facts) -> tuple[float, ...]:
    """Return P(i_k = i), k = 1, 2, …, where i_k is independent.

    Where an update takes several answers, i_k is the owner of the k-th answer used.

    With Poisson clocks it is λ_i/Σλ for instantaneous service, under a lock that refuses, and
    where every tick starts a job, of a law that is the same for all; uniform for equal owners that
    contend for a channel by pure ALOHA or non-persistent CSMA. Under a lock each λ_i counts by
    the share of owner i's exchanges that arrive, where messages are lost each on its own.
    """
    no_formula_if(facts.buffered if facts.protocol.makes_updates else "")
    if facts.n_owners == 1:
        return (1.0,)
    if facts.protocol.one_on_one:
        result = required(releases(facts.network))
        no_formula_if(_unspent(facts, result))
        return tuple(result.chosen.tolist())
    require_independent(facts)
    no_formula_if("" if facts.shared else facts.spent())
    return _parts(facts.rates or ())


def _parts(flows: Sequence[float]) -> tuple[float, ...]:
    """Return the part that each flow is of them all."""
    total = fsum(flows)
    return tuple(flow / total for flow in flows)


@law
def releases(facts: Facts) -> Releases:
    """Return how owners release answers while no budget is spent.

    Under a lock that refuses, or where exchanges take no time at all, with Poisson clocks, owners
    online with a probability per tick, and messages that are lost each on its own: whenever the
    learner is free, the next request that arrives is owner i's with probability ∝ λ_i, whatever
    has been. (Of a single owner the clock does not matter.)
    """
    network, channel = facts.network, facts.network.channel
    locked = network.protocol.one_on_one
    if not (locked or (channel.contended is None and never_stale(network) and facts.instant)):
        raise NoFormulaError(f"protocol {network.protocol.kind} does not lock the learner")
    if facts.n_owners == 1:
        no_formula_if(facts.can_time_out)
    else:
        require_independent(facts)
    no_formula_if(channel.retransmissions > 0 and facts.loses("acknowledgement"), RESENT)
    lost = [channel.packet_loss(message) for message in ("answer", "query", "request")]
    if any(loss.bursty and max(loss.shares(facts.n_owners)) > 0 for loss in lost):
        raise NoFormulaError("messages are lost in bursts")
    answer, query, request = (np.array(loss.shares(facts.n_owners)) for loss in lost)
    rates = np.ones(1) if facts.n_owners == 1 else np.array(facts.rates)
    attempts, fresh = 1 + channel.retransmissions, channel.resend == "fresh"
    return Releases(rates * (1 - query) * (1 - request), answer, attempts, fresh)


def _unspent(facts: Facts, found: Releases) -> str:
    """Return why some budget may be spent before the run ends, if it may."""
    if not any(facts.loses(part) for part in ("answer", "query", "request")):
        return facts.spent()
    rates = np.array(facts.rates)
    return facts.spent(float(np.max(found.per_update / rates)) * fsum(rates.tolist()))


@law
def shares(facts: Facts) -> tuple[float, ...]:
    """Return each owner's long-run share of the answers used while no budget is spent.

    Where owners' updates are not independent too: λ_i times the share of ticks that find owner i
    online if service is instantaneous, whatever the clocks and the availability; 1/m_i for owners
    that are always busy, and λ_i/(1+λ_i m_i) for owners that push one job at a time; each times
    the share of owner i's exchanges whose messages all arrive.
    """
    no_formula_if(facts.buffered if facts.protocol.makes_updates else "")
    if facts.n_owners == 1:
        return (1.0,)
    own = facts.shares()
    if own is not None:
        return own
    network, rates = facts.network, facts.rates
    _require_lock_alone(facts)
    no_formula_if(facts.dependent)
    arriving = facts.arriving()
    if network.clock.saturated:
        flows = [1 / service for service in facts.services]
    elif rates is None or min(rates) <= 0:
        raise NoFormulaError("some owner has no long-run rate")
    else:
        in_step = not (network.availability.keeps_poisson or network.clock.mixing)
        mixed = facts.instant and not in_step and not facts.wires_fail
        no_formula_if("" if mixed else facts.not_poisson)
        flows = list(rates)
        if not (network.protocol.one_on_one or facts.protocol.overlap):
            pairs = zip(rates, facts.services, strict=True)
            flows = [rate / (1 + rate * service) for rate, service in pairs]
    return _parts([flow * share for flow, share in zip(flows, arriving, strict=True)])


def choice(facts: Facts) -> Iterator[Prediction]:
    """Yield P(i_{k+1} = i_k), and the mean k by which all owners have contributed."""
    result = Unknown(facts.buffered) if facts.buffered else selection(facts.network)
    formula = "i_k independent: Σπ_i², 1/N where uniform"
    again = result if isinstance(result, Unknown) else fsum(share * share for share in result)
    yield either("p_repeat", again, formula)
    until = result if isinstance(result, Unknown) else known(_until_all, facts, result)
    yield either("updates_until_all", until, "N H_N where i_k is independent and uniform")


def _until_all(facts: Facts, found: tuple[float, ...]) -> float:
    """Return N H_N, where the mean that is measured is it."""
    n_owners = facts.n_owners
    no_formula_if(max(found) - min(found) > 1e-12, "owners are not chosen alike")
    rate = _update_rate(facts)
    if n_owners * (1 - 1 / n_owners) ** _surely(facts.network, rate) > SURE:
        raise NoFormulaError("the run is too short for every owner to contribute surely")
    return exchanges.mean_until_all(n_owners)


def _update_rate(facts: Facts) -> float:
    """Return updates per time unit where ``selection`` is known, or fewer where they are lost."""
    result, arriving = known(contention, facts), known(facts.arriving)
    if not isinstance(result, Unknown):
        return result.success_rate
    if isinstance(arriving, Unknown):
        return 0.0
    pairs = list(zip(facts.rates or (), facts.services, strict=False))
    load = 0.0 if facts.protocol.overlap else fsum(rate * service for rate, service in pairs)
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


def require_independent(facts: Facts) -> None:
    """Raise unless owners of consecutive updates are independent with one law."""
    no_formula_if(facts.not_poisson or facts.dependent)
    channel = facts.network.channel
    if facts.protocol.one_on_one:
        _require_lock_alone(facts)
    elif channel.contended is None:
        no_formula_if(facts.can_lose_messages)
        no_formula_if(not (facts.protocol.overlap or facts.instant), "jobs take time")
    else:
        contention(facts)
        no_formula_if(theory_of(channel).dependence(overlap=facts.protocol.overlap))
    # Slower owners' answers come later at the start of a run, and go into gaps that a channel left.
    laws = list(zip(*map(facts.laws, STAGES), strict=True))
    one_law = alike(facts.services) and all(own == laws[0] for own in laws)
    no_formula_if(facts.protocol.overlap and not one_law, "owners' times differ")


def _require_lock_alone(facts: Facts) -> None:
    """Raise unless a request that is refused or lost leaves its owner as it was."""
    no_formula_if(facts.can_time_out or facts.shared or facts.slow_requests)
    again = facts.protocol.asks_again and facts.loses("request")
    no_formula_if("requests that are lost are sent again" if again else facts.waits)
