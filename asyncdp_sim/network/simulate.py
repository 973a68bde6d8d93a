"""One replicate of the network, event by event."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import LAST_TICK, to_ticks
from asyncdp_sim.network.build import Builder, block
from asyncdp_sim.network.exchanges import Learning
from asyncdp_sim.network.learner import Learner, watch
from asyncdp_sim.network.owner import Owner, live, one_answer_per_sum, saturate
from asyncdp_sim.network.spec import Network
from asyncdp_sim.trace import Ending, EventRecorder, OccupationRecorder, Recorder, Trace

if TYPE_CHECKING:
    from asyncdp_sim.network.user_processes import Process


def simulate(
    network: Network,
    streams: Scope,
    *,
    learning: Learning | None = None,
    events: bool = False,
    processes: "Sequence[Process]" = (),
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
        Trains a model while the network runs. It does not change the trace, unless the network
        lets it: the run may end where the model is as it was wanted.
    events : bool
        Whether to keep every event, not the tables alone.
    processes : sequence of callable, optional
        Custom SimPy processes that join: generator functions of the environment, which
        counts ticks, and of the network; see :class:`~asyncdp_sim.network.user_processes.Joined`.

    Raises
    ------
    ValueError
        If the network's timing depends on a model and nobody trains one; or if processes join a
        network whose owners are made when their clock ticks (a superposed one).
    InvariantError
        If the trace contradicts itself (a bug in the simulator).
    """
    if learning is None and network.stops:
        raise ValueError(
            "when the run ends depends on the model: such a network needs a learning object"
        )
    if len(processes) > 0 and network.superposed:
        raise ValueError("processes join networks whose owners have clocks of their own")
    streams = streams.of_owners(network.owner_numbers)
    ties = streams.generator("ties") if network.ties == "shuffled" else None
    kernel, protocol = Kernel(ties), network.protocol
    recorder = _recorder(network, kernel, events=events)
    learner = Learner(
        kernel,
        recorder,
        network.updates,
        network.answers_allowed,
        network.answers_per_update,
        answers_once=network.answers_once,
        apart=network.apart,
        aggregation=network.aggregation,
        learning=learning,
        stops=network.stops,
    )
    medium = network.channel.open(kernel, streams.within("channel"), network.n_owners)
    notes = None
    if isinstance(recorder, OccupationRecorder):
        from asyncdp_sim.network.occupancy import OccupationNotes

        notes = OccupationNotes(kernel, recorder.spells, network)
    builder = Builder(network, learner, medium, streams, shared=network.superposed, notes=notes)
    crowd = None
    if network.superposed:
        from asyncdp_sim.network.superposed import Crowd

        crowd = Crowd(network, learner, builder, streams)
        kernel.start(crowd.run())
    else:
        owners = _start_owners(network, learner, builder, streams)
        if len(processes) > 0:
            from asyncdp_sim.network.user_processes import Joined

            joined = Joined(owners, learner, medium, streams.within("joined"))
            for process in processes:
                kernel.process(process(kernel, joined))
    kernel.start(watch(learner, partial(network.protocol.stall_period, network)))
    horizon = LAST_TICK if network.until is None else to_ticks(network.until)
    stopped = kernel.run_before(horizon)
    end_tick = kernel.tick if stopped else horizon
    if crowd is not None:
        crowd.catch_up(end_tick)
    learner.close(end_tick)
    return recorder.trace(
        end_tick,
        learner.ending if stopped else Ending.horizon,
        on_air_ticks=0 if medium is None else medium.on_air_ticks(end_tick),
        one_on_one=protocol.one_on_one,
        one_each=protocol.one_each,
        answers_per_update=network.answers_per_update,
        answers_once=network.answers_once,
        apart=network.apart,
    )


def _recorder(network: Network, kernel: Kernel, *, events: bool) -> Recorder:
    if network.occupation:
        return OccupationRecorder(network.n_owners, kernel, events=events)
    return (EventRecorder if events else Recorder)(network.n_owners, kernel)


def _start_owners(
    network: Network, learner: Learner, builder: Builder, streams: Scope
) -> list[Owner]:
    """Start a process for every owner, and what brings owners on and off line."""
    kernel, protocol = learner.kernel, network.protocol
    owners = [builder.owner(number) for number in range(1, network.n_owners + 1)]
    if network.topology is not None:
        network.topology.start_processes(owners, learner, streams.within("topology"))
    network.availability.start_processes(owners, learner, streams)
    protocol.start_processes(owners, learner, streams)
    attempt = protocol.attempt
    if learner.sums is not None:
        learner.sums.trips = [builder.opening(owner) for owner in owners]
        attempt = one_answer_per_sum(attempt)
    size = block(network.n_owners)
    for owner in owners if protocol.clocked else ():
        source = partial(streams.generator, "owner", owner.number, "clock")
        ticks = network.clock.ticks(owner.number - 1, source, size)
        if ticks is None:
            kernel.start(saturate(owner, learner, attempt))
        else:
            kernel.start(live(owner, ticks, kernel, learner, attempt))
    return owners
