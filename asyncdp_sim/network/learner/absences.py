"""Owners that somebody waits for: until they are back, free again, or gone for good."""

from typing import Any

from asyncdp_sim.kernel import Kernel, Priority, Signal


class Absences:
    """Calls to be made when an owner can be looked at again, where somebody waits for that.

    Parameters
    ----------
    kernel : Kernel
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ends: dict[int, Signal] = {}

    def end(self, owner: int) -> Signal:
        """Return what happens when an owner comes back, is free again, or leaves for good."""
        return self._ends.setdefault(owner, Signal(self._kernel))

    def over(self, owner: int) -> None:
        """Tell whoever waits for an owner to look at it again."""
        awaited = self._ends.pop(owner, None)
        if awaited is not None:
            awaited.fire(self._kernel.tick, Priority.QUERY_ARRIVES)

    def dropped(self, owner: int) -> list[Any]:
        """Return who waits for an owner, whom nobody but the caller will tell any more."""
        awaited = self._ends.pop(owner, None)
        return [] if awaited is None else awaited.callbacks
