"""A user's own SimPy processes, and the network as these see it."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np
from simpy.events import Event

from asyncdp_sim.core.kernel import Kernel, OfEvents
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.channels.air import Medium
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner


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

    def __init__(
        self, owners: Sequence[Owner], learner: Learner, medium: Medium | None, streams: Scope
    ) -> None:
        self._owners = owners
        self._learner = learner
        self._medium = medium
        self._streams = streams

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
            owner.go_offline(self._learner)

    def restore(self, owners: Iterable[int] | None = None) -> None:
        """Bring owners that were cut off on line again, unless something else keeps them off."""
        for owner in self._named(owners):
            owner.go_online(self._learner)

    def _named(self, owners: Iterable[int] | None) -> list[Owner]:
        return [self._owners[number - 1] for number in owners or range(1, self.n_owners + 1)]


Process = Callable[[Kernel, Joined], Generator[Event, Any, Any]]
"""A generator function of the environment and the network, which yields events, as in SimPy."""
