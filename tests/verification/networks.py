"""Networks for the checks, sound and broken."""

from collections import deque
from functools import cache
from zlib import crc32

import numpy as np

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.availability import Bernoulli, Diurnal, OnOff
from asyncdp_sim.network.channels.air import Air
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Gamma
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.trace import ExchangeOutcome


def network(n_owners, updates, *, answers_allowed=None, **parts):
    """Return a network whose budgets outlast the run unless told otherwise."""
    allowed = (updates,) * n_owners if answers_allowed is None else answers_allowed
    return Network(answers_allowed=allowed, updates=updates, **parts)


def own_seed(*words):
    """Return a seed that no other case has, so that no two share random numbers."""
    return crc32(repr(words).encode())


def runs(network, seed, count, *, events=False):
    """Yield the traces of independent replicates 1, 2, …"""
    streams = Streams(seed)
    for number in range(1, count + 1):
        yield simulate(network, streams.within("replicate", number), events=events)


def in_windows(trace, length, number):
    """Return how many updates fall into each of the first windows of a length, in time units."""
    place = trace.updates["tick"] // to_ticks(length)
    return np.bincount(place[place < number], minlength=number)


class FavouringClock(PoissonClock):
    """Planted bug: the first owner's clock runs 4 % fast."""

    def ticks(self, owner, source, block):
        clock = PoissonClock(rate=1.04 * self.rate) if owner == 0 else PoissonClock(rate=self.rate)
        return clock.ticks(owner, source, block)


class LosingClock(PoissonClock):
    """Planted bug: one tick in fifty is lost."""

    def ticks(self, owner, source, block):
        ticks = super().ticks(owner, source, block)
        return (tick for number, tick in enumerate(ticks) if number % 50 != 49)


class RegularClock(PoissonClock):
    """Planted bug: gaps with the right mean and a coefficient of variation of 0.8."""

    def ticks(self, owner, source, block):  # noqa: ARG002
        tick = 0
        for gap in Gamma(mean=1 / self.rate, cv=0.8).durations(source, block):
            tick += gap
            yield tick


class EarlyRelease(Request):
    """Planted bug: the lock is released when the answer leaves, not when it is used."""

    @property
    def one_on_one(self):
        """Keep the trace's own invariants from seeing it first."""
        return False

    def attempt(self, owner, learner):
        served = False
        for event in super().attempt(owner, learner):
            if served:
                learner.lock.held = False
            served = True
            yield event


class LeakyLock(Request):
    """Planted bug: every twentieth request of an owner is served, locked or not."""

    @property
    def one_on_one(self):
        """Keep the trace's own invariants from seeing it first."""
        return False

    def attempt(self, owner, learner):
        if learner.recorder.attempts[owner.number] % 20 == 19:
            learner.lock.held = False
        yield from super().attempt(owner, learner)


class UncountedRefusal(Request):
    """Planted bug: a refused request is counted as one that was served."""

    def attempt(self, owner, learner):
        if learner.lock.held:
            learner.recorder.refused[owner.number] -= 1
        yield from super().attempt(owner, learner)


class RestlessOwner(Request):
    """Planted bug: an owner's own ticks while it is served are requests, and refused."""

    def attempt(self, owner, learner):
        for event in super().attempt(owner, learner):
            owner.busy = False
            yield event


class LastInFirstOut(Request):
    """Planted bug: the learner turns to the request that came last."""

    def start_processes(self, owners, learner, streams):
        super().start_processes(owners, learner, streams)
        learner.lock.waiting = Stack()


class Stack(deque):
    """A queue whose first is its last."""

    def popleft(self):
        return self.pop()


class DrawnOnce(Bernoulli):
    """Planted bug: whether an owner listens is drawn once, not at each tick."""

    def start_processes(self, owners, learner, streams):
        super().start_processes(owners, learner, streams)
        for owner in owners:
            listens = owner.online_at_tick(0)
            owner.online_at_tick = lambda tick, listens=listens: listens  # noqa: ARG005


class ThinnedTwice(Bernoulli):
    """Planted bug: a tick has to pass two draws."""

    def start_processes(self, owners, learner, streams):
        super().start_processes(owners, learner, streams)
        for owner in owners:
            once = owner.online_at_tick
            owner.online_at_tick = lambda tick, once=once: once(tick) and once(tick)


class OnlineStart(OnOff):
    """Planted bug: every owner starts online."""

    def online_share(self, n_owners):
        return (1.0,) * n_owners


class WholeFirstPeriod(OnOff):
    """Planted bug: the first period is drawn like all others, and is whole."""

    def _begin(self, generator):
        online = bool(generator.random() < self.online_share(1)[0])
        return online, next((self.on if online else self.off).durations(lambda: generator, 1))


class ShareOfAnOrdinaryPeriod(OnOff):
    """Planted bug: what is left at time 0 is a uniform share, of a period not length-biased."""

    def _alternate(self, owner, learner, streams):
        laws = {name: _unbiased(getattr(self, name)) for name in ("on", "off")}
        return OnOff._alternate(self.model_copy(update=laws), owner, learner, streams)


@cache
def _unbiased(law):
    class Unbiased(type(law)):
        def biased(self, generator):
            return float(self.draw(generator, 1)[0])

    return Unbiased(**law.model_dump())


class PhaseIgnored(Diurnal):
    """Planted bug: all owners share one time of day."""

    def at(self, time, phase):  # noqa: ARG002
        return super().at(time, 0.0)


class SparingAir(Air):
    """Planted bug: of two that overlap, the one that was there first survives."""

    def send(self, ticks, power=1.0):
        before = [(other, other.clear) for other in self._on]
        sending = super().send(ticks, power)
        over = next(sending)
        for other, clear in before:
            other.clear = clear
        yield over
        return (yield from sending)


class LastOnly(Air):
    """Planted bug: only the last to overlap an answer disturbs it."""

    def send(self, ticks, power=1.0):
        sending = super().send(ticks, power)
        over = next(sending)
        for other in self._on[:-1]:
            other.interference = power
        yield over
        return (yield from sending)


def begun(trace, start, end):
    """Return the answers whose first transmission began in [start, end), and which survived.

    Times are in time units. Without losses and retransmissions an answer that is applied is one
    that survived.
    """
    rows, first = trace.exchanges, trace.exchanges["release_tick"]
    within = (first >= to_ticks(start)) & (first < to_ticks(end)) & (rows["transmissions"] > 0)
    sent = rows[within]
    assert not np.any(sent["outcome"] == ExchangeOutcome.in_flight), "the run ended too early"
    return sent, sent["outcome"] == ExchangeOutcome.applied
