"""Simulates a network, event by event."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from simpy.events import Event

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.kernel import AT_TICK, Activity, Kernel, OfEvents, Signal
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import LAST_TICK, block_to_ticks, to_ticks
from asyncdp_sim.network.build import Builder, OccupationNotes, block
from asyncdp_sim.network.channels.kind import Medium
from asyncdp_sim.network.learner import ATTEMPTS, Learner, Learning, watch
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.spec import Network
from asyncdp_sim.trace import Ending, EventRecorder, OccupationRecorder, Recorder, Trace
from asyncdp_sim.trace.vocabulary import BUSY, CLOCK_DROPPED, CLOCK_TICK, OFFLINE


def live(
    owner: Owner,
    ticks: Iterator[int],
    kernel: Kernel,
    learner: Learner,
    attempt: Callable[[Owner, Learner], Activity],
) -> Activity:
    """Run an owner's clock: each tick that finds the owner free begins an attempt.

    The owner falls silent when its budget is spent or its clock has no further tick.
    """
    number, keeps_events = owner.number, learner.keeps_events
    event, active, start = learner.event, learner.active, kernel.start
    for tick in ticks:
        yield tick, AT_TICK
        if number not in active:
            return
        if owner.offline_reasons > 0 or (
            owner.online_at_tick is not None and not owner.online_at_tick(tick)
        ):
            event(CLOCK_DROPPED, number, detail=OFFLINE)
        elif owner.busy:
            event(CLOCK_DROPPED, number, detail=BUSY)
        else:
            if keeps_events:
                event(CLOCK_TICK, number)
            start(attempt(owner, learner))
            if number not in active:
                return
    learner.leave(number)


def one_answer_per_sum(attempt: Callable[[Owner, Learner], Activity]) -> Callable[..., Activity]:
    """Return attempts of owners that begin no other while an answer of theirs is in a sum.

    So no sum has two answers of one owner.
    """

    def begun(owner: Owner, learner: Learner) -> Activity:
        yield from attempt(owner, learner)
        while learner.sums is not None and learner.sums.holds(owner.number):
            owner.busy = True
            yield learner.sums.next_opening()
        owner.busy = False

    return begun


def saturate(
    owner: Owner, learner: Learner, attempt: Callable[[Owner, Learner], Activity]
) -> Activity:
    """Run an owner that begins its next job the moment the last one ends.

    A query that is lost may take no time: so many in a row that the run has stalled end it.
    """
    at_once = 0
    while owner.number in learner.active and not learner.done and at_once < ATTEMPTS:
        tick = learner.kernel.tick
        yield from attempt(owner, learner)
        at_once = at_once + 1 if learner.kernel.tick == tick else 0
    if at_once == ATTEMPTS:
        learner.stall()


_BLOCK = 4096


def crowd_ticks(network: Network, crowd: Scope) -> Iterator[tuple[Ints, Ints]]:
    """Yield ticks of superposed Poisson clocks, and their owners (from 1), many at a time.

    Gaps have rate Σλ_i; a tick is owner i's with chance λ_i/Σλ_j. They are drawn from the crowd's
    streams ``gaps`` and ``owners``.
    """
    gap_draws, owner_draws = crowd.generator("gaps"), crowd.generator("owners")
    rates, last = np.array(network.clock.rates(network.n_owners)), 0
    mean_gap, cumulated = 1 / float(rates.sum()), np.cumsum(rates)
    while True:
        gaps = block_to_ticks(gap_draws.exponential(mean_gap, _BLOCK))
        if last + gaps.sum(dtype=np.float64) < LAST_TICK:
            ticks = last + np.cumsum(gaps)
        else:  # no run sees what comes later
            late = accumulate(gaps.tolist(), initial=last)
            ticks = np.array([min(tick, LAST_TICK) for tick in late][1:])
        last = int(ticks[-1])
        if rates.min() == rates.max():
            yield ticks, owner_draws.integers(1, network.n_owners + 1, _BLOCK)
        else:
            at = owner_draws.random(_BLOCK) * cumulated[-1]
            yield ticks, np.searchsorted(cumulated, at, side="right") + 1


class Crowd:
    """All owners of a network, behind one clock.

    Parameters
    ----------
    network : Network
        With superposed clocks.
    learner : Learner
    builder : Builder
        Makes an owner when it acts.
    streams : Scope
        The replicate's streams; the crowd draws from ``("crowd", …)``, so its numbers are others
        than those of owners that have clocks of their own.
    """

    def __init__(
        self, network: Network, learner: Learner, builder: Builder, streams: Scope
    ) -> None:
        self._network = network
        self._learner = learner
        self._builder = builder
        self._streams = streams.within("crowd")
        self._acting: dict[int, Owner] = {}
        self._blocks = crowd_ticks(network, self._streams)
        self._at = 0
        self._draw()
        source = partial(self._streams.generator, "availability")
        lazily = network.availability.lazily
        self._online = lazily(network.n_owners, source, learner.recorder)
        refuses = builder.policy.sure and network.protocol.refuses_at_once(network)
        self._skips = refuses and not learner.recorder.keeps_events
        self._free: Signal | None = None
        self._served: frozenset[int] = frozenset()

    def run(self) -> Activity:
        """Tick; each tick that finds its owner free begins an attempt.

        While the learner is locked and refuses at once, and nobody asks for events, requests are
        not simulated but counted when it is free again: with the same numbers.
        """
        learner = self._learner
        while True:
            if self._skips and learner.lock.held:
                self._free, self._served = Signal(learner.kernel), frozenset(self._acting)
                yield self._free
                self.catch_up(learner.kernel.tick)
            tick, number = self._ticks[self._at], self._numbers[self._at]
            yield tick, AT_TICK
            self._at += 1
            if self._at == len(self._ticks):
                self._draw()
            if number in learner.active:
                self._tick(tick, number)

    def catch_up(self, end_tick: int) -> None:
        """Count the requests before ``end_tick`` that the locked learner has refused."""
        if self._free is None:
            return
        self._free = None
        while True:
            stop = bisect_left(self._ticks, end_tick, self._at)
            self._learner.count_rejected(self._refused(self._at, stop))
            self._at = stop
            if stop < len(self._ticks):
                return
            self._draw()

    def _refused(self, start: int, stop: int) -> Ints:
        """Return whose requests are refused, of the ticks of the block from ``start``."""
        active, online = self._learner.active, self._online
        owners = self._drawn[start:stop]
        if online is not None or len(active) < self._network.n_owners:
            asking = [number in active for number in self._numbers[start:stop]]
            if online is not None:
                ticks_of_owners = zip(
                    asking, self._numbers[start:stop], self._ticks[start:stop], strict=True
                )
                asking = [asks and online(number, tick) for asks, number, tick in ticks_of_owners]
            owners = owners[asking]
        for number in self._served:
            owners = owners[owners != number]
        return owners

    def _tick(self, tick: int, number: int) -> None:
        learner, owner = self._learner, self._acting.get(number)
        if self._online is not None and not self._online(number, tick):
            learner.event(CLOCK_DROPPED, number, detail=OFFLINE)
        elif owner is not None and owner.busy:
            learner.event(CLOCK_DROPPED, number, detail=BUSY)
        else:
            learner.event(CLOCK_TICK, number)
            owner = self._builder.owner(number) if owner is None else owner
            self._acting[number] = owner
            attempt = self._network.protocol.attempt(owner, learner)
            learner.kernel.start(self._visit(owner, attempt))

    def _visit(self, owner: Owner, attempt: Activity) -> Activity:
        """Let an owner act, and forget it when it has nothing under way."""
        yield from attempt
        if not owner.busy and owner.answers_reserved == 0:
            self._acting.pop(owner.number, None)
        if self._free is not None and not self._learner.lock.held:
            self._free.fire(self._learner.kernel.tick, AT_TICK)

    def _draw(self) -> None:
        """Draw the next block of clock ticks and their owners (from 1), from where it ended."""
        ticks, self._drawn = next(self._blocks)
        self._ticks = ticks.tolist()
        self._at = 0
        self._numbers = self._drawn.tolist()


@dataclass(eq=False)
class Joined:
    """The network of one replicate, for processes that join it.

    Parameters
    ----------
    owners : sequence of Owner
    learner : Learner
    medium : Medium, optional
        The shared channel, if there is one.
    streams : Scope
        The streams of all that joins.
    """

    _owners: Sequence[Owner]
    _learner: Learner
    _medium: Medium | None
    _streams: Scope
    _cuts: Counter[int] = field(default_factory=Counter)
    """By owner, those that are not restored yet."""

    @property
    def n_owners(self) -> int:
        """N."""
        return len(self._owners)

    def generator(self, name: str) -> np.random.Generator:
        """Return a stream of random numbers of this replicate; each name is handed out once."""
        return self._streams.generator(name)

    def hold(self, ticks: int) -> OfEvents[None]:
        """Transmit on the shared channel, on all of them if there are several, for so long.

        It does not listen before. Transmissions that overlap it are destroyed, and stations that
        listen detect it. Where collisions are detected it stops as all others do.

        Raises
        ------
        ValueError
            If owners share no channel.
        """
        if self._medium is None:
            raise ValueError("owners share no channel here: there is nothing to hold")
        *other_airs, air = self._medium.airs
        for other_air in other_airs:
            self._learner.kernel.start(other_air.jam(ticks))
        yield from air.jam(ticks)

    def cut(self, owners: Iterable[int] | None = None) -> None:
        """Take owners (from 1; all of them by default) off line."""
        for owner in self._named(owners):
            self._cuts[owner.number] += 1
            owner.set_online(False, self._learner)

    def restore(self, owners: Iterable[int] | None = None) -> None:
        """Bring owners that were cut off on line again, unless something else keeps them off."""
        for owner in self._named(owners):
            if self._cuts[owner.number] > 0:
                self._cuts[owner.number] -= 1
                owner.set_online(True, self._learner)

    def _named(self, owners: Iterable[int] | None) -> list[Owner]:
        return [*self._owners] if owners is None else [self._owners[i - 1] for i in owners]


Process = Callable[[Kernel, Joined], Generator[Event, Any, Any]]
"""A generator function of the environment and the network, which yields events, as in SimPy."""


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
        counts ticks, and of the network; see :class:`~asyncdp_sim.network.simulate.Joined`.

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
    recorder, notes = (EventRecorder if events else Recorder)(network.n_owners, kernel), None
    if network.occupation:
        recorder = OccupationRecorder(network.n_owners, kernel, events=events)
        notes = OccupationNotes(kernel, recorder.spells, network)
    learner = Learner(kernel, recorder, network, learning)
    medium = network.channel.open(kernel, streams.within("channel"), network.n_owners)
    builder = Builder(network, learner, medium, streams, network.superposed, notes)
    crowd = None
    if network.superposed:
        crowd = Crowd(network, learner, builder, streams)
        kernel.start(crowd.run())
    else:
        owners = _start_owners(network, learner, builder, streams)
        if len(processes) > 0:
            joined = Joined(owners, learner, medium, streams.within("joined"))
            for process in processes:
                kernel.process(process(kernel, joined))
    if protocol.may_idle:
        kernel.start(watch(learner, partial(protocol.stall_period, network)))
    horizon = LAST_TICK if network.until is None else to_ticks(network.until)
    with np.errstate(over="ignore", invalid="ignore"):  # a model may diverge meanwhile
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


def _start_owners(
    network: Network, learner: Learner, builder: Builder, streams: Scope
) -> list[Owner]:
    """Start a process for every owner, and what brings owners on and off line."""
    kernel, protocol = learner.kernel, network.protocol
    owners = [builder.owner(number) for number in range(1, network.n_owners + 1)]
    if network.topology is not None:
        network.topology.start_processes(owners, learner, streams.within("topology"))
    network.availability.start_processes(owners, learner, streams)
    attempt = protocol.attempt
    if learner.sums is not None:
        learner.sums.owners = owners
        learner.sums.trips = {
            step: [builder.trips(owner, step) for owner in owners] for step in network.trip_bytes
        }
        attempt = one_answer_per_sum(attempt)
    protocol.start_processes(owners, learner, streams)
    size = block(network.n_owners)
    for owner in owners if protocol.clocked else ():
        source = partial(streams.generator, "owner", owner.number, "clock")
        ticks = network.clock.ticks(owner.number - 1, source, size)
        if ticks is None:
            kernel.start(saturate(owner, learner, attempt))
        else:
            kernel.start(live(owner, ticks, kernel, learner, attempt))
    return owners
