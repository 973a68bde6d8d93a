"""The networks of ns-3's programs as this package has them."""

from typing import Any

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.aloha import Bottleneck
from asyncdp_sim.network.channels.csma import Dcf
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.trace import Trace

WIFI: dict[str, Any] = {
    "airtime": 176.0, "slot": 9.0, "after_success": 78.0, "after_collision": 79.0,
    "retransmissions": 10**5,
}  # fmt: skip
"""802.11a in µs: 1036 bytes at 54 Mb/s; SIFS 16, ACK 28, DIFS 34; timeout 45 and DIFS."""
OTHERS = {"DIFS": 34.0, "EIFS": 94.0}
"""After a collision: DIFS; SIFS, the slowest ACK (44) and DIFS."""
OVERHEAD = {1000: 1054 / 1000, 1_000_000: 1502 / 1448}
"""Bytes on the shared link for each byte of an answer: headers of TCP, IP and the link."""
SPEED = 10e6 / 8
"""Bytes per second of the shared link."""


def dcf(owners: int, first: int, last: int, **counting: Any) -> Network:
    """Return saturated owners of one cell; times in µs."""
    doublings = (last // first).bit_length() - 1
    channel = Dcf(window=first, doublings=doublings, **WIFI, **counting)
    return _network(owners, channel=channel, clock=SaturatedClock())


def link(owners: int, size: int, load: float, alone: float) -> Network:
    """Return owners that push answers over the shared link, with times in seconds.

    ``alone`` is ns-3's time of an answer when no other is under way.
    """
    airtime = size * OVERHEAD[size] / SPEED
    rest = Latency(answer=Constant(value=max(0.0, alone - airtime)))
    clock = PoissonClock(rate=load * SPEED / (owners * size))
    return _network(owners, channel=Bottleneck(airtime=airtime), clock=clock, latency=rest)


def lossy(loss: float, most: int) -> Network:
    """Return one owner whose answers are lost, and sent again until ``most`` times in all."""
    return _network(1, channel=Ideal(loss=loss, retransmissions=most - 1), clock=PoissonClock())


def _network(owners: int, **parts: Any) -> Network:
    most = 2**31 - 1
    return Network(answers_allowed=(most,) * owners, updates=most, protocol=Push(), **parts)


def measured(network: Network, until: float, seed: int = 5) -> tuple[float, float]:
    """Return updates per time unit, and the share of transmissions that did not arrive."""
    trace = _simulated(network, until, seed)
    updates = len(trace.updates)
    return updates / until, 1 - updates / float(trace.exchanges["transmissions"].sum())


def per_answer(network: Network, until: float, seed: int = 5) -> tuple[float, float]:
    """Return the share of answers that arrive, and the mean transmissions of an answer."""
    trace = _simulated(network, until, seed)
    sent = trace.exchanges["transmissions"]
    sent = sent[sent > 0]
    return len(trace.updates) / len(sent), float(sent.mean())


def _simulated(network: Network, until: float, seed: int) -> Trace:
    ends = network.model_copy(update={"until": until})
    return simulate(ends, Streams(seed).within("replicate", 1))
