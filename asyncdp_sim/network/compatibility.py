"""Faults of parts of a network that do not fit together, or that lead nowhere."""

from collections.abc import Iterator
from typing import Any

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network.latency import MESSAGES, answer_airtime, mean_times
from asyncdp_sim.spec.base import LONGEST, wrong_length


def conflicts(n_owners: int, parts: Any) -> list[Fault]:
    """Return what does not fit together among the network's parts.

    Parameters
    ----------
    n_owners : int
        N.
    parts : Network or Scenario
        Has ``clock``, ``availability``, ``channel``, ``latency``, ``payload``, ``numbers``,
        ``topology``, ``compute``, ``protocol`` and ``apart``.
    """
    faults: list[Fault] = parts.clock.faults(n_owners) + parts.availability.faults(n_owners)
    faults += parts.channel.faults(n_owners)
    if parts.topology is not None:
        faults += parts.topology.faults(n_owners)
    laws = {f"latency.{name}": getattr(parts.latency, name) for name in MESSAGES}
    for key, value in {**laws, "latency.rate_bytes": parts.latency.rate_bytes}.items():
        faults += wrong_length(key, value, n_owners, "number" if "bytes" in key else "law")
    faults += wrong_length("compute", parts.compute, n_owners, "law")
    if len(faults) > 0:
        return faults
    own: list[Fault] = [*parts.protocol.faults_of_network(n_owners, parts)]
    if parts.protocol.own_network and len(own) > 0:
        return own
    faults = [*_saturated(parts), *_without_pause(n_owners, parts)]
    faults += [*_airtime(n_owners, parts), *_offline(n_owners, parts)]
    faults += [*_unresolved(n_owners, parts), *own, *_resting(parts)]
    return [*faults, *(_not_superposable(parts) if parts.clock.superposed else ())]


def superposable(parts: Any) -> bool:
    """Return whether one clock could tick for all owners of these parts."""
    return parts.clock.memoryless and next(_not_superposable(parts), None) is None


def _not_superposable(parts: Any) -> Iterator[Fault]:
    """Yield what keeps one clock from ticking for all owners."""
    if not parts.availability.superposable:
        rule = (
            "superposed clocks need availability always, bernoulli, diurnal without random phases, "
            "or on-off with exponential laws"
        )
        yield Fault("availability.kind", repr(parts.availability.kind), rule)
    yield from parts.protocol.not_superposable()
    if parts.topology is not None:
        rule = "superposed clocks need owners that are equally far: no topology"
        yield Fault("topology.kind", repr(parts.topology.kind), rule)
    laws = {f"latency.{name}": getattr(parts.latency, name) for name in (*MESSAGES, "rate_bytes")}
    for key, value in {**laws, "compute": parts.compute}.items():
        if isinstance(value, tuple):
            rule = "superposed clocks need one law for all owners"
            yield Fault(key, f"{len(value)} values", rule)


def _saturated(parts: Any) -> Iterator[Fault]:
    """Ask of owners without a clock that they can work at once."""
    if not parts.clock.saturated:
        return
    if not parts.protocol.always_served:
        rule = "a saturated clock needs protocol push: refused owners would ask for ever"
        yield Fault("protocol.kind", repr(parts.protocol.kind), rule)
    if not parts.availability.always_online:
        rule = "a saturated clock needs owners that are always online"
        yield Fault("availability.kind", repr(parts.availability.kind), rule)
    if parts.topology is not None and parts.topology.failures is not None:
        rule = "a saturated clock needs links that never fail"
        yield Fault("topology.failures", "a table", rule)


