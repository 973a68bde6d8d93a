"""The law of when the next update comes and whose it is, and how owners release answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.network import Network
from asyncdp_sim.theory.formulas.channels import delivered, mean_attempts
from asyncdp_sim.theory.formulas.exchanges import mean_until_all
from asyncdp_sim.theory.predict.channels import contention, theory_of
from asyncdp_sim.theory.predict.facts import RESENT, Facts
from asyncdp_sim.theory.predict.protocols import law
from asyncdp_sim.theory.predict.staleness import never_stale
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
    where every tick starts a job, whatever the law of the service; uniform for equal owners that
    contend for a channel by pure ALOHA or non-persistent CSMA. Under a lock each λ_i counts by
    the share of owner i's exchanges that arrive, where messages are lost each on its own.
    """
    _require_answers(facts)
    if facts.n_owners == 1:
        return (1.0,)
    if facts.protocol.one_on_one:
        result = required(releases(facts.network))
        no_formula_if(_unspent(facts, result))
        return tuple(result.chosen.tolist())
    require_independent(facts)
    no_formula_if("" if facts.shared else facts.spent())
    return _parts(facts.rates or ())


def _require_answers(facts: Facts) -> None:
    """Raise unless answers make the updates."""
    no_formula_if(facts.buffered if facts.protocol.makes_updates else "")


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
    no_formula_if(channel.retransmissions > 0 and facts.loses("_acknowledgement"), RESENT)
    lost = [channel.packet_loss(message) for message in ("", "_query", "_request")]
    if any(loss.bursty and max(loss.shares(facts.n_owners)) > 0 for loss in lost):
        raise NoFormulaError("messages are lost in bursts")
    answer, query, request = (np.array(loss.shares(facts.n_owners)) for loss in lost)
    rates = np.ones(1) if facts.n_owners == 1 else np.array(facts.rates)
    attempts, fresh = 1 + channel.retransmissions, channel.resend == "fresh"
    return Releases(rates * (1 - query) * (1 - request), answer, attempts, fresh)


def _unspent(facts: Facts, found: Releases) -> str:
    """Return why some budget may be spent before the run ends, if it may."""
    if not any(facts.loses(part) for part in ("", "_query", "_request")):
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
    _require_answers(facts)
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
        no_formula_if("" if facts.instant and _mixing(facts) else facts.not_poisson)
        flows = list(rates)
        if not (network.protocol.one_on_one or facts.overlap):
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
    return mean_until_all(n_owners)


def _update_rate(facts: Facts) -> float:
    """Return updates per time unit where ``selection`` is known, or fewer where they are lost."""
    result, arriving = known(contention, facts), known(facts.arriving)
    if not isinstance(result, Unknown):
        return result.success_rate
    if isinstance(arriving, Unknown):
        return 0.0
    pairs = list(zip(facts.rates or (), facts.services, strict=False))
    load = 0.0 if facts.overlap else fsum(rate * service for rate, service in pairs)
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
        no_formula_if(not (facts.overlap or facts.instant), "jobs take time")
    else:
        contention(facts)
        no_formula_if(theory_of(channel).dependence(overlap=facts.overlap))


def _require_lock_alone(facts: Facts) -> None:
    """Raise unless a request that is refused or lost leaves its owner as it was."""
    no_formula_if(facts.can_time_out or facts.shared or facts.slow_requests)
    again = facts.protocol.asks_again and facts.loses("_request")
    no_formula_if("requests that are lost are sent again" if again else facts.waits)


def _mixing(facts: Facts) -> bool:
    """Return whether ticks cannot keep step with when an owner is online."""
    network = facts.network
    return not facts.wires_fail and (network.availability.keeps_poisson or network.clock.mixing)
