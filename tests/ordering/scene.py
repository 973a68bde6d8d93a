"""A scripted scenario: a network without randomness, and what is known of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Literal

import numpy as np

from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Availability, Churn
from asyncdp_sim.network.channels.csma import BianchiMedium, Dcf, FrozenMedium
from asyncdp_sim.network.channels.kind import GilbertElliott
from asyncdp_sim.network.laws import Constant, Source
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols import Rounds

Happening = tuple[float, int]
"""Time and owner."""
Mishap = tuple[str, float, int]
"""Kind of event, with its detail behind a blank where it has one; time; owner."""


@dataclass(frozen=True)
class Case:
    """One scenario; the golden file pins its order, the fields below what is known beforehand.

    ``updates``, ``refused`` (by the lock), ``too_soon`` (refused so few updates after another),
    ``dropped`` (ticks of busy owners), ``missed`` (ticks of owners that are offline), ``away``
    and ``back`` (going off and on line) are complete lists of (time, owner);
    so is ``mishaps``, over all kinds of events that are not usual, in the order of happening.
    ``released`` (answers charged), ``reads`` and ``stale`` (one number per answer used), ``on_air``
    (airtime in all) and ``ending`` are compared where they are given. ``online`` is the share of
    the run, per owner; left out, all of it. ``open`` has the outcomes of exchanges without an
    update. Where the network's timing depends on a model, ``enough`` is the update after which
    the model is good enough.
    """

    name: str
    rule: str
    network: Network
    end: float
    updates: tuple[Happening, ...] = ()
    refused: tuple[Happening, ...] = ()
    dropped: tuple[Happening, ...] = ()
    too_soon: tuple[Happening, ...] = ()
    missed: tuple[Happening, ...] = ()
    away: tuple[Happening, ...] = ()
    back: tuple[Happening, ...] = ()
    online: tuple[float, ...] | None = None
    open: tuple[str, ...] = ()
    scheduled: int | None = None
    mishaps: tuple[Mishap, ...] = ()
    released: tuple[Happening, ...] | None = None
    reads: tuple[float, ...] | None = None
    stale: tuple[int, ...] | None = None
    on_air: float | None = None
    ending: Literal["updates", "target", "horizon", "spent", "silent", "resting"] | None = None
    enough: int | None = None

    def learning(self) -> "Scripted | None":
        """Whom to ask, where the network does."""
        return Scripted(self.enough) if self.network.stops else None


@dataclass
class Scripted:
    """Learning without a model: says after which update the model is good enough.

    ``told`` is what it was told, by message: whether the query is still to be answered.
    """

    enough: int | None = None
    updates: int = 0
    told: dict[int, bool] = field(default_factory=dict)

    def read(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
        self.told[message] = True

    def take(self, owner: int, message: int, sent: object) -> None:  # noqa: ARG002
        self.told[message] = True

    def again(self, message: int, former: int) -> None:
        self.told[message] = self.told[former]

    def apply(self, owner: int, message: int, peer: int = 0) -> None:  # noqa: ARG002
        self.forget(message)

    def forget(self, message: int) -> None:
        assert self.told[message]
        self.told[message] = False

    def release(self, owner: int, message: int) -> None:  # noqa: ARG002
        assert self.told[message]

    def update(self) -> None:
        self.updates += 1

    def reached(self) -> bool:
        return self.updates == self.enough

    def broadcast(self) -> object:
        return None

    def server_step(self, server: int) -> None: ...


@dataclass(frozen=True)
class Together:
    """Several availabilities at once: an owner is online when it is so in all of them.

    Constant gaps and lengths are the same for all groups of one ``outages``; this puts schedules
    beside each other.
    """

    parts: tuple[Availability, ...]

    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for number, part in enumerate(self.parts, start=1):
            part.start_processes(owners, learner, streams.within("part", number))


class Losing(GilbertElliott):
    """Loses, of each owner's messages, those with the given numbers (from 1): nothing is drawn."""

    to_bad: float = 1.0
    to_good: float = 1.0
    numbers: tuple[int, ...]

    def draws(self, source: Source, owner: int) -> Iterator[bool]:  # noqa: ARG002
        return (number in self.numbers for number in count(1))


class Drawing(Rounds):
    """Asks given owners in each round of which some would be drawn: nothing is drawn."""

    drawn: tuple[tuple[int, ...], ...]

    def start_processes(self, owners, learner, streams):  # noqa: ARG002
        learner.kernel.start(self._rounds(owners, learner, iter(self.drawn)))

    def draw(self, numbers, draws):
        chosen = next(draws) if len(numbers) > self.owners else numbers
        assert set(chosen) <= set(numbers.tolist())
        return np.array(chosen)


class Some(Churn):
    """Only some owners join late or leave; the others are online all the time."""

    who: tuple[int, ...]

    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        super().start_processes([owners[number - 1] for number in self.who], learner, streams)


def joins(owner: int, at: float) -> Some:
    return Some(who=(owner,), join=Constant(value=at))


class Counting(Dcf):
    """Lets each owner count so many slots before each of its attempts: nothing is drawn."""

    window: int = 8
    doublings: int = 1
    counts: tuple[tuple[int, ...], ...]

    def open(self, kernel, streams, n_owners):  # noqa: ARG002
        media = {"frozen": CountingFrozenMedium, "bianchi": CountingMedium}
        return media[self.counting](self, kernel, streams)


class CountingMedium(BianchiMedium):
    def port(self, owner):
        counts = self._spec.counts[owner - 1]
        return partial(self._transmit, owner, (n / self.window(owner) for n in counts))


class CountingFrozenMedium(FrozenMedium):
    port = CountingMedium.port
