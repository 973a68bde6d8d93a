"""Networks of all kinds by number: on a grid of times, where much falls together, or off it.

A part is chosen by ``random.Random(number)``, so number 7 is the same network whatever the others.
"""

from random import Random
from typing import Any

from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import (
    Always,
    Availability,
    Bernoulli,
    Churn,
    Diurnal,
    OnOff,
    Outages,
)
from asyncdp_sim.network.channels import (
    Aloha,
    Channel,
    Csma,
    Ideal,
    Parallel,
    SlottedAloha,
    Tdma,
)
from asyncdp_sim.network.clocks import (
    Clock,
    DeterministicClock,
    GammaClock,
    PoissonClock,
    ScriptedClock,
)
from asyncdp_sim.network.laws import Constant, Exponential, Gamma, Law, Lognormal, NoTime, Uniform
from asyncdp_sim.network.protocols import Broadcast, Protocol, Push, Request, Rounds
from asyncdp_sim.network.topology import LinkFailures, Star, Topology

GRID = 0.25


def on_a_grid(number: int) -> Network:
    """Return a network whose times are multiples of a quarter: ties abound, losses are drawn."""
    rng = Random(f"grid {number}")

    def law(least: int = 0) -> Law:
        value = rng.choice([None, None, 0, 1, 2, 3])
        if value is None and least == 0:
            return NoTime()
        return Constant(value=GRID * max(value or 0, least))

    n = rng.randint(2, 5)
    scripts = [sorted(rng.sample(range(24), 8)) for _ in range(n)]
    clocks: list[Clock] = [
        ScriptedClock(times=[[GRID * tick for tick in own] for own in scripts]),
        DeterministicClock(
            rate=rng.choice([1.0, 2.0]),
            phase=[GRID * rng.randint(0, 3) for _ in range(n)],
        ),
    ]
    waits: list[Law] = [NoTime(), Constant(value=GRID)]
    losses = _losses(rng)
    backoff = {"backoff": rng.choice(waits), "backoff_cap": rng.randint(0, 2)}
    alohas = [
        Aloha(airtime=2 * GRID, request_airtime=rng.choice([None, GRID]), **backoff, **losses),
        SlottedAloha(airtime=GRID, slot=2 * GRID, **backoff, **losses),
    ]
    channels: list[Channel] = [
        Ideal(**losses),
        Ideal(),
        *alohas,
        Csma(airtime=2 * GRID, propagation_delay=GRID * rng.randint(0, 1), **backoff, **losses),
        Csma(airtime=2 * GRID, propagation_delay=GRID, persistence=1.0, **losses),
        Csma(airtime=3 * GRID, propagation_delay=GRID, collision_detection=True, **losses),
        Tdma(airtime=GRID, slot=GRID, **losses),
        Parallel(
            channels=2,
            each=Aloha(airtime=GRID, **backoff),
            choice=rng.choice(["random", "by-owner"]),
            **losses,
        ),
    ]
    failures = LinkFailures(gap=Constant(value=1.5), length=Constant(value=0.5))
    topologies: list[Topology | None] = [
        None,
        None,
        Star(latency=[GRID * rng.randint(0, 2) for _ in range(n)]),
        Star(latency=GRID, failures=failures),
    ]
    parts: dict[str, Any] = {
        "answers_allowed": [rng.randint(1, 6) for _ in range(n)],
        "updates": 20,
        "until": 8.0,
        "clock": rng.choice(clocks),
        "availability": rng.choice(
            [
                Always(),
                Outages(groups=[[1], [1, 2]], gap=law(1), length=law(1)),
                Churn(join=law(), lifetime=Constant(value=4.0)),
                Bernoulli(probability=0.7),
            ]
        ),
        "channel": rng.choice(channels),
        "latency": Latency(
            request=law(),
            query=[law() for _ in range(n)],
            answer=law(),
            acknowledgement=rng.choice([NoTime(), NoTime(), law()]),
        ),
        "compute": [law() for _ in range(n)],
        "topology": rng.choice(topologies),
    }
    protocol = _protocol(rng, interval=4 * GRID, timeout=20 * GRID, wait=law(1), delay=law())
    return Network(**parts, protocol=protocol, answers_per_update=per_update(protocol))


