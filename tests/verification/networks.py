"""Networks for the checks, sound and broken."""

from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Gamma
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.streams import Streams


def network(n_owners, updates, *, answers_allowed=None, **parts):
    """Return a network whose budgets outlast the run unless told otherwise."""
    allowed = (updates,) * n_owners if answers_allowed is None else answers_allowed
    return Network(answers_allowed=allowed, updates=updates, **parts)


def runs(network, seed, count, *, events=False):
    """Yield the traces of independent replicates 1, 2, …"""
    streams = Streams(seed)
    for number in range(1, count + 1):
        yield simulate(network, streams.within("replicate", number), events=events)


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
                learner.locked = False
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
            learner.locked = False
        yield from super().attempt(owner, learner)


class UncountedRefusal(Request):
    """Planted bug: a refused request is counted as one that was served."""

    def attempt(self, owner, learner):
        if learner.locked:
            learner.recorder.refused[owner.number] -= 1
        yield from super().attempt(owner, learner)


class RestlessOwner(Request):
    """Planted bug: an owner's own ticks while it is served are requests, and refused."""

    def attempt(self, owner, learner):
        for event in super().attempt(owner, learner):
            owner.busy = False
            yield event
