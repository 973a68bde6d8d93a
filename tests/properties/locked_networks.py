"""Networks of locked exchanges on an ideal channel, drawn by seed: those that are also compiled."""

from random import Random
from typing import Any

from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import Always, Availability, Bernoulli, OnOff, Outages
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.packet_loss import GilbertElliott
from asyncdp_sim.network.clocks import Clock, DeterministicClock, GammaClock, PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential, Gamma, Law, Lognormal, NoTime, Uniform
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.network.topology import Star, Topology, Waxman

GRID = (0.25, 0.5, 1.0)
"""Rates and durations of which many are multiples of each other: ties."""


def law(rng: Random) -> Law:
    """A law with a positive mean."""
    mean = rng.choice(GRID) * rng.choice((0.01, 0.1, 1.0))
    kinds: list[Law] = [
        Constant(value=mean),
        Exponential(mean=mean),
        Lognormal(mean=mean, cv=rng.choice(GRID)),
        Gamma(mean=mean, cv=rng.choice((0.3, 1.0, 2.5))),
        Uniform(low=0.0, high=2 * mean),
    ]
    return rng.choice(kinds)


def stage(rng: Random, n: int) -> Any:
    """No time, no time with an event of its own, a law for all owners, or one for each."""
    return rng.choice(
        [NoTime(), Constant(value=0.0), law(rng), law(rng), tuple(law(rng) for _ in range(n))]
    )


def clock(rng: Random, n: int) -> Clock:
    """A clock of each owner's own."""
    rates = rng.choice([rng.choice(GRID), tuple(rng.uniform(0.2, 5) for _ in range(n))])
    kinds: list[Clock] = [
        PoissonClock(rate=rates),
        GammaClock(rate=rates, cv=rng.choice((0.3, 1.0, 2.0))),
        DeterministicClock(rate=rng.choice((1.0, 4.0)), phase=rng.choice((0.0, 0.25))),
    ]
    return rng.choice(kinds)


def presence(rng: Random, n: int) -> Availability:
    """Owners always online, by chance at each tick, in turn, or but for outages of groups."""
    shares = tuple(rng.choice((0.0, 0.3, 0.9, 1.0)) for _ in range(n))
    kinds: list[Availability] = [
        Always(),
        Bernoulli(probability=rng.choice([0.5, shares])),
        OnOff(on=law(rng), off=law(rng)),
        Outages(groups=groups(rng, n), gap=law(rng), length=law(rng)),
    ]
    return rng.choice(kinds)


def groups(rng: Random, n: int) -> tuple[tuple[int, ...], ...]:
    """Groups that may have members in common, some more than there are owners."""
    return tuple(
        tuple(sorted(rng.sample(range(1, n + 1), rng.randint(1, n))))
        for _ in range(rng.choice((1, 2, 5)))
    )


def loss(rng: Random, n: int) -> Any:
    """No loss, a chance of it for all or for each, or bursts."""
    bursts = GilbertElliott(
        to_bad=rng.choice((0.2, 1.0)), to_good=0.5, loss_good=rng.choice((0.0, 0.1)), loss_bad=0.9
    )
    return rng.choice([0.0, 0.0, 0.3, tuple(rng.choice((0.0, 0.5)) for _ in range(n)), bursts])


def channel(rng: Random, n: int) -> Ideal:
    """A channel that loses nothing, or messages of any kind."""
    if rng.random() < 0.5:
        return Ideal()
    return Ideal(
        loss=loss(rng, n),
        loss_query=loss(rng, n),
        loss_request=loss(rng, n),
        retransmissions=rng.choice((0, 1, 5)),
        resend=rng.choice(("same", "fresh")),
    )


def topology(rng: Random, n: int) -> Topology | None:
    """No distances, or a link of each owner's own, or routes over a graph."""
    if rng.random() < 0.7:
        return None
    each = Star(latency=tuple(rng.choice((0.0, 0.25, 0.5)) for _ in range(n)))
    return rng.choice([each, Star(), Waxman(alpha=1.0, beta=1.0, latency_per_distance=0.5)])


def locked_network(rng: Random, *, short: bool = False) -> Network:
    """Draw one; most are small, so that budgets and horizons matter, and short ones smaller."""
    n = rng.choice([1, 2, 3, 5] if short else [1, 2, 3, 5, 8, 30])
    busy = rng.choice(["refuse", "queue", "retry"])
    rate_bytes = rng.choice([None, 500.0, tuple(rng.uniform(100, 1000) for _ in range(n))])
    if busy != "retry" and rng.random() < 0.2:
        rates = rng.choice([rng.choice(GRID), tuple(rng.uniform(0.2, 5) for _ in range(n))])
        clocked: Clock = PoissonClock(rate=rates, population="superposed")
        online: Availability = Always()
    else:
        clocked, online = clock(rng, n), presence(rng, n)
    patience = rng.choice([None, None, 0.25, rng.uniform(0.01, 3)])
    offline = "finish" if patience is None else rng.choice(("finish", "vanish"))
    in_step = not clocked.mixing and online.comes_and_goes  # may be offline at every tick
    ends = [2.0, 20.0] if in_step else [None, None, 2.0, 20.0]
    until = rng.choice([0.5, 2.0] if short else ends)
    return Network(
        answers_allowed=[rng.choice([1, 3, 20, 1000]) for _ in range(n)],
        answers_per_update=rng.choice([1, 1, 2, 7]),
        updates=rng.choice([1, 10] if short else [1, 10, 100]),
        until=until,
        owner_numbers=rng.choice([None, tuple(range(3, 3 + n))]),
        numbers=rng.choice([1, 10]),
        clock=clocked,
        availability=online,
        latency=Latency(
            request=stage(rng, n), query=stage(rng, n), answer=stage(rng, n), rate_bytes=rate_bytes
        ),
        compute=stage(rng, n),
        channel=channel(rng, n),
        topology=None if clocked.superposed else topology(rng, n),
        protocol=Request(
            busy=busy,
            retry=law(rng) if busy == "retry" else None,
            timeout=patience,
            offline=offline,
        ),
    )
