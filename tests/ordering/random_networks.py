"""Networks of all kinds by number: on a grid of times, where much falls together, or off it.

A part is chosen by ``random.Random(number)``, so number 7 is the same network whatever the others.
"""

from collections.abc import Callable
from functools import cache
from math import ceil
from random import Random
from typing import Any

import numpy as np

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import Variant, members
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.channels.kind import ChannelKind
from asyncdp_sim.network.clocks import Clock, ScriptedClock
from asyncdp_sim.network.laws import Constant, Exponential, Law, NoTime
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.topology import Star, Topology
from asyncdp_sim.scenario.fields import examples_of
from asyncdp_sim.trace import EventKind
from tests.drawn import Domain

GRID = 0.25
PRESENCE = (EventKind.went_online, EventKind.went_offline)


def on_any_channel(member: Any) -> bool:
    """Return whether a protocol runs on any channel."""
    return member.update_of not in ("pair", "servers")


def on_a_grid(number: int) -> Network:
    """Return a network whose times are multiples of a quarter: ties abound, losses are drawn."""
    rng = Random(f"grid {number}")
    n = rng.randint(2, 5)
    on_grid = [law for law in members(Law) if law.listed or law.constant]

    def law(least: int = 0) -> Law:
        times = tuple(GRID * each for each in range(least, 4))
        return Domain(rng.choice, n, times).member(rng.choice(on_grid[1 if least > 0 else 0 :]))

    scripts = [sorted(rng.sample(range(24), 8)) for _ in range(n)]
    script = ScriptedClock(times=[[GRID * tick for tick in own] for own in scripts])
    paced = Domain(rng.choice, n, (0.0, GRID, 2 * GRID, 1.0, 2.0))

    channels = [_lossy(gridded(rng.choice(examples_of(kind))), rng) for kind in members(Channel)]
    times = tuple(GRID * each for each in (1, 2, 3, 4, 0))
    drawn = Domain(rng.choice, n, (*times, 0.7), lambda: law(1))
    patient = Domain(rng.choice, n, (4 * GRID, 20 * GRID), lambda: law(1))

    def network() -> Network:
        parts = {
            "answers_allowed": [rng.randint(1, 6) for _ in range(n)],
            "updates": 20,
            "until": 8.0,
            "clock": paced.clock(lambda: script, lambda kind: not kind.mixing),
            "availability": drawn.of(Availability),
            "channel": rng.choice(channels),
            "latency": Latency(
                request=law(),
                query=[law() for _ in range(n)],
                answer=law(),
                acknowledgement=rng.choice([NoTime(), NoTime(), law()]),
            ),
            "compute": [law() for _ in range(n)],
            "topology": drawn.of(Topology) if rng.random() < 0.5 else None,
        }
        return with_protocol(patient.of(Protocol, on_any_channel), parts)

    return fitting(network)


def off_the_grid(number: int) -> Network:
    """Return a network in which no two owners' times are the same, but for what they share.

    Slots, persistent listeners, collision detection and queries that reach all at once bring
    owners together at one tick; they are left out. So are, where queries wait for owners, groups
    of owners that are away together.
    """
    rng = Random(f"continuous {number}")
    n = rng.randint(2, 5)
    scattered = [law for law in members(Law) if not law.listed]

    def law() -> Law:
        return Domain(rng.choice, n, (0.1, 0.3, 0.0)).member(rng.choice(scattered))

    def period() -> Law:
        return Exponential(mean=rng.choice([0.5, 2.0]))

    apart = [[c for c in examples_of(kind) if not gathers(c)] for kind in members(Channel)]
    channel = _lossy(rng.choice(rng.choice([some for some in apart if len(some) > 0])), rng)
    shared = channel.contended
    patient = Domain(rng.choice, n, (0.9, 2.5), period)
    paced = Domain(rng.choice, n, (1.5, 0.5, 1.0))

    def script() -> Clock:
        raise AssertionError("ticks of a script keep step")

    def network() -> Network:
        protocol = patient.of(Protocol, on_any_channel)
        if shared is not None and shared.in_turn and protocol.overlap:
            protocol = protocol.model_copy(update={"own_tick": "drop"})  # two answers in one slot
        again = channel.loss_acknowledgement > 0  # as the learner turns to the next owner
        asked_at_once = protocol.reads_early or protocol.makes_updates or again
        distances = (0.7131, 0.2917, 1.0, 1.9373, 0.0533)  # no two are some slots apart
        drawn = Domain(rng.choice, n, distances, period)
        parts = {
            "answers_allowed": [rng.randint(3, 15) for _ in range(n)],
            "updates": 30,
            "until": 12.0,
            "clock": paced.clock(script, lambda kind: kind.mixing),
            "availability": drawn.of(Availability, lambda kind: not away_together(kind, protocol)),
            "channel": channel,
            "latency": Latency(
                request=law(),
                query=Exponential(mean=0.1) if asked_at_once else law(),
                answer=law(),
                acknowledgement=rng.choice([NoTime(), NoTime(), law()]),
            ),
            "compute": [law() for _ in range(n)],
            "topology": drawn.member(Star) if rng.random() < 0.6 else None,
        }
        return with_protocol(protocol, parts)

    return fitting(network)


