"""The network against bare loops with one clock per owner, N = 100."""

from functools import partial

import pytest

from asyncdp_sim.core.kernel import Kernel, Priority
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.trace import EventKind, EventRecorder
from tests.benchmarks.loops import heap_clocks, simpy_clocks
from tests.benchmarks.ratio import best_times, report

pytestmark = pytest.mark.benchmark
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


@pytest.mark.parametrize(
    ("work", "what", "of_simpy", "of_heap"),
    [
        (recorded_ticks, "a clock tick, recorded, N = 100", 0.6, 0.2),
        (zero_service, "an update without service times, recorded, N = 100", 0.25, 0.1),
    ],
    ids=["ticks", "updates"],
)
def test_against_bare_loops(work, what, of_simpy, of_heap, record_property):
    loops = [partial(loop, N_OWNERS, TICKS) for loop in (simpy_clocks, heap_clocks)]
    ours, simpy, heap = (1e6 * each / TICKS for each in best_times(work, *loops))
    told = partial(report, record_property, what, ours=ours, unit="µs")
    told(baseline=heap, against="an event of a bare heap loop", at_least=of_heap)
    told(baseline=simpy, against="an event of bare SimPy", at_least=of_simpy)
