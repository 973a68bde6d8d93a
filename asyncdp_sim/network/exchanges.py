"""What a network tells those who wait for an owner, and those who train a model meanwhile."""

from dataclasses import dataclass
from typing import Any

from asyncdp_sim.core.kernel import Kernel, Priority, Signal


class Absences:
    """Signals to processes that wait until an owner is back, free, or gone for good.

    Parameters
    ----------
    kernel : Kernel
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ends: dict[int, Signal] = {}

    def end(self, owner: int) -> Signal:
        """Return the signal that an owner is back, is free again, or has left for good."""
        return self._ends.setdefault(owner, Signal(self._kernel))

    def over(self, owner: int) -> None:
        """Wake the process that waits for an owner, so that it checks that owner again."""
        awaited = self._ends.pop(owner, None)
        if awaited is not None:
            awaited.fire(self._kernel.tick, Priority.QUERY_ARRIVES)

    def dropped(self, owner: int) -> list[Any]:
        """Return the callbacks of processes that wait for an owner, which the caller must wake."""
        awaited = self._ends.pop(owner, None)
        return [] if awaited is None else awaited.callbacks


class Learning:
    """Receives every read and update of a network; this base ignores them and trains no model."""

    def read(self, owner: int, message: int, peer: int = 0) -> None:
        """Form the query for ``owner`` (from 1) from the model as it is now.

        ``peer`` says whose model, where there are several; see :data:`~.vocabulary.EXCHANGES`.
        """

    def apply(self, owner: int, message: int, peer: int = 0) -> None:
        """Use the owner's answer to the query of this message for the next update."""

    def update(self) -> None:
        """Note that the answers used since the last update make the next one."""

    def release(self, owner: int, message: int) -> None:
        """Note that the owner's answer to this query begins to be sent, and is charged."""

    def reached(self) -> bool:
        """Return whether the model has reached its target; asked after updates that may end it."""
        return False

    def server_step(self, server: int) -> None:
        """Note that one of several servers (from 1) makes its next step."""

    def broadcast(self) -> object:
        """Return what :meth:`take` needs later to form queries from the model as it is now."""
        return None

    def take(self, owner: int, message: int, sent: object) -> None:
        """Form the query of this message from what :meth:`broadcast` returned."""

    def again(self, message: int, former: int) -> None:
        """Ask in this message what the former one asked."""

    def forget(self, message: int) -> None:
        """Note that the query of this message will not be answered."""


@dataclass(frozen=True)
class BroadcastQuery:
    """A query sent to all owners: its message number, when it was read, and of which model."""

    message: int
    read_tick: int
    read_k: int
    sent: object