def away_together(availability: Any, protocol: Protocol) -> bool:
    """Return whether queries may reach, or exchanges lose, several owners at one tick."""
    vanish = getattr(protocol, "offline", "finish") == "vanish"
    if protocol.restarts_immediately:  # tasks wait side by side for an owner to be back
        return any(each.comes_and_goes for each in examples_of(availability))
    return (protocol.makes_updates or vanish) and come_together(availability)


@cache
def come_together(member: type[AvailabilityKind]) -> bool:
    """Return whether a run of some example has two owners come or go at one tick."""
    for each in examples_of(member):
        network = Network(answers_allowed=(9, 9, 9), updates=9, until=12.0, availability=each)
        events = simulate(network, Streams(1).within("replicate", 1), events=True).events
        moved = events[np.isin(events["kind"], PRESENCE) & (events["tick"] > 0)]
        if len(set(moved["tick"].tolist())) < len(moved):
            return True
    return False


def with_protocol(protocol: Protocol, parts: dict[str, Any]) -> Network:
    """Return a network whose protocol makes the updates, or every answer does."""
    per_update = None if protocol.makes_updates else 1
    return Network(**parts, protocol=protocol, answers_per_update=per_update)


def fitting(network: Callable[[], Network]) -> Network:
    """Return the first of some networks whose parts fit together."""
    while True:
        try:
            return network()
        except SpecError:
            continue


def gathers(channel: Channel) -> bool:
    """Whether owners that were ready at different ticks may begin or end at one."""
    shared = channel.contended
    if shared is None:
        return False
    waits = shared.carrier_sense and getattr(shared, "persistence", None) != "non-persistent"
    return (shared.slotted and not shared.in_turn) or waits or shared.breaks_off


def gridded(spec: Variant) -> Variant:
    """The same channel with its times, and those of the channels in it, on the grid."""
    return type(spec)(**{name: _on_grid(name, value) for name, value in spec})


def _on_grid(name: str, value: Any) -> Any:
    if isinstance(value, ChannelKind):
        return gridded(value)
    if isinstance(value, Exponential):
        return Constant(value=GRID)
    if name == "rate_bytes" and value is not None:
        return 48 / GRID
    times = ("airtime", "request_airtime", "slot", "guard", "propagation_delay")
    return GRID * ceil(value / 0.1) if name in times and value is not None else value


def _lossy(channel: Variant, rng: Random) -> Variant:
    return channel.model_copy(update=_losses(rng))


def _losses(rng: Random) -> dict[str, object]:
    return {
        "loss": rng.choice([0.0, 0.3]),
        "loss_query": rng.choice([0.0, 0.0, 0.2]),
        "loss_request": rng.choice([0.0, 0.0, 0.2]),
        "loss_acknowledgement": rng.choice([0.0, 0.0, 0.2]),
        "retransmissions": rng.randint(0, 2),
        "resend": rng.choice(["same", "fresh"]),
    }
