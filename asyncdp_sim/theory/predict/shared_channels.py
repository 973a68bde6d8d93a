"""Throughput, collisions and load of a channel that owners share, and its curve over the load.

The formulas are of the channel; this gathers what they ask of the rest of the network.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from asyncdp_sim.network import Network
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.theory.formulas.arguments import Array
from asyncdp_sim.theory.formulas.channels import RandomAccess
from asyncdp_sim.theory.predict.channels import NOT_SHARED
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.load import Load, load_of
from asyncdp_sim.theory.predict.table import law, theory_of
from asyncdp_sim.theory.prediction import Prediction, Unknown, either

BROKEN_OFF = Unknown("answers that are broken off are not of one length")


def access(facts: Facts) -> Iterator[Prediction]:
    """Yield throughput, collisions and load of a channel that owners contend for."""
    found, channel = contention(facts), facts.network.channel
    shared, airtime = channel.contended, facts.network.airtime
    if shared is None or airtime is None:
        return
    who = "infinite population" if facts.overlap else f"{facts.n_owners} owners"
    said = f"{channel.label}, {who}, answers of one length, {theory_of(channel).assumed}"
    rate: float | Unknown
    lost: float | Unknown
    load: float | Unknown
    if isinstance(found, Unknown):
        rate = lost = load = found
    else:
        rate, load = found.success_rate, found.attempt_rate * airtime
        lost = 0.0 if channel.retransmissions > 0 else 1 - found.success_probability
        if shared.breaks_off:
            load = BROKEN_OFF
    yield either("throughput", rate, said)
    if facts.in_turn:
        yield Prediction("collision_rate", 0.0, "an owner has slots of its own")
    else:
        yield either("collision_rate", lost, said)
    yield either("offered_load", load, said)


def contention(facts: Facts) -> RandomAccess | Unknown:
    """Return what gets through a shared channel under ``push``, or why it is not known."""
    found, channel = unspent(facts), facts.network.channel
    if isinstance(found, Unknown):
        return found
    per_answer = 1.0
    if channel.retransmissions == 0 or channel.resend == "fresh":
        per_answer = 1 / found.success_probability if found.success_probability > 0 else inf
    spent = facts.spent(per_answer)
    return Unknown(spent) if spent else found


def unspent(facts: Facts) -> RandomAccess | Unknown:
    """Return the same for a network whose budgets last for ever."""
    channel, protocol = facts.network.channel, facts.network.protocol
    if channel.contended is not None and not protocol.always_served:
        return Unknown(f"the formula is for protocol push, not {protocol.kind}")
    return theory_of(channel).access(load_of(facts))


@dataclass(frozen=True)
class AccessCurve:
    """The throughput of a channel, traced by the rate of owners' clocks.

    Attributes
    ----------
    channel : Channel
    airtime : float
        Of every answer, > 0.
    n_owners : int or None
        Equal owners with one job at a time; None is an infinite population.
    """

    channel: Channel
    airtime: float
    n_owners: int | None

    @property
    def words(self) -> tuple[str, str]:
        """The formula of an infinite population in TeX, and the setting; empty where none."""
        known = theory_of(self.channel)
        return known.formula, known.setting(self.airtime)

    def points(self, loads: Iterable[float]) -> tuple[Array, Array]:
        """Return the mean number of transmissions on air, and the part of it that survives.

        Parameters
        ----------
        loads : iterable of float
            Ticks of idle owners per airtime, of all owners together, > 0.
        """
        found = []
        for load in loads:
            access = theory_of(self.channel).access(_load(load, self.airtime, self.n_owners))
            if not isinstance(access, Unknown):
                found.append((access.attempt_rate, access.success_rate))
        begun, survived = np.array(found).reshape(-1, 2).T * self.airtime
        return begun, survived


@law
def access_curve(facts: Facts) -> AccessCurve | Unknown:
    """Return the law that a network obeys exactly, or why none is claimed.

    It holds while no budget is spent.

    Networks that differ in the rate of their clocks alone have equal curves.
    """
    network = facts.network
    found, known = unspent(facts), theory_of(network.channel)
    if isinstance(found, Unknown):
        return found
    if facts.overlap and known.dependence(overlap=True):
        return Unknown(known.dependence(overlap=True))
    return _curve(network, None if facts.overlap else facts.n_owners)


@law
def endless_curve(facts: Facts) -> AccessCurve | Unknown:
    """Return the law for an infinite population that shares the network's channel.

    That is a yardstick for the channel, whether or not the network's attempts are Poisson; they
    are spread alike over channels side by side.
    """
    return _curve(facts.network, None)


def _curve(network: Network, n_owners: int | None) -> AccessCurve | Unknown:
    shared, airtime = network.channel.contended, network.airtime
    if shared is None or airtime is None:
        return NOT_SHARED
    if shared.in_turn:
        return Unknown("in turn, whatever is sent survives")
    if shared.breaks_off:
        return BROKEN_OFF
    channel = network.channel if n_owners is not None else theory_of(network.channel).spread_alike()
    found = theory_of(channel).access(_load(n_owners or 1, airtime, n_owners))
    return found if isinstance(found, Unknown) else AccessCurve(channel, airtime, n_owners)


def _load(ticks: float, airtime: float, n_owners: int | None) -> Load:
    """Return the load of so many ticks of idle owners per airtime, of all owners together."""
    rates = (ticks / airtime / (n_owners or 1),) * (n_owners or 1)
    overlap = n_owners is None
    return Load(n_owners=len(rates), rates=rates, airtime=airtime, overlap=overlap)
