"""Oracle 9: owners that send in turn never collide, though their slots touch."""

import numpy as np
import pytest

from asyncdp_sim.core.units import to_ticks, to_units
from asyncdp_sim.network.channels import Tdma
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Uniform
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.theory.formulas.channels import tdma
from asyncdp_sim.trace import ExchangeOutcome
from tests.tables import table

from .networks import lasting, network, runs
from .zscores import fresh_seeds, require, score, seen, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("collisions, rate of answers, delay until the owner's slot"),
]

RUNS = 40
SLOTS = 200_000
CASES = table(__file__, "tdma.toml")


def back_to_back(channel, slots, n_owners=3):
    """Return the trace of owners that fill every slot of 1/8 unit."""
    net = network(n_owners, slots, clock=SaturatedClock(), channel=channel, protocol=Push())
    return next(runs(net, 1, 1))


def test_slots_back_to_back_without_a_collision():
    trace = back_to_back(Tdma(slot=0.125, airtime=0.125), SLOTS)
    assert len(trace.updates) == SLOTS
    assert not np.any(trace.exchanges["outcome"] == ExchangeOutcome.collided)
    assert np.array_equal(trace.updates["tick"], to_ticks(0.125) * np.arange(1, SLOTS + 1))
    assert np.array_equal(trace.updates["owner"], 1 + np.arange(SLOTS) % 3)
    assert trace.on_air_ticks == trace.end_tick


def measure(name, *, seed=None, count=RUNS, wrong=1.0):
    """Return scores of the rate of answers or, of owners always at work, of the access delay.

    Those compute for a time that is uniform on a frame: an answer is ready at a uniform time.
    """
    n_owners, slot, airtime, length, usual = CASES[name]["numbers"]
    rate = CASES[name].get("rate")
    theory = tdma(n_owners, slot, airtime, np.inf if rate is None else rate)
    frame, warm = n_owners * slot, 20.0
    parts = {"clock": SaturatedClock(), "compute": Uniform(low=0.0, high=frame)}
    if rate is not None:
        parts = {"clock": PoissonClock(rate=rate * wrong)}
    parts |= {"channel": Tdma(slot=slot, airtime=airtime), "protocol": Push()}
    net = lasting(n_owners, warm + length + 5 * frame, **parts)
    rows = []
    for trace in runs(net, usual if seed is None else seed, count):
        answers = trace.exchanges[trace.exchanges["outcome"] == ExchangeOutcome.applied]
        assert not np.any(trace.exchanges["outcome"] == ExchangeOutcome.collided)
        start = to_units(answers["release_tick"])
        within = (start >= warm) & (start < warm + length)
        asked = to_units(answers["read_tick"])
        spent = (start - asked)[within & (asked >= warm)]
        rows.append([within.sum(), len(spent), (spent - frame / 2 - frame / 2).sum()])
    number, taken, delay = np.array(rows).T
    if rate is None:
        return [score("access delay", delay, 0, frame / 2 * taken.mean())]
    return [score("answers", number, theory * length)]


sound = shared(measure)


@pytest.mark.parametrize("name", CASES)
def test_rates_and_access(name):
    require(sound(name), error=0.003)


@pytest.mark.no_evidence
def test_a_clock_off_by_two_percent_is_seen():
    assert seen(measure("rate, few", wrong=1.02, count=80)) > 5


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
