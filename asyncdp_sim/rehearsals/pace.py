"""Pace: simulated ticks by this machine's clock, which all processes share."""

import asyncio
import selectors
from collections.abc import Coroutine
from time import monotonic
from typing import Any, TypeVar

from typing_extensions import override

from asyncdp_sim.units import TICKS_PER_UNIT

T = TypeVar("T")


class Pace:
    """Tells ticks by the time since the start, and waits for them.

    Deadlines are absolute: one that is met late delays none that follows.

    Parameters
    ----------
    start : float
        When tick 0 is, in seconds of the machine's monotonic clock.
    unit : float
        Seconds that a unit of time takes, > 0.

    Attributes
    ----------
    tick : int
        As it was at the last :meth:`look`.
    """

    def __init__(self, start: float, unit: float) -> None:
        self._start = start
        self._seconds = unit / TICKS_PER_UNIT
        self.tick = 0

    def look(self) -> int:
        """Look at the clock, and return the tick; none is before 0, or before the last one."""
        self.tick = max(self.tick, round((monotonic() - self._start) / self._seconds))
        return self.tick

    async def until(self, tick: int, unless: asyncio.Future[Any] | None = None) -> None:
        """Wait for a tick, or for what may come before; return at once where it has passed."""
        left = self._start + tick * self._seconds - monotonic()
        if left > 0 and unless is None:
            await asyncio.sleep(left)
        elif left > 0 and unless is not None:
            await asyncio.wait([unless], timeout=left)


class RunPace(Pace):
    """A pace that can be told to stop, as the simulation's kernel can.

    Attributes
    ----------
    over : asyncio.Event
        Whether it was.
    broken : BaseException or None
        Why, where it is a bug.
    """

    def __init__(self, start: float, unit: float) -> None:
        super().__init__(start, unit)
        self.over = asyncio.Event()
        self.broken: BaseException | None = None

    @override
    def look(self) -> int:
        return self.tick if self.over.is_set() else super().look()

    def stop(self) -> None:
        """Let no more time pass."""
        self.over.set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work beside all other; if it fails, all is over."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.broken = task.exception()
            self.stop()


def run_here(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work with timers that are exact.

    Those of asyncio's usual selector, epoll, are rounded up to whole milliseconds.
    """
    with asyncio.Runner(loop_factory=_exact_loop) as runner:
        return runner.run(work)


def _exact_loop() -> asyncio.AbstractEventLoop:
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


__all__ = ["Pace", "RunPace", "run_here"]
