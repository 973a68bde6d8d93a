"""Throughput of a shared channel over its load."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.network import Network
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.theory.formulas.arguments import Array
from asyncdp_sim.theory.predict.channels import NOT_SHARED, Load
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.shared_channels import BROKEN_OFF, unspent
from asyncdp_sim.theory.predict.table import law, theory_of
from asyncdp_sim.theory.prediction import Unknown


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
