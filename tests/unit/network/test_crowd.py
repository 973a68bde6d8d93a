"""One clock for all owners: what is counted in bulk is what would have been simulated."""

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import Bernoulli, Diurnal, OnOff
from asyncdp_sim.network.channels import Aloha
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.trace import EventKind

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
    parts = {} if channel is None else {"channel": channel}
    network = crowd(protocol=protocol, **parts)
    both = [trace(network, events=events) for events in (False, True)]
    np.testing.assert_array_equal(both[0].exchanges, both[1].exchanges)
    assert len(both[0].updates) == 300


def test_an_owner_without_a_tick_has_no_share_online():
    network = crowd(answers_allowed=(9,) * 1000, updates=5, availability=ON_OFF)
    owners = trace(network, events=False).owners
    met = owners["attempts"] > 0
    assert np.isnan(owners["online"][~met]).any()
    assert (owners["online"][met] > 0).all()
