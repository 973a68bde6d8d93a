"""The table of kinds: what is known of each protocol and channel, by exact class.

A class that derives from another may do other things, and so has no row that it does not write.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from asyncdp_sim.network import Network
from asyncdp_sim.network.availability.drawn import Diurnal
from asyncdp_sim.network.availability.periods import Outages
from asyncdp_sim.network.channels import Aloha, Channel, Csma, Parallel, SlottedAloha, Tdma
from asyncdp_sim.network.channels.dcf import Dcf
from asyncdp_sim.network.channels.packet_loss import GilbertElliott, IndependentLosses
from asyncdp_sim.network.protocols import (
    Broadcast,
    Dispatch,
    Gossip,
    Push,
    Request,
    Rounds,
    Servers,
)
from asyncdp_sim.theory.formulas.packet_loss import BurstChain, delivered, mean_attempts
from asyncdp_sim.theory.predict.broadcast import BroadcastFacts
from asyncdp_sim.theory.predict.channels import (
    AlohaTheory,
    ChannelTheory,
    CsmaTheory,
    DcfTheory,
    ParallelTheory,
    SlottedAlohaTheory,
    TdmaTheory,
)
from asyncdp_sim.theory.predict.dispatch import DispatchFacts
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.gossip import GossipFacts
from asyncdp_sim.theory.predict.on_ticks import PushFacts, RequestFacts
from asyncdp_sim.theory.predict.synchronous import RoundsFacts, ServersFacts
from asyncdp_sim.theory.prediction import Unknown

_T = TypeVar("_T")

PROTOCOLS: Mapping[type, type[Facts]] = {
    Request: RequestFacts,
    Push: PushFacts,
    Broadcast: BroadcastFacts,
    Rounds: RoundsFacts,
    Dispatch: DispatchFacts,
    Gossip: GossipFacts,
    Servers: ServersFacts,
}
"""What is known of protocols."""

CHANNELS: Mapping[type, type[ChannelTheory]] = {
    Aloha: AlohaTheory,
    SlottedAloha: SlottedAlohaTheory,
    Csma: CsmaTheory,
    Dcf: DcfTheory,
    Tdma: TdmaTheory,
    Parallel: ParallelTheory,
}
"""What is known of channels that owners share."""


def _day_in_step(available: Diurnal, network: Network) -> str:
    """Return why what is regular may keep step with the time of day, or nothing."""
    if available.low == available.high:
        return ""
    if not network.protocol.clocked:
        return "queries are regular, and may keep step with the time of day"
    if not network.clock.memoryless:
        return f"clocks are {network.clock.kind}, and may keep step with the time of day"
    return ""


def _outages_in_step(available: Outages, network: Network) -> str:
    """Return why outages of several groups may keep step with each other, or nothing."""
    regular = available.gap.listed and available.length.listed
    if regular and max(available.groups_of(network.n_owners)) > 1:
        return "regular outages of an owner's groups keep step"
    return ""


IN_STEP: Mapping[type, Callable[[Any, Network], str]] = {
    Diurnal: _day_in_step,
    Outages: _outages_in_step,
}
"""Why the share of ticks that find owners online may not be that of the time, by availability."""


def _lost_alone(loss: IndependentLosses, attempts: int) -> tuple[float, float]:
    share = loss.shares(1)[0]
    return 1 - delivered(share, attempts), mean_attempts(share, attempts)


def _lost_in_bursts(loss: GilbertElliott, attempts: int) -> tuple[float, float]:
    chain = BurstChain(loss.to_bad, loss.to_good, loss.loss_good, loss.loss_bad)
    lost = chain.undelivered(attempts)
    return lost, (1 - lost) / (1 - loss.mean)  # one arrival per answer delivered


LOSSES: Mapping[type, Callable[[Any, int], tuple[float, float]]] = {
    IndependentLosses: _lost_alone,
    GilbertElliott: _lost_in_bursts,
}
"""Share of answers that are lost in all of R attempts, and the mean number sent.

Of owners that lose alike.
"""


def facts_of(network: Network) -> Facts:
    """Return the network as theory sees it, worked out once."""
    known = PROTOCOLS.get(type(network.protocol), Facts)
    found: Facts = network.remembered.setdefault("facts", known(network))
    return found


def law(of: Callable[[Facts], _T]) -> Callable[[Network], _T | Unknown]:
    """Return a law of networks, which counts where the package knows every kind of them."""

    @wraps(of)
    def read(network: Network) -> _T | Unknown:
        facts = facts_of(network)
        return Unknown(facts.unknown) if facts.unknown else of(facts)

    return read


def theory_of(channel: Channel) -> ChannelTheory:
    """Return what is known of a channel."""
    return CHANNELS.get(type(channel), ChannelTheory)(channel, theory_of)
