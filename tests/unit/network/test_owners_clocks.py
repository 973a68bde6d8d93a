"""Owners' clocks: one for all, phases of the day, and rates near the resolution of time."""

import numpy as np
import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.units import LAST_TICK, TICKS_PER_UNIT, total_units
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.spec import REFUSED, meeting
from asyncdp_sim.trace import EventKind
from tests.tables import table
from tests.traces import network, traced

# One clock for all owners: what is counted in bulk is what would have been simulated.

TABLE = table(__file__, "owners_clocks.toml")
CROWDS = TABLE["crowds"]


def crowd(owners=10, answers=400, **parts):
    clock = PoissonClock(rate=1.0, population="superposed")
    service = {"kind": "exponential", "mean": 0.05}
    return network(owners, answers, **{"updates": 300, "compute": service, "clock": clock, **parts})


@pytest.mark.parametrize("parts", CROWDS.values(), ids=CROWDS)
def test_requests_counted_in_bulk_are_those_simulated_one_by_one(parts):
    bulk, each = (traced(crowd(**parts), events=events) for events in (False, True))
    np.testing.assert_array_equal(bulk.exchanges, each.exchanges)
    np.testing.assert_array_equal(bulk.owners, each.owners)
    assert (bulk.end_tick, bulk.ending) == (each.end_tick, each.ending)
    assert len(bulk.updates) > 20
    assert len(bulk.updates) == 300 or "protocol" not in parts


def test_a_served_owner_drops_its_own_ticks():
    network = crowd(owners=2, compute={"kind": "exponential", "mean": 2.0}, updates=100)
    seen = traced(network).events
    assert np.count_nonzero(seen["kind"] == EventKind.clock_dropped) > 50
    sent = np.count_nonzero(seen["kind"] == EventKind.request_sent)
    assert traced(network, events=False).owners["attempts"].sum() == sent


def test_an_owner_without_a_tick_has_no_share_online():
    crowded = crowd(1000, 9, updates=5, **CROWDS["on and off"])
    owners = traced(crowded, events=False).owners
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
    clock = PoissonClock(rate=10.0, population=population)
    day = {"kind": "diurnal", "period": PERIOD, "low": 0.0, "high": 1.0, "phase": PHASES}
    trace = traced(network(3, 10**6, updates=6000, clock=clock, availability=day), events=False)
    for owner, phase in enumerate(PHASES, start=1):
        turns = trace.updates["tick"][trace.updates["owner"] == owner] / 1e9 / PERIOD
        whole = turns < np.floor(turns.max())
        found = np.mean(np.exp(-2j * np.pi * turns[whole]))
        expected = -0.5j * np.exp(2j * np.pi * phase)
        assert abs(found - expected) < 5 * np.sqrt(0.75 / np.count_nonzero(whole))


# Rates near the resolution of time, and runs that last as long as it can count.


@pytest.mark.parametrize("case", TABLE["too_often"], ids=lambda case: case["what"])
def test_clocks_are_refused_by_the_sum_of_their_rates(case):
    """So are jobs without a clock, and what goes in the place of owners' clocks."""
    often = network(4, 20, updates=5, **case["allowed"])
    assert "meets" not in case or meeting(often) == pytest.approx(case["meets"] * REFUSED)
    with pytest.raises(SpecError, match=case["said"]):
        network(4, 20, updates=5, **case["refused"])


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
