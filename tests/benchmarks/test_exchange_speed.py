"""Whole exchanges and very many owners against bare SimPy loops."""

import resource
from itertools import count
from math import inf

import numpy as np
import pytest
import simpy

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import OnOff
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.streams import Streams
from tests.benchmarks.ratio import best_times

pytestmark = pytest.mark.benchmark
N_OWNERS, UPDATES = 100, 60_000
EVENTS = 200_000


def bare(n_processes, events):
    """Return a loop of processes that wait for exponential gaps and do nothing else."""

    def clock(environment, generator):
        while True:
            for gap in generator.exponential(size=4096).tolist():
                yield environment.timeout(gap)

    def loop():
        environment = simpy.Environment()
        for owner in range(n_processes):
            environment.process(clock(environment, np.random.default_rng(owner)))
        environment.run(until=events / n_processes)

    return loop


def exchanges(mean):
    """Return a network whose exchange has four stages, of ``mean`` in all, and loses answers."""
    law = Exponential(mean=mean / 3)
    return Network(
        answers_allowed=(10 * UPDATES,) * N_OWNERS,
        updates=UPDATES,
        latency=Latency(query=law, answer=law),
        compute=law,
        channel=Ideal(loss=0.05, retransmissions=1),
    )


def kernel_events(network, monkeypatch):
    """Return how many events the kernel schedules for a run."""
    counted = count()
    made = Kernel.__init__

    def counting(self, ties=None):
        made(self, ties)
        self._eid = counted

    with monkeypatch.context() as patched:
        patched.setattr(Kernel, "__init__", counting)
        simulate(network, Streams(1).within("replicate", 1), events=True)
    return next(counted)


@pytest.mark.parametrize("mean", [0.003, 0.1])
def test_exchanges_with_events_recorded(mean, monkeypatch, record_property):
    network = exchanges(mean)
    events = kernel_events(network, monkeypatch)

    def ours():
        simulate(network, Streams(1).within("replicate", 1), events=True)

    loop, run = best_times(bare(N_OWNERS, EVENTS), ours)
    ratio = (events / run) / (EVENTS / loop)
    record_property("ratio", ratio)
    print(
        f"mean exchange {mean}: {ratio:.2f} of bare SimPy's events per second, "
        f"{UPDATES / run:,.0f} updates/s"
    )
    assert ratio >= 0.4


def test_a_million_owners_behind_one_clock(record_property):
    ticks, n_owners = 4_000_000, 1_000_000
    network = Network(
        answers_allowed=(ticks,) * n_owners,
        updates=2**31 - 1,
        until=ticks / n_owners,
        clock=PoissonClock(population="superposed"),
        compute=Exponential(mean=1e-4),
    )
    loop, run = best_times(
        bare(1, 1_000_000), lambda: simulate(network, Streams(1).within("replicate", 1))
    )
    ratio = (ticks / run) / (1_000_000 / loop)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    record_property("ratio", ratio)
    print(f"a million owners: {ratio:.2f} of one bare SimPy process, {memory:.2f} GB at most")
    assert ratio >= 0.6
    assert memory <= 1.0


def test_a_hundred_thousand_owners_that_come_and_go():
    network = Network(
        answers_allowed=(10**6,) * 100_000,
        updates=2**31 - 1,
        until=10.0,
        clock=PoissonClock(population="superposed"),
        availability=OnOff(on=Exponential(mean=2.0), off=Exponential(mean=1.0)),
        compute=Exponential(mean=1e-4),
    )
    loop, run = best_times(
        bare(1, 1_000_000), lambda: simulate(network, Streams(1).within("replicate", 1))
    )
    print(f"on/off owners behind one clock: {loop / run:.2f} of one bare SimPy process")
    assert loop / run < inf
