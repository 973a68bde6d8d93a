"""Presence of an owner: when it is online, worked out by the simulation's own streams."""

from bisect import bisect_right
from math import inf, nan
from typing import Any

from typing_extensions import override

from asyncdp_sim.kernel import Kernel
from asyncdp_sim.network.build import Builder
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.spec import Network
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder


class Presence:
    """One owner's comings and goings, without a network around it.

    Absences of a simulation do not depend on what else happens, so they are simulated alone, as
    far as anybody has asked.

    Parameters
    ----------
    network : Network
    streams : Scope
        The replicate's streams, of which owners' own are taken.
    number : int
        Which owner, from 1.

    Attributes
    ----------
    owner : Owner
        The simulation's, with its durations and losses; nobody simulates its exchanges.
    """

    def __init__(self, network: Network, streams: Scope, number: int) -> None:
        self._kernel = Kernel()
        self._notes = _Notes(network.n_owners, self._kernel, number)
        counted = (self._kernel, self._notes, network.updates, network.answers_allowed)
        self._learner = _Asked(number, *counted)
        builder = Builder(network, self._learner, None, streams)
        owners = [builder.owner(each) for each in range(1, network.n_owners + 1)]
        network.availability.begin(owners, self._learner, streams)
        if network.protocol.acts_on_ticks:
            network.protocol.begin(owners, self._learner, streams)
        self._drawn = network.availability.drawn_per_tick
        self.owner: Owner = owners[number - 1]

    def online(self, tick: int) -> bool:
        """Return whether the owner is online at a tick."""
        self._kernel.run_before(tick + 1)
        return bisect_right(self._notes.changes, tick) % 2 == 0

    def back(self, tick: int) -> int | None:
        """Return the first tick, not before this one, at which it is online; None if it is gone."""
        changes = self._notes.changes
        while not self.online(tick):
            known, ahead = bisect_right(changes, tick), self._kernel.peek()
            if known < len(changes):
                tick = changes[known]
            elif ahead == inf or self._learner.left is not None:
                return None
            else:
                tick = int(ahead)
        return tick

    def last(self, tick: int) -> int:
        """Return a tick, or the one before it at which the owner leaves for good."""
        self.online(tick)
        left = self._learner.left
        return tick if left is None else min(tick, left)

    def gone(self, tick: int) -> bool:
        """Return whether the owner has left for good."""
        return self.last(tick) == self._learner.left

    def share(self, end_tick: int) -> float:
        """Return the share of the run, or of its ticks that drew it, that it was online; or NaN."""
        if self._drawn:
            attends = self._notes.attends
            return sum(attends) / len(attends) if len(attends) > 0 else nan
        self.online(end_tick)
        edges = [min(tick, end_tick) for tick in (*self._notes.changes, end_tick)]
        dark = sum(back - left for left, back in zip(edges[::2], edges[1::2], strict=False))
        return 1 - dark / end_tick if end_tick > 0 else nan


class _Asked(Learner):
    """A learner that nobody talks to, which notes when one owner leaves for good."""

    def __init__(self, number: int, *counted: Any) -> None:
        super().__init__(*counted)
        self._of = number
        self.left: int | None = None

    @override
    def give_up(self, owner: int) -> None:
        if owner == self._of and self.left is None:
            self.left = self.kernel.tick
        super().give_up(owner)


class _Notes(Recorder):
    """Notes when one owner comes and goes, and which of its ticks or queries it attends to."""

    def __init__(self, n_owners: int, kernel: Kernel, number: int) -> None:
        super().__init__(n_owners, kernel)
        self._tell = kernel
        self._of = number
        self.changes: list[int] = []
        self.attends: list[bool] = []

    @override
    def offline(self, owner: int) -> None:
        if owner == self._of:
            self.changes.append(self._tell.tick)

    online = offline

    @override
    def by_tick(self, owner: int) -> None:
        pass

    @override
    def attended(self, owner: int, attends: bool) -> bool:
        self.attends.append(attends)
        return attends
