"""Owners' clocks: one for all, phases of the day, and rates near the resolution of time."""

import numpy as np
import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import LAST_TICK, TICKS_PER_UNIT, total_units
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Bernoulli, Diurnal, OnOff
from asyncdp_sim.network.channels import Aloha
from asyncdp_sim.network.clocks import DeterministicClock, GammaClock, PoissonClock, SaturatedClock
from asyncdp_sim.network.graphs import Complete
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Dispatch, Gossip, Push, Request, Rounds, Servers
from asyncdp_sim.network.spec import REFUSED, meeting
from asyncdp_sim.trace import EventKind

# One clock for all owners: what is counted in bulk is what would have been simulated.

ON_OFF = OnOff(on=Exponential(mean=2.0), off=Exponential(mean=1.0))
SERVICE = Exponential(mean=0.05)


def crowd(**parts):
    rate = parts.pop("rate", 1.0)
    clock = PoissonClock(rate=rate, population="superposed")
    given = {"answers_allowed": (400,) * 10, "updates": 300, "compute": SERVICE, "clock": clock}
    return Network(**{**given, **parts})


def trace(network, *, events, seed=1):
    return simulate(network, Streams(seed).within("replicate", 1), events=events)


CASES = {
    "plain": {},
    "unequal rates": {"rate": tuple(1.0 + i for i in range(10))},
    "a horizon inside a lock": {"until": 20.0},
    "budgets that run out": {"answers_allowed": (5,) * 10},
    "on and off": {"availability": ON_OFF},
    "bernoulli": {"availability": Bernoulli(probability=0.5)},
    "by time of day": {"availability": Diurnal(period=3.0, low=0.2, high=0.9)},
    "no service": {"compute": Constant(value=0.0)},
    "queries take time": {"latency": Latency(query=SERVICE)},
}


@pytest.mark.parametrize("parts", CASES.values(), ids=CASES.keys())
def test_requests_counted_in_bulk_are_those_simulated_one_by_one(parts):
    bulk, each = (trace(crowd(**parts), events=events) for events in (False, True))
    np.testing.assert_array_equal(bulk.exchanges, each.exchanges)
    np.testing.assert_array_equal(bulk.owners, each.owners)
    assert (bulk.end_tick, bulk.ending) == (each.end_tick, each.ending)
    assert len(bulk.updates) > 20


def test_a_served_owner_drops_its_own_ticks():
    network = crowd(answers_allowed=(400,) * 2, compute=Exponential(mean=2.0), updates=100)
    seen = trace(network, events=True).events
    dropped = np.count_nonzero(seen["kind"] == EventKind.clock_dropped)
    assert dropped > 50
    assert trace(network, events=False).owners["attempts"].sum() == np.count_nonzero(
        seen["kind"] == EventKind.request_sent
    )


@pytest.mark.parametrize("protocol", [Push(), Push(own_tick="overlap"), Request(busy="queue")])
@pytest.mark.parametrize("channel", [None, Aloha(airtime=0.02)])
def test_every_protocol_that_acts_on_ticks_runs(protocol, channel):
    network = crowd(protocol=protocol, **{} if channel is None else {"channel": channel})
    both = [trace(network, events=events) for events in (False, True)]
    np.testing.assert_array_equal(both[0].exchanges, both[1].exchanges)
    assert len(both[0].updates) == 300


def test_an_owner_without_a_tick_has_no_share_online():
    network = crowd(answers_allowed=(9,) * 1000, updates=5, availability=ON_OFF)
    owners = trace(network, events=False).owners
    met = owners["attempts"] > 0
    assert np.isnan(owners["online"][~met]).any()
    assert (owners["online"][met] > 0).all()


# Phases of owners' days: each its own, for clocks of their own and for one of all.

PHASES = (0.0, 0.5, 0.25)
PERIOD = 10.0


