"""The simulator has every event of a plain loop over a heap, and its tables, to the bit."""

from random import Random

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Always, Bernoulli
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.kind import GilbertElliott
from asyncdp_sim.network.clocks import DeterministicClock, GammaClock, PoissonClock
from asyncdp_sim.network.laws import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    NoTime,
    Uniform,
)
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.trace import Ending, EventKind
from tests.fresh import fresh_seed
from tests.ordering.locked_loop import LockedLoop

GRID = (0.25, 0.5, 1.0)
"""Rates and durations, many of which are multiples of each other: ties."""
EVENTS = {
    "clock_tick", "clock_dropped", "request_sent", "request_refused", "request_queued",
    "request_lost", "query_sent", "query_received", "query_lost", "answer_released",
    "answer_resent", "answer_lost", "answer_delivered", "update_applied", "budget_exhausted",
    "retry",
}  # fmt: skip


def law(rng):
    mean = rng.choice(GRID) * rng.choice((0.01, 0.1, 1.0))
    laws = [
        Constant(value=mean),
        Exponential(mean=mean),
        Lognormal(mean=mean, cv=rng.choice(GRID)),
        Gamma(mean=mean, cv=rng.choice((0.3, 1.0, 2.5))),
        Uniform(low=0.0, high=2 * mean),
        Empirical(values=(0.0, mean)),
    ]
    return rng.choice(laws)


def stage(rng, n):
    """No time, no time with an event of its own, a law for all owners, or one for each."""
    return rng.choice([NoTime(), Constant(value=0.0), law(rng), tuple(law(rng) for _ in range(n))])


def loss(rng, n):
    bursts = GilbertElliott(to_bad=0.2, to_good=0.5, loss_good=0.1, loss_bad=0.9)
    return rng.choice([0.0, 0.0, 0.3, tuple(rng.choice((0.0, 0.5)) for _ in range(n)), bursts])


def locked_network(rng):
    n = rng.choice((1, 2, 3, 5, 8, 30))
    rates = rng.choice([rng.choice(GRID), tuple(rng.uniform(0.2, 5) for _ in range(n))])
    clocks = [
        PoissonClock(rate=rates),
        GammaClock(rate=rates, cv=rng.choice((0.3, 1.0, 2.0))),
        DeterministicClock(rate=rng.choice((1.0, 4.0)), phase=rng.choice((0.0, 0.25))),
    ]
    shares = tuple(rng.choice((0.3, 0.9, 1.0)) for _ in range(n))
    busy = rng.choice(("refuse", "queue", "retry"))
    return Network(
        answers_allowed=[rng.choice((1, 3, 20, 1000)) for _ in range(n)],
        updates=rng.choice((1, 10, 100)),
        until=rng.choice((0.5, 2.0, 20.0)),
        clock=rng.choice(clocks),
        availability=rng.choice([Always(), Bernoulli(probability=shares)]),
        latency=Latency(request=stage(rng, n), query=stage(rng, n), answer=stage(rng, n)),
        compute=stage(rng, n),
        channel=Ideal(
            loss=loss(rng, n),
            loss_query=loss(rng, n),
            loss_request=loss(rng, n),
            retransmissions=rng.choice((0, 1, 5)),
        ),
        protocol=Request(busy=busy, retry=law(rng) if busy == "retry" else None),
    )


def compared(first: int, count: int) -> tuple[set[str], set[Ending]]:
    """Compare networks by seed; return what happened in them, and how they ended."""
    kinds, endings = set(), set()
    for seed in range(first, first + count):
        try:
            network = locked_network(Random(seed))
        except SpecError:  # its parts do not fit together
            continue
        trace = simulate(network, Streams(seed).within("r", 1), events=True)
        loop = LockedLoop(network, Streams(seed).within("r", 1))
        assert trace.events.tolist() == loop.events, seed
        assert trace.exchanges.tolist() == loop.exchanges, seed
        assert trace.update_ticks.tolist() == loop.update_ticks, seed
        assert (trace.end_tick, trace.ending) == (loop.now, loop.ending), seed
        kinds |= {EventKind(kind).name for kind in set(trace.events["kind"].tolist())}
        endings.add(trace.ending)
    return kinds, endings


@pytest.mark.long
def test_two_hundred_networks():
    assert compared(0, 200) == (EVENTS, {Ending.updates, Ending.spent, Ending.horizon})


@pytest.mark.nightly
def test_three_thousand_networks(record_property):
    record_property("tried", 3000)
    assert compared(fresh_seed(), 3000)[0] == EVENTS
