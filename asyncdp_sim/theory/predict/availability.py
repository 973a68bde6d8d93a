"""How many owners are online, where availability has a long run."""

from collections.abc import Iterator
from math import fsum

from asyncdp_sim.network.availability import Diurnal, Outages
from asyncdp_sim.network.laws import Constant, Empirical
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.prediction import Prediction


def presence(facts: Facts) -> Iterator[Prediction]:
    """Yield the mean share of the time, or of ticks (queries), that an owner is online."""
    network = facts.network
    shares, kind = network.availability.online_share(facts.n_owners), network.availability.kind
    reason = _in_step(facts)
    if facts.wires_fail and kind not in ("bernoulli", "diurnal"):
        reason = "links fail"
    if shares is None:
        reason = f"availability is {kind}, which has no long run"
    value = None if reason or shares is None else fsum(shares) / facts.n_owners
    yield Prediction("mean_online", value, f"long-run share of availability {kind}", reason)


def _in_step(facts: Facts) -> str:
    """Why what is regular may keep step with something else, if it may."""
    network, available = facts.network, facts.network.availability
    if isinstance(available, Diurnal) and available.low < available.high:
        if not network.protocol.clocked:
            return "queries are regular, and may keep step with the time of day"
        if not network.clock.memoryless:
            return f"clocks are {network.clock.kind}, and may keep step with the time of day"
    if isinstance(available, Outages):
        times = [
            sum(i in group for group in available.groups) for i in range(1, 1 + facts.n_owners)
        ]
        regular = all(
            isinstance(law, Constant | Empirical) for law in (available.gap, available.length)
        )
        if regular and max(times) > 1:
            return "regular outages of an owner's groups keep step"
    return ""
