"""The law of answers' staleness, or at least its mean, where it is known."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, fsum, log, log1p

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.network import Network
from asyncdp_sim.theory.formulas.exchanges import (
    always_busy,
    always_busy_mean,
    always_busy_mean_of,
    one_at_a_time,
    overlapping,
)
from asyncdp_sim.theory.predict.channels import contention, load_of, theory_of
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import facts_of, law
from asyncdp_sim.theory.prediction import (
    NoFormulaError,
    Prediction,
    Unknown,
    either,
    known,
    no_formula_if,
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
    total, n_owners, job = fsum(facts.rates or ()), facts.n_owners, facts.constant
    if job is None:
        raise NoFormulaError("an exchange does not take one constant time")
    if facts.overlap:
        return StalenessLaw(f"Poisson({total * job:.3g})", lambda n: overlapping(1, total, job, n))
    rate = facts.rate
    if rate is None:
        raise NoFormulaError("owners' rates differ")
    name = f"Binomial({n_owners - 1}, {rate * job / (1 + rate * job):.3g})"
    return StalenessLaw(name, lambda n: _padded(one_at_a_time(n_owners, rate, job), n))


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
        own = _races(facts)
    if own is None:
        raise NoFormulaError("no formula is known for each owner's staleness")
    return tuple(always_busy(share, _until(share)) for share in own)


def _races(facts: Facts) -> tuple[float, ...] | None:
    """Return the chance that a job is the next of all to end; None where owners are ever idle."""
    if not facts.network.clock.saturated:
        return None
    no_formula_if(not facts.exponential(), "owners' times are not exponential")
    return tuple((1 / own) / fsum(1 / time for time in facts.services) for own in facts.services)


def _until(share: float) -> int:
    """Return the staleness beyond which a geometric law has less than 10⁻¹⁵ left."""
    return 0 if share == 1 else ceil(log(1e-15) / log1p(-share))


def staleness(facts: Facts) -> Iterator[Prediction]:
    """Yield the mean staleness of a run, or why its length does not let it be known.

    What is under way when a run ends is never counted, and has seen many updates by then: where m
    jobs are always under way the mean of T updates is about (m−1)(1 − m/T). Exactly so much less
    where each ends next with a probability that no past changes, as exponential jobs do.
    """
    yield _of_a_run(facts, _in_the_long_run(facts))


def holds_from(facts: Facts, found: Prediction) -> int:
    """Return the updates from which on a prediction is within 1 % of a run's mean; 0 if always."""
    fixed = found.value is None or found.value == 0 or found.quantity not in LONG_RUN
    if fixed or (found.quantity == "mean_staleness" and _end_next(facts) is not None):
        return 0
    return settled_from(facts)


@lru_cache(maxsize=1)  # as predictions are kept
def settled_from(facts: Facts) -> int:
    """Return the updates from which on a run's means are within about 1 % of those for ever."""
    between = facts.network.protocol.makes_updates  # of several answers, and all are at rest then
    if between or facts.unknown:
        return CLOSE
    return ceil(CLOSE * (1 + (_in_the_long_run(facts).value or 0.0)))


def _of_a_run(facts: Facts, found: Prediction) -> Prediction:
    """Return the mean of a run from that in the long run; the same where nothing is stale."""
    network = facts.network
    if found.value is None or found.value == 0:
        return found
    own = _end_next(facts)
    if own is not None:
        mean = always_busy_mean_of(own, network.updates)
        return replace(found, value=mean, formula=f"{found.formula}, less by what is under way")
    first = settled_from(facts)
    if network.updates >= first:
        return found
    reason = (
        f"the long-run mean {number(found.value)} is within 1 % of a run's own mean from {first} "
        f"updates on; this run has {network.updates}"
    )
    return replace(found, value=None, reason=reason)


def _end_next(facts: Facts) -> tuple[float, ...] | None:
    """Return the chances that each job of those always under way is the next to end, if known.

    And if the run ends with its last update.
    """
    network = facts.network
    if network.until is not None or network.stops:
        return None
    own = known(lambda: facts.ends_next() or _races(facts))
    if own is None or isinstance(own, Unknown):
        return None
    jobs = 1 + network.protocol.left_open
    return own if len(own) == jobs or not network.protocol.hands_out else (1 / jobs,) * jobs


def _in_the_long_run(facts: Facts) -> Prediction:
    """Return the mean staleness for ever.

    Staleness and jobs in flight just after updates have one sum (ORACLES 18). Owners that push on
    their own are independent of one another: just after an update of owner i, another owner j is
    at work with probability b_j, so that the mean is Σ_i w_i Σ_{j≠i} b_j with w_i the shares of
    the updates. Any law of the jobs will do.
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
            formula = "Poisson(ΛS) given S" if facts.overlap else equal
    return either("mean_staleness", result, f"{SAID}: {formula}")


def _among_others(facts: Facts) -> float:
    """Return the mean where owners do not wait for each other."""
    no_formula_if(_doubt(facts))
    if facts.network.clock.saturated:
        return always_busy_mean(facts.n_owners)
    no_formula_if(facts.not_poisson)
    rates = facts.rates or ()
    loads = [rate * job for rate, job in zip(rates, facts.services, strict=True)]
    if facts.overlap:
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
    if facts.network.protocol.reads_early:
        return f"no formula is known for {facts.network.protocol.kind}"
    return facts.buffered or facts.can_lose_messages or facts.shared or facts.spent()


def _padded(chance: Array, largest: int) -> Array:
    """Return a law's probabilities of 0 … ``largest``."""
    return np.concatenate([chance, np.zeros(max(0, largest + 1 - len(chance)))])[: largest + 1]