def off_the_grid(number: int) -> Network:
    """Return a network in which no two owners' times are the same, but for what they share.

    Slots, persistent listeners, collision detection and queries that reach all at once bring
    owners together at one tick; they are left out. So are, where queries wait for owners, outages
    that end for several at once.
    """
    rng = Random(f"continuous {number}")

    def law() -> Law:
        mean = rng.choice([0.1, 0.3])
        laws: list[Law] = [
            NoTime(),
            Constant(value=mean),
            Exponential(mean=mean),
            Lognormal(mean=mean, cv=1.0),
            Gamma(mean=mean, cv=0.5),
            Uniform(low=0.0, high=2 * mean),
        ]
        return rng.choice(laws)

    n = rng.randint(2, 5)
    losses = _losses(rng)
    backoff = {"backoff": rng.choice([NoTime(), Exponential(mean=0.2)]), "backoff_cap": 2}
    channels: list[Channel] = [
        Ideal(**losses),
        Ideal(),
        Aloha(airtime=0.3, request_airtime=rng.choice([None, 0.05]), **backoff, **losses),
        Aloha(airtime=0.3, capture_ratio=1.0, **backoff, **losses),
        Csma(airtime=0.3, propagation_delay=rng.choice([0.0, 0.05]), **backoff, **losses),
        Tdma(airtime=0.2, slot=0.2, **losses),
        Parallel(channels=2, each=Aloha(airtime=0.3, **backoff), **losses),
    ]
    channel = rng.choice(channels)
    availabilities: list[Availability] = [
        Always(),
        Bernoulli(probability=0.7),
        OnOff(on=Exponential(mean=2), off=Gamma(mean=0.5, cv=0.5)),
        Diurnal(period=2.0, low=0.3, high=1.0),
        Churn(join=Exponential(mean=0.5), lifetime=Exponential(mean=5)),
        Outages(groups=[[1], [1, 2]], gap=Exponential(mean=2), length=Exponential(mean=0.5)),
    ]
    failures = LinkFailures(gap=Exponential(mean=2), length=Exponential(mean=0.3))
    topologies: list[Topology | None] = [
        None,
        Star(latency=[0.1 * rng.random() for _ in range(n)]),
        Star(latency=0.05, failures=failures),
    ]
    protocol = _protocol(
        rng, interval=0.9, timeout=2.5, wait=Exponential(mean=0.2), delay=Exponential(mean=0.1)
    )
    if channel.kind == "tdma" and getattr(protocol, "own_tick", "drop") == "overlap":
        protocol = protocol.model_copy(update={"own_tick": "drop"})  # two answers in one slot
    waiting = protocol.kind == "rounds"
    if waiting:
        each = {"gap": Exponential(mean=2), "length": Exponential(mean=0.5)}
        availabilities[-1] = Outages(groups=[[1], [2]], **each)
    return Network(
        answers_allowed=[rng.randint(3, 15) for _ in range(n)],
        updates=30,
        answers_per_update=per_update(protocol),
        until=12.0,
        clock=rng.choice([PoissonClock(rate=1.5), GammaClock(rate=1.5, cv=0.5)]),
        availability=rng.choice(availabilities),
        channel=channel,
        latency=Latency(
            request=law(),
            query=Exponential(mean=0.1) if waiting or protocol.kind == "broadcast" else law(),
            answer=law(),
            acknowledgement=rng.choice([NoTime(), NoTime(), law()]),
        ),
        compute=[law() for _ in range(n)],
        topology=rng.choice(topologies),
        protocol=protocol,
    )


def per_update(protocol: Protocol) -> int | None:
    """Return B of a network with this protocol; None where the protocol makes the updates."""
    return None if protocol.makes_updates else 1


def _losses(rng: Random) -> dict[str, object]:
    return {
        "loss": rng.choice([0.0, 0.3]),
        "loss_query": rng.choice([0.0, 0.0, 0.2]),
        "loss_request": rng.choice([0.0, 0.0, 0.2]),
        "loss_acknowledgement": rng.choice([0.0, 0.0, 0.2]),
        "retransmissions": rng.randint(0, 2),
        "resend": rng.choice(["same", "fresh"]),
    }


def _protocol(rng: Random, interval: float, timeout: float, wait: Law, delay: Law) -> Protocol:
    offline = rng.choice(["finish", "vanish"])
    patience = timeout if offline == "vanish" else rng.choice([None, timeout])
    asked = {"timeout": patience, "offline": offline}
    own_tick = rng.choice(["drop", "overlap"])
    heard = {"interval": interval, "superseded": rng.choice(["apply", "discard"])}
    protocols: list[Protocol] = [
        Request(**asked),
        Request(busy="queue", own_tick=rng.choice(["drop", "queue"]), **asked),
        Request(busy="retry", retry=wait, **asked),
        Push(own_tick=own_tick, offline=offline),
        Push(own_tick=own_tick, offline=offline),
        Broadcast(own_tick=own_tick, offline=offline, **heard),
        Broadcast(answer_at="after-delay", delay=delay, own_tick=own_tick, **heard),
        Rounds(deadline=rng.choice([None, 3 * interval])),
    ]
    return rng.choice(protocols)
