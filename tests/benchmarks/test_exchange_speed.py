"""Whole exchanges and very many owners against bare loops."""

import resource
from functools import partial
from itertools import count

import pytest

from asyncdp_sim.core.kernel import Kernel, Priority
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.availability import OnOff
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.trace import EventKind, EventRecorder
from tests.benchmarks.loops import heap_clocks, simpy_clocks
from tests.benchmarks.ratio import best_times, told

pytestmark = pytest.mark.benchmark
N_OWNERS, UPDATES = 100, 60_000
TICKS, MANY = 4_000_000, 1_000_000


def simulated(network, **how):
    return simulate(network, Streams(1).within("replicate", 1), **how)


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


def crowd(n_owners, ticks, **more):
    """Return a network of very many owners behind one clock, which runs for so many ticks."""
    return Network(
        answers_allowed=(ticks,) * n_owners,
        updates=2**31 - 1,
        until=ticks / n_owners,
        clock=PoissonClock(population="superposed"),
        compute=Exponential(mean=1e-4),
        **more,
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
        simulated(network, events=True)
    return next(counted)


@pytest.mark.parametrize("mean", [0.003, 0.1])
def test_exchanges_with_events_recorded(mean, monkeypatch, record_property):
    network, ticks = exchanges(mean), 200_000
    events = kernel_events(network, monkeypatch)
    loops = [partial(loop, N_OWNERS, ticks) for loop in (simpy_clocks, heap_clocks)]
    run, simpy, heap = best_times(partial(simulated, network, events=True), *loops, rounds=7)
    sizes = {"N": N_OWNERS, "mean": mean}
    told(record_property, "exchanges, heap", 1e6 * run / events, 1e6 * heap / ticks, **sizes)
    told(record_property, "exchanges, SimPy", 1e6 * run / events, 1e6 * simpy / ticks, **sizes)


def test_a_million_owners_behind_one_clock(record_property):
    network = crowd(MANY, TICKS)
    loop, run = best_times(partial(simpy_clocks, 1, MANY), partial(simulated, network), rounds=3)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    told(record_property, "a million owners", 1e6 * run / TICKS, 1e6 * loop / MANY)
    assert memory <= 1.0


def test_a_hundred_thousand_owners_that_come_and_go(record_property):
    comings = OnOff(on=Exponential(mean=2.0), off=Exponential(mean=1.0))
    network = crowd(MANY // 10, MANY, availability=comings)
    loop, run = best_times(partial(simpy_clocks, 1, MANY), partial(simulated, network), rounds=3)
    told(record_property, "owners that come and go", 1e6 * run / MANY, 1e6 * loop / MANY)


# The network against bare loops with one clock per owner, N = 100.

N_OWNERS, TICKS = 100, 200_000


def recorded_ticks():
    kernel = Kernel()
    recorder = EventRecorder(N_OWNERS, kernel)

    def clock(owner, ticks):
        for tick in ticks:
            yield tick, Priority.CLOCK_TICK
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


@pytest.mark.parametrize(("work", "name"), [(recorded_ticks, "ticks"), (zero_service, "updates")])
def test_against_bare_loops(work, name, record_property):
    loops = [partial(loop, N_OWNERS, TICKS) for loop in (simpy_clocks, heap_clocks)]
    ours, simpy, heap = (1e6 * each / TICKS for each in best_times(work, *loops))
    told(record_property, f"{name}, heap", ours, heap, N=N_OWNERS)
    told(record_property, f"{name}, SimPy", ours, simpy, N=N_OWNERS)