@pytest.mark.parametrize("population", ["per-owner", "superposed"])
def test_each_owner_is_online_in_its_own_half_of_the_day(population):
    """A mutant lived in which all owners had the phase of the first under one clock.

    Updates of owner i have the density (1 + sin 2π(t/period + φ_i))/period: the mean of
    e^{−2πi t/period} is −i e^{2πi φ_i}/2, with a standard error of √(3/4/n) or less.
    """
    network = Network(
        answers_allowed=[10**6] * 3,
        updates=6000,
        clock=PoissonClock(rate=10.0, population=population),
        availability=Diurnal(period=PERIOD, low=0.0, high=1.0, phase=PHASES),
    )
    trace = simulate(network, Streams(1).within("replicate", 1))
    for owner, phase in enumerate(PHASES, start=1):
        turns = trace.updates["tick"][trace.updates["owner"] == owner] / 1e9 / PERIOD
        whole = turns < np.floor(turns.max())
        found = np.mean(np.exp(-2j * np.pi * turns[whole]))
        expected = -0.5j * np.exp(2j * np.pi * phase)
        assert abs(found - expected) < 5 * np.sqrt(0.75 / np.count_nonzero(whole))


# Rates near the resolution of time, and runs that last as long as it can count.

FASTEST = REFUSED * TICKS_PER_UNIT


def of(clock: object, **parts: object) -> Network:
    return Network(answers_allowed=(5,) * 4, updates=5, clock=clock, **parts)


@pytest.mark.parametrize(
    "clock",
    [
        lambda rate: PoissonClock(rate=rate / 4),
        lambda rate: PoissonClock(rate=rate / 4, population="superposed"),
        lambda rate: PoissonClock(rate=(rate - 3.0, 1.0, 1.0, 1.0)),
        lambda rate: GammaClock(rate=rate / 4, cv=2.0),
        lambda rate: DeterministicClock(rate=rate / 4),
    ],
)
def test_clocks_are_refused_by_the_sum_of_their_rates(clock):
    assert callable(clock)
    assert meeting(of(clock(FASTEST))) == pytest.approx(REFUSED)
    with pytest.raises(SpecError, match=r"clock.rate: given owners whose clocks tick 1.01e\+07"):
        of(clock(1.01 * FASTEST))


@pytest.mark.parametrize(
    "parts",
    [
        {"clock": SaturatedClock(), "protocol": Push()},
        {"clock": PoissonClock(), "protocol": Dispatch(tasks=4)},
    ],
)
def test_jobs_without_a_clock_too(parts):
    of(compute=Constant(value=4.01 / FASTEST), **parts)
    with pytest.raises(SpecError, match="compute: given owners whose jobs end"):
        of(compute=Constant(value=3.99 / FASTEST), **parts)


IN_PLACE_OF_CLOCKS = {
    "protocol.clock.rate: given edges whose clocks tick": lambda time: Gossip(
        graph=Complete(), clock=PoissonClock(rate=1 / time / 6)
    ),
    "compute: given rounds that end": lambda _: Rounds(),
    "compute: given steps that end": lambda _: Servers(count=2, read="client-averaged", window=2),
}


@pytest.mark.parametrize("said", IN_PLACE_OF_CLOCKS)
def test_what_goes_in_place_of_owners_clocks_too(said):
    def made(time):
        protocol = IN_PLACE_OF_CLOCKS[said](time)
        parts = {"answers_allowed": (20,) * 4, "updates": 5, "answers_per_update": None}
        return Network(**parts, protocol=protocol, compute=Constant(value=time))

    assert meeting(made(1.01 / FASTEST)) == pytest.approx(REFUSED / 1.01)
    with pytest.raises(SpecError, match=said):
        made(0.99 / FASTEST)


def test_edges_too_slow_for_the_longest_time_are_refused():
    slow = Gossip(graph=Complete(), clock=PoissonClock(rate=1e-10))
    parts = {"answers_allowed": (5,) * 4, "updates": 5, "answers_per_update": None}
    with pytest.raises(SpecError, match=r"protocol\.clock\.rate: given 1e-10"):
        Network(**parts, protocol=slow)


def test_a_run_as_long_as_time_is_counted():
    """The sum over replicates is beyond 64 bits, and so are sums of waits within one."""
    asked = ad.load("vary-availability").replace(
        clock={"kind": "poisson", "rate": 1e-8},
        run={"updates": 500, "until": 1e9, "replicates": 10},
    )
    summary = ad.run(asked).manifest["summary"]
    assert summary["simulated_time"] == pytest.approx(1e9)
    assert summary["updates"] > 0


def test_sums_of_times_beyond_64_bits():
    assert total_units(np.full(5, LAST_TICK)) == 5 * LAST_TICK / TICKS_PER_UNIT
    assert total_units(np.array([3, -5])) == -2e-9
    assert total_units(np.array([], dtype=np.int64)) == 0.0
