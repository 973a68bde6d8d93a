"""Very many owners with Poisson clocks, simulated as one clock: equal in law, in far less memory.

Superposed, independent Poisson clocks tick at rate Λ = Σλ_i, and each tick is owner i's with
probability λ_i/Λ, independently of all else. An owner is an object only while it acts; whether it
is online is worked out when its clock ticks, from what was known of it last.
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from itertools import accumulate

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.kernel import AT_TICK, Activity, Signal
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import LAST_TICK, block_to_ticks
from asyncdp_sim.network.build import Builder
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.spec import Network
from asyncdp_sim.trace.vocabulary import BUSY, CLOCK_DROPPED, CLOCK_TICK, OFFLINE

_BLOCK = 4096
Ticks = Ints
Owners = Ints


def crowd_ticks(network: Network, crowd: Scope) -> Iterator[tuple[Ticks, Owners]]:
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
        self._ticks: list[int] = []
        self._numbers: list[int] = []
        self._drawn: Owners = np.empty(0, dtype=np.int64)
        self._draw()
        source = partial(self._streams.generator, "availability")
        lazily = network.availability.lazily
        self._online = lazily(network.n_owners, source, learner.recorder)
        refuses = builder.plain and network.protocol.refuses_at_once(network)
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

    def _refused(self, start: int, stop: int) -> Owners:
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
