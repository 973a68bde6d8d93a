"""The networks of ns-3's programs as this package has them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import TICKS_PER_UNIT, to_ticks
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.channels import Ideal, Parallel
from asyncdp_sim.network.channels.aloha import Bottleneck
from asyncdp_sim.network.channels.csma import Dcf
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock, ScriptedClock
from asyncdp_sim.network.laws import Constant, Lognormal, NoTime
from asyncdp_sim.network.protocols import Broadcast, Push, Request, Rounds
from asyncdp_sim.trace import Trace
from asyncdp_sim.trace.vocabulary import APPLIED
from tests.peers.ns3.measure import SPEED, Wired, computing, span, ticks

WIFI: dict[str, Any] = {
    "airtime": 176.0, "slot": 9.0, "after_success": 78.0, "after_collision": 79.0,
    "retransmissions": 32_766,
}  # fmt: skip
"""802.11a in µs: 1036 bytes at 54 Mb/s; SIFS 16, ACK 28, DIFS 34; timeout 45 and DIFS."""
OTHERS = {"DIFS": 34.0, "EIFS": 94.0}
"""After a collision: DIFS; SIFS, the slowest ACK (44) and DIFS."""
PACKET = 1448
"""Bytes of an answer in one packet."""
OVERHEAD = {1000: 1054 / 1000, 1_000_000: 1502 / 1448}
"""Bytes on the shared link for each byte of an answer: headers of TCP, IP and the link."""

EARLIER, SPREAD = 0.975, 0.08
"""Of large queries to all owners in ns-3's rounds: the mean time, in parts of the longest, and the
coefficient of variation (3 and 10 owners)."""


def dcf(owners: int, first: int, last: int, **counting: Any) -> Network:
    """Return saturated owners of one cell; times in µs."""
    channel = Dcf(window=first, doublings=(last // first).bit_length() - 1, **WIFI, **counting)
    return _network(owners, channel=channel, clock=SaturatedClock())


def link(
    cell: Wired, alone: Mapping[int, float], seed: int | None = None, share: str | None = None
) -> Network:
    """Return owners whose answers share a link, with times in seconds.

    ``alone`` has ns-3's time of a message of so many bytes when no other is under way. Clocks are
    Poisson, or with a seed have the ticks that ns-3 had. Answers of one packet wait for their turn
    ("fifo"), larger ones go at equal speeds ("shared"), unless another ``share`` is set: with
    "parallel" each owner has a channel of its own, with "latency" an answer takes that alone.
    """
    kind, owners, size = cell[:3]
    _, until, between = span(cell)
    airtime = size * OVERHEAD[size] / SPEED
    clock = PoissonClock(rate=1 / between)
    if seed is not None:
        clock = ScriptedClock(times=ticks(cell, seed))
    protocol = {
        "push": Push(), "request": Request(busy="queue"), "broadcast": Broadcast(interval=between),
        "rounds": Rounds(),
    }[kind]  # fmt: skip
    # Queries to all owners leave together, and go packet by packet in turn: those of one packet
    # follow one another, large ones arrive about together, as TCP's windows differ.
    one = size <= PACKET
    together = tuple(
        Constant(value=alone[size] + other * airtime)
        if one
        else Lognormal(mean=EARLIER * (alone[size] + (owners - 1) * airtime), cv=SPREAD)
        for other in range(owners)
    )
    query = {"push": NoTime(), "request": Constant(value=alone[size])}.get(kind, together)
    latency = Latency(
        request=Constant(value=alone[40]) if kind == "request" else NoTime(),
        query=query,
        answer=Constant(value=alone[size] - (0 if share == "latency" else airtime)),
    )
    shared: Any = Bottleneck(airtime=airtime, queue="fifo" if one else "shared")
    if share == "latency":
        shared = Ideal()
    elif share == "parallel":
        shared = Parallel(channels=owners, choice="by-owner", each=shared)
    elif share is not None:
        shared = Bottleneck(airtime=airtime, queue=share)
    times = computing(cell)
    return _network(
        owners,
        channel=shared,
        clock=clock, latency=latency, protocol=protocol, until=until,
        compute=tuple(Constant(value=time) for time in times) if any(times) else NoTime(),
        answers_per_update=None if kind == "rounds" else 1,
    )  # fmt: skip


def figures(
    cell: Wired, alone: Mapping[int, float], seed: int, share: str | None = None
) -> dict[str, Any]:
    """Return ns-3's figures of a cell of TCP as ours are, for the same ticks."""
    net, (warm, *_) = link(cell, alone, seed, share), span(cell)
    trace = simulate(net, Streams(seed).within("replicate", 1))
    used, again = trace.updates, trace.updates["owner"][1:] == trace.updates["owner"][:-1]
    ended = trace.exchanges[trace.exchanges["outcome"] == APPLIED]
    kept = ended["end_tick"] >= to_ticks(warm)
    times = (ended["end_tick"] - ended["request_tick"])[kept]
    ends = np.unique(used["tick"][used["tick"] >= to_ticks(warm)])
    return {
        "rate": (len(ends) - 1) / np.ptp(ends) * TICKS_PER_UNIT,
        "mean": times.mean() / TICKS_PER_UNIT,
        "cv": times.std() / times.mean(),
        "staleness": used["staleness"][kept].mean(),
        "repeats": again[kept[1:]].mean(),
        "answers": np.bincount(ended["owner"][kept], minlength=cell.owners + 1)[1:].tolist(),
    }


def differ(ours: Sequence[int], theirs: Sequence[int]) -> float:
    """Return by how much owners' shares of answers differ: half the sum of differences."""
    one, other = (np.array(each) / sum(each) for each in (ours, theirs))
    return float(np.abs(one - other).sum() / 2)


def cell_of(owners: int, channel: Any, rate: float) -> Network:
    """Return owners of one cell whose Poisson clocks have a rate."""
    return _network(owners, channel=channel, clock=PoissonClock(rate=rate))


def lossy(loss: float, most: int) -> Network:
    """Return one owner whose answers are lost, and sent again until ``most`` times in all."""
    return _network(1, channel=Ideal(loss=loss, retransmissions=most - 1), clock=PoissonClock())


def _network(owners: int, **parts: Any) -> Network:
    most = 2**31 - 1
    parts = {"protocol": Push()} | parts
    return Network(answers_allowed=(most,) * owners, updates=most, **parts)


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
