"""Merged clocks give the bytes that the event loop gives, or leave it to that."""

from random import Random

import pytest

from asyncdp_sim.network import Latency, Network, compiled, simulate, simulate_each
from asyncdp_sim.network.availability import Bernoulli
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import Clock, DeterministicClock, GammaClock, PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.one_clock import merged
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.network.topology import Star
from asyncdp_sim.provenance import loop
from asyncdp_sim.trace import Ending
from tests.fresh import Record, fresh_seed
from tests.properties.test_compiled_loop import scope, told

ENDINGS = {Ending.updates, Ending.spent, Ending.horizon}


def network(rng: Random) -> Network:
    """A network of exchanges that take no time."""
    n = rng.choice((1, 2, 3, 5, 40, 90))
    rates = rng.choice([1.0, 1e4, tuple(rng.uniform(0.01, 5) for _ in range(n))])
    clocks: list[Clock] = [
        PoissonClock(rate=rates),
        GammaClock(rate=rates, cv=rng.choice((0.3, 1.0, 20.0))),
    ]
    budget = rng.choice((1, 7, 10**6))
    return Network(
        answers_allowed=tuple(rng.choice((1, 3, 50, budget)) for _ in range(n)),
        updates=rng.choice((1, 5, 100, 600)),
        clock=rng.choice(clocks),
        protocol=Request(busy=rng.choice(("refuse", "queue"))),
        answers_per_update=rng.choice((1, 1, 3)),
        until=rng.choice((None, None, 0.5, 20.0)),
    )


def compared(first: int, count: int) -> set[Ending]:
    """Compare networks by seed; return how their runs ended."""
    seen = set()
    for seed in range(first, first + count):
        some = network(Random(seed))
        assert merged.covers(some), seed
        quick = merged.merge(some, scope(seed))
        if quick is not None:  # gaps of 10⁵ ticks at rate 10⁴, which some share
            assert told(quick) == told(simulate(some, scope(seed))), seed
            seen.add(quick.ending)
    return seen


def test_a_hundred_networks() -> None:
    assert compared(0, 100) == ENDINGS


@pytest.mark.nightly
def test_three_thousand_networks(record_property: Record) -> None:
    record_property("tried", 3000)
    assert compared(fresh_seed(), 3000) == ENDINGS


PLAIN = Network(answers_allowed=(900, 900), updates=900, clock=PoissonClock())


def test_clocks_that_tick_at_one_instant_are_left_to_the_event_loop() -> None:
    """A million ticks each per unit, in units of 10⁹: of 9,000 of each, some are shared."""
    fast = {"answers_allowed": (9000, 9000), "updates": 18000, "clock": PoissonClock(rate=1e6)}
    crowded = PLAIN.model_copy(update=fast)
    assert merged.merge(crowded, scope(1)) is None
    [slow] = simulate_each(crowded, [scope(1)])
    assert told(slow) == told(simulate(crowded, scope(1)))
    assert slow.loop == "simpy"


def test_ticks_later_than_any_run_has_are_left_to_the_event_loop() -> None:
    late = PLAIN.model_copy(update={"clock": PoissonClock(rate=1e-9)})
    assert merged.merge(late, scope(1)) is None
    assert simulate_each(late, [scope(1)])[0].ending is Ending.horizon


@pytest.mark.parametrize(
    "other",
    [
        {"latency": Latency(request=Constant(value=0.0))},
        {"latency": Latency(query=Exponential(mean=0.1))},
        {"latency": Latency(answer=(Exponential(mean=0.1), Constant(value=0.0)))},
        {"latency": Latency(rate_bytes=1e9)},
        {"compute": Exponential(mean=0.1)},
        {"availability": Bernoulli(probability=0.5)},
        {"channel": Ideal(loss=0.1)},
        {"channel": Ideal(loss_request=0.1)},
        {"protocol": Request(timeout=1.0)},
        {"protocol": Push()},
        {"topology": Star()},
        {"clock": PoissonClock(population="superposed")},
        {"clock": DeterministicClock()},
        {"ties": "shuffled"},
        {"stops": True},
        {"clock": type("Late", (PoissonClock,), {})()},
    ],
    ids=str,
)
def test_what_takes_more_than_a_tick_is_left_to_others(other: object) -> None:
    assert merged.covers(PLAIN)
    assert not merged.covers(PLAIN.model_copy(update=other))


def test_what_ran_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged clocks keep no events; where the compiled loop pays, it is quicker for many owners."""
    [quick] = simulate_each(PLAIN, [scope(5)])
    [slow] = simulate_each(PLAIN, [scope(5)], events=True)
    assert (quick.loop, slow.loop, loop([quick, slow])) == ("merged", "simpy", "both")
    assert quick.events is None
    assert slow.events is not None
    monkeypatch.setattr(compiled, "worthwhile", lambda *_: True)
    monkeypatch.setattr(compiled, "play", lambda *_, **__: slow)
    assert simulate_each(PLAIN, [scope(6)]) == [slow]