def _without_pause(n_owners: int, parts: Any) -> Iterator[Fault]:
    """Ask that time passes where one exchange begins the moment the last one ends."""
    if not (parts.clock.saturated or parts.protocol.restarts_immediately):
        return
    subject = f"protocol {parts.protocol.kind}"
    subject = "a saturated clock" if parts.clock.saturated else subject
    if parts.channel.contended is not None and not parts.channel.contended.lets_begin:
        rule = f"{subject} needs a channel that lets every answer begin"
        yield Fault("channel.kind", repr(parts.channel.kind), rule)
    if max(parts.channel.packet_loss("_query").shares(n_owners)) == 1:
        rule = f"{subject} needs queries that arrive, or an owner asks for ever"
        yield Fault("channel.loss_query", "1 for some owner", rule)
    if parts.channel.contended is None and min(mean_times(n_owners, parts)) == 0:
        rule = f"{subject} needs jobs that take time: set compute or a latency"
        yield Fault("compute", "jobs that take no time", rule)


def _resting(parts: Any) -> Iterator[Fault]:
    """Ask that the learner decides who answers at which update, where owners are to rest."""
    if parts.apart is None:
        return
    if not parts.protocol.keeps_apart:
        rule = "privacy.participation.apart needs protocol request, rounds or dispatch, whose "
        rule += "learner decides when an owner may answer"
        yield Fault("protocol.kind", repr(parts.protocol.kind), rule)
    if parts.channel.retransmissions > 0 and parts.channel.resend == "fresh":
        rule = 'allowed with privacy.participation.apart is "same": a fresh answer is one more'
        yield Fault("channel.resend", "'fresh'", rule)


def _airtime(n_owners: int, parts: Any) -> Iterator[Fault]:
    """Refuse a channel that answers are too long for."""
    if parts.channel.contended is not None:
        for fault in parts.channel.faults_of_airtime(answer_airtime(n_owners, parts)):
            yield fault.under("channel")


def _offline(n_owners: int, parts: Any) -> Iterator[Fault]:
    """Yield a fault where nobody is ever online."""
    online = parts.availability.online_share(n_owners)
    if online is not None and max(online) == 0:
        rule = "no owner is ever online, so no update can ever happen"
        yield Fault("availability.kind", repr(parts.availability.kind), rule)


NOTICED = 1e-3
"""x from which a warning is printed: figures are off by 0.05 %."""
REFUSED = 1e-2
"""x from which nothing is simulated: figures would be off by 0.5 %."""


def meeting(n_owners: int, parts: Any) -> float:
    """Return x = Λδ, the mean number of ticks of all clocks in one tick of time.

    Λ = Σλ_i and δ = 10⁻⁹ time units. The mean of exponential gaps rounded to ticks is short by
    (λδ)²/24 of itself. Of owners whose clocks tick together the one that was served last comes
    last, so that P(i_{k+1} = i_k) is short by (N − 1)/(2N)·x of itself, to first order. A regular
    clock's period is off by x/2 of itself at most: ``tests/verification/test_resolution.py``.

    Owners without a clock begin anew when a job ends, at the rate of jobs. Where ticks have no
    rate none meet by rounding.
    """
    rates = parts.clock.rates(n_owners)
    if parts.clock.saturated:
        rates = [1 / time for time in mean_times(n_owners, parts) if time > 0]
    return 0.0 if rates is None else sum(rate / TICKS_PER_UNIT for rate in rates)


def _unresolved(n_owners: int, parts: Any) -> Iterator[Fault]:
    """Yield a fault where clocks are too fast for ticks of time to tell who was first.

    Or too slow: the mean gap is a duration, which has a longest one.
    """
    slowest = min(parts.clock.rates(n_owners) or (1.0,))
    met = meeting(n_owners, parts)
    if slowest * LONGEST < 1:
        rule = f"allowed is at least {1 / LONGEST:g}: choose a longer time unit"
        yield Fault("clock.rate", f"{slowest:g}", rule)
    elif met > REFUSED:
        clocks = ("clock.rate", "clocks tick")
        key, events = ("compute", "jobs end") if parts.clock.saturated else clocks
        shown = f"owners whose {events} {met * TICKS_PER_UNIT:.3g} times per time unit in all"
        steps = f"as time is counted in steps of {1 / TICKS_PER_UNIT:g}"
        remedy = "choose a shorter time unit, by which rates fall and times grow"
        rule = f"allowed are {REFUSED * TICKS_PER_UNIT:g} at most, {steps}: {remedy}"
        yield Fault(key, shown, rule)
