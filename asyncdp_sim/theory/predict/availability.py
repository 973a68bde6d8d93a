"""The mean number of owners online, where availability has a long run."""

from collections.abc import Iterator
from math import fsum

from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.prediction import Prediction


def presence(facts: Facts) -> Iterator[Prediction]:
    """Yield the mean share of the time, or of ticks (queries), that an owner is online."""
    network = facts.network
    available, kind = network.availability, network.availability.kind
    shares, reason = available.online_share(facts.n_owners), available.in_step(network)
    if facts.wires_fail and not available.drawn_per_tick:
        reason = "links fail"
    if shares is None:
        reason = f"availability is {kind}, which has no long run"
    value = None if reason or shares is None else fsum(shares) / facts.n_owners
    yield Prediction("mean_online", value, f"long-run share of availability {kind}", reason)
