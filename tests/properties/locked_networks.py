"""Networks of locked exchanges on an ideal channel, drawn by seed: those that are also compiled."""

from random import Random
from typing import Any

from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import Always, Availability, Bernoulli, OnOff
from asyncdp_sim.network.clocks import Clock, DeterministicClock, GammaClock, PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential, Gamma, Law, Lognormal, NoTime, Uniform
from asyncdp_sim.network.protocols import Request

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
    """Owners that are always online, online by chance at each tick, or online in turn."""
    shares = tuple(rng.choice((0.0, 0.3, 0.9, 1.0)) for _ in range(n))
    kinds: list[Availability] = [
        Always(),
        Bernoulli(probability=rng.choice([0.5, shares])),
        OnOff(on=law(rng), off=law(rng)),
    ]
    return rng.choice(kinds)


def locked_network(rng: Random) -> Network:
    """Draw one; most are small, so that budgets and horizons matter."""
    n = rng.choice([1, 2, 3, 5, 8, 30])
    busy = rng.choice(["refuse", "queue", "retry"])
    rate_bytes = rng.choice([None, 500.0, tuple(rng.uniform(100, 1000) for _ in range(n))])
    if busy != "retry" and rng.random() < 0.2:
        rates = rng.choice([rng.choice(GRID), tuple(rng.uniform(0.2, 5) for _ in range(n))])
        clocked: Clock = PoissonClock(rate=rates, population="superposed")
        online: Availability = Always()
    else:
        clocked, online = clock(rng, n), presence(rng, n)
    in_step = not clocked.mixing and online.comes_and_goes  # may be offline at every tick
    return Network(
        answers_allowed=[rng.choice([1, 3, 20, 1000]) for _ in range(n)],
        answers_per_update=rng.choice([1, 1, 2, 7]),
        updates=rng.choice([1, 10, 100]),
        until=rng.choice([2.0, 20.0]) if in_step else rng.choice([None, None, 2.0, 20.0]),
        owner_numbers=rng.choice([None, tuple(range(3, 3 + n))]),
        numbers=rng.choice([1, 10]),
        clock=clocked,
        availability=online,
        latency=Latency(
            request=stage(rng, n), query=stage(rng, n), answer=stage(rng, n), rate_bytes=rate_bytes
        ),
        compute=stage(rng, n),
        protocol=Request(busy=busy, retry=law(rng) if busy == "retry" else None),
    )
