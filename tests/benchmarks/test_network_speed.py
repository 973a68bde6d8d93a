"""The network against a bare SimPy loop with one process per owner, N = 100."""

from functools import partial

import numpy as np
import pytest
import simpy

from asyncdp_sim.kernel import Kernel, Priority
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.streams import Streams
from asyncdp_sim.trace import EventKind, EventRecorder
from tests.benchmarks.ratio import best_times

pytestmark = pytest.mark.benchmark
N_OWNERS, TICKS = 100, 200_000


def bare_simpy():
    """Wait for exponential gaps and do nothing else; 4096 numbers drawn at a time."""

    def clock(environment, generator):
        while True:
            for gap in generator.exponential(size=4096).tolist():
                yield environment.timeout(gap)

    environment = simpy.Environment()
    for owner in range(N_OWNERS):
        environment.process(clock(environment, np.random.default_rng(owner)))
    environment.run(until=TICKS / N_OWNERS)


def recorded_ticks():
    kernel = Kernel()
    recorder = EventRecorder(N_OWNERS, kernel)

    def clock(owner, ticks):
        for tick in ticks:
            yield kernel.at(tick, Priority.CLOCK_TICK)
            recorder.event(EventKind.clock_tick, owner)

    streams = Streams(1)
    for owner in range(1, N_OWNERS + 1):
        source = partial(streams.generator, "owner", owner, "clock")
        kernel.start(clock(owner, PoissonClock().ticks(owner - 1, source, 512)))
    kernel.run_before(TICKS // N_OWNERS * 10**9)
    return recorder.event_table()


def zero_service():
    network = Network(answers_allowed=(TICKS,) * N_OWNERS, updates=TICKS)
    return simulate(network, Streams(1).within("replicate", 1))


def test_clock_ticks_recorded(record_property):
    bare, ours = best_times(bare_simpy, recorded_ticks)
    record_property("ratio", bare / ours)
    print(f"clock ticks recorded: {bare / ours:.2f} of bare SimPy ({TICKS / bare:,.0f} ticks/s)")
    assert bare / ours >= 0.6


def test_zero_service_request_protocol(record_property):
    bare, ours = best_times(bare_simpy, zero_service)
    record_property("ratio", bare / ours)
    print(f"zero-service updates recorded: {bare / ours:.2f} of bare SimPy")
    assert bare / ours >= 0.25
