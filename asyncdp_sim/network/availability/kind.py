"""Base of every kind of availability: traits, and methods that the network asks for."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.laws import Source
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec.base import Variant
from asyncdp_sim.trace import Recorder

IsOnline = Callable[[int, int], bool]
"""From an owner (from 1) and a tick to whether it is online then; ticks never go back."""


class AvailabilityKind(Variant):
    """The times at which owners are online."""

    always_online: ClassVar[bool]
    """Nobody is ever offline."""
    all_return: ClassVar[bool]
    """An owner that is asked while offline is online again later, and answers then."""
    drawn_per_tick: ClassVar[bool]
    """Whether an owner is online is drawn for each tick of its clock (or each query)."""
    keeps_poisson: ClassVar[bool]
    """Ticks of a Poisson clock that find their owner online are a Poisson process."""
    superposable: ClassVar[bool] = False
    """Whether it can be worked out at an owner's next tick from what was known last."""

    @property
    def comes_and_goes(self) -> bool:
        """Whether owners go offline at times of their own, and so perhaps while they work."""
        return not (self.always_online or self.drawn_per_tick)

    @abstractmethod
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start whatever brings owners on and off line."""

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> IsOnline | None:
        """Return a function that decides whether an owner is online at a tick.

        None where no owner is ever offline, or where owners receive a signal when they come and go.
        """
        return None

    @abstractmethod
    def online_share(self, n_owners: int) -> tuple[float, ...] | None:
        """Return the long-run share of an owner's ticks that find it online, per owner.

        None where there is no long run.
        """

    def never_online(self, n_owners: int) -> tuple[int, ...]:
        """Return the owners (from 1) of which it is known before a run that they never are."""
        share = self.online_share(n_owners) or ()
        return tuple(owner for owner, owner_share in enumerate(share, start=1) if owner_share == 0)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return []


class Always(AvailabilityKind):
    """Every owner is online all the time."""

    always_online = True
    all_return = True
    drawn_per_tick = False
    keeps_poisson = True
    superposable = True

    kind: Literal["always"] = "always"

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        pass

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return (1.0,) * n_owners
