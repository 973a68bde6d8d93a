"""Exchanges that a locked learner gets through, and for which networks that is known."""

from collections.abc import Iterator
from math import fsum

from asyncdp_sim.network.facts import Facts
from asyncdp_sim.theory.formulas import lock, queueing
from asyncdp_sim.theory.prediction import Prediction, none_of

ENDLESS = "the queue grows without bound"


def exchanges(facts: Facts, *, queues: bool, asks_anew: bool) -> Iterator[Prediction]:
    """Yield throughput, and what becomes of requests, and the load of a channel.

    Parameters
    ----------
    facts : Facts
    queues : bool
        Whether requests that find the learner locked wait for their turn.
    asks_anew : bool
        Whether every tick is a request, whatever its owner waits for.
    """
    found = list(_queue(facts, asks_anew) if queues and not facts.instant else _locked(facts))
    yield from found
    yield from _alone(facts, found[0])


def waiting(facts: Facts, *, queues: bool, asks_anew: bool) -> Iterator[Prediction]:
    """Yield the mean time from a request to its query."""
    if not queues:
        said = "a request that is served is served at once"
        value = None if facts.slow_requests else 0.0
        yield Prediction("mean_waiting", value, said, facts.slow_requests)
        return
    said = "Pollaczek–Khinchine: ΛE[S²]/(2(1−ρ'))"
    reason = facts.slow_requests or facts.disturbed
    if not reason and facts.instant:
        yield Prediction("mean_waiting", 0.0, "service takes no time, so nobody waits")
        return
    reason = reason or _not_open(facts, asks_anew)
    if reason or facts.rates is None:
        yield Prediction("mean_waiting", None, said, reason)
        return
    wait = queueing.fifo_wait(fsum(facts.rates), *facts.moments())
    yield Prediction("mean_waiting", wait.mean, said)


def _locked(facts: Facts) -> Iterator[Prediction]:
    said = "locked learner that refuses, Poisson clocks, any law of the service"
    reason = facts.disturbed or facts.slow_requests or facts.waits
    names = ("throughput", "utilisation", "refusal_rate")
    if reason or facts.rates is None:
        yield from none_of(names, reason, said)
        return
    found = lock.refusing_unequal(facts.rates, facts.services)
    values = (found.update_rate, found.busy_fraction, found.refusal_probability)
    for name, value in zip(names, values, strict=True):
        yield Prediction(name, value, said)


def _queue(facts: Facts, asks_anew: bool) -> Iterator[Prediction]:
    """Yield throughput and utilisation of the open queue.

    Requests may take time: a Poisson process displaced by independent times is one.
    """
    said = "open first-come-first-served queue (M/G/1), every tick a request, Poisson clocks"
    reason = facts.disturbed or _busy_channel(facts) or _not_open(facts, asks_anew)
    if reason or facts.rates is None:
        yield from none_of(("throughput", "utilisation"), reason, said)
        return
    total = fsum(facts.rates)
    yield Prediction("throughput", total, said)
    yield Prediction("utilisation", total * facts.moments()[0], said)


def _busy_channel(facts: Facts) -> str:
    """Why requests meet each other on their way to the learner, if they may."""
    channel = facts.network.channel.contended
    return "" if channel is None or channel.request_airtime is None else "requests take airtime"


def _not_open(facts: Facts, asks_anew: bool) -> str:
    """Why the queue is no open M/G/1, if it is not."""
    if not asks_anew:
        return "waiting owners do not ask again (own_tick)"
    load = fsum(facts.rates or ()) * facts.moments()[0]
    return f"{ENDLESS} (ρ' = {load:.3g} ≥ 1)" if load >= 1 else ""


def _alone(facts: Facts, throughput: Prediction) -> Iterator[Prediction]:
    """Yield the load of a channel that the lock keeps to one answer at a time."""
    airtime, said = facts.network.airtime, "the lock leaves the channel to one answer at a time"
    if airtime is None:
        return
    names = ("collision_rate", "offered_load")
    if throughput.value is None:
        yield from none_of(names, throughput.reason, said)
        return
    for name, value in zip(names, (0.0, throughput.value * airtime), strict=True):
        yield Prediction(name, value, said)
