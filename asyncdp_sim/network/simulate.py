"""One replicate of the network, event by event."""

from functools import partial

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.learner import Learner, Learning
from asyncdp_sim.network.owner import Owner, live, saturate
from asyncdp_sim.network.spec import Network
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import EventRecorder, Recorder, Trace
from asyncdp_sim.units import LAST_TICK, to_ticks


def simulate(
    network: Network, streams: Scope, *, learning: Learning | None = None, events: bool = False
) -> Trace:
    """Simulate one replicate and return its trace.

    Parameters
    ----------
    network : Network
        What to simulate.
    streams : Scope
        The replicate's random streams. Each owner draws from streams of its own, one per
        purpose, so that adding owners leaves the others' clocks unchanged.
    learning : Learning, optional
        Trains a model while the network runs. It does not change the trace.
    events : bool
        Whether to keep every event, not the tables alone.

    Raises
    ------
    InvariantError
        If the trace contradicts itself (a bug in the simulator).
    """
    ties = streams.generator("ties") if network.ties == "shuffled" else None
    kernel = Kernel(ties)
    recorder = (EventRecorder if events else Recorder)(network.n_owners, kernel)
    learner = Learner(kernel, recorder, network.updates, network.answers_allowed, learning)
    block = _block(network.n_owners)
    numbers = range(1, network.n_owners + 1)
    owners = [_owner(network, number, streams.within("owner", number), block) for number in numbers]
    network.availability.begin(owners, learner, streams)
    for owner in owners:
        source = partial(streams.generator, "owner", owner.number, "clock")
        ticks = network.clock.ticks(owner.number - 1, source, block)
        attempt = network.protocol.attempt
        if ticks is None:
            kernel.start(saturate(owner, learner, attempt))
        else:
            kernel.start(live(owner, ticks, kernel, learner, attempt))
    horizon = LAST_TICK if network.until is None else to_ticks(network.until)
    end_tick = kernel.now if kernel.run_before(horizon) else horizon
    learner.close(end_tick)
    return recorder.trace(end_tick, network.protocol.one_on_one)


def _owner(network: Network, number: int, own: Scope, block: int) -> Owner:
    latency = network.latency
    laws = {
        "request": latency.request,
        "query": latency.query,
        "compute": network.compute,
        "answer": latency.answer,
    }
    durations = {
        name: law.durations(partial(own.generator, name), block) for name, law in laws.items()
    }
    return Owner(number, **durations)


def _block(n_owners: int) -> int:
    """Return how many numbers an owner draws at a time: fewer, the more owners there are."""
    return min(512, max(16, 4096 // n_owners))
