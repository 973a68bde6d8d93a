"""The learner's lock, and the requests that wait until it is free."""

from collections import deque
from collections.abc import Callable

from asyncdp_sim.kernel import Kernel, Priority, Signal
from asyncdp_sim.trace import EventKind


class Lock:
    """Held while an owner is served alone.

    Parameters
    ----------
    kernel : Kernel
    event : callable
        Notes an event of a kind, an owner and a message.

    Attributes
    ----------
    held : bool
    waiting : deque of Signal
        The turns of the requests that wait, the oldest first.
    """

    def __init__(self, kernel: Kernel, event: Callable[[EventKind, int, int], None]) -> None:
        self.held = False
        self.waiting: deque[Signal] = deque()
        self._kernel = kernel
        self._event = event

    def queue(self, owner: int, message: int) -> Signal:
        """Let a request wait; return what happens when its turn has come, the lock still held."""
        turn = Signal(self._kernel)
        self.waiting.append(turn)
        self._event(EventKind.request_queued, owner, message)
        return turn

    def release(self) -> None:
        """Turn to the request that has waited longest, or be free."""
        if len(self.waiting) > 0:
            self.waiting.popleft().fire(self._kernel.tick, Priority.TURN)
        else:
            self.held = False
