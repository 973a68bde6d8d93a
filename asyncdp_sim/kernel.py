"""The simulation kernel: SimPy on an integer clock, with named priorities.

Events happen in the order ``(tick, priority, insertion)``. Intervals are half-open: what ends at
a tick has ended before anything starts at that tick.
"""

from collections.abc import Generator, Iterator
from enum import IntEnum
from heapq import heappop, heappush
from itertools import count
from typing import Any, cast

import numpy as np
import simpy
from simpy.events import NORMAL, Event, EventPriority, Process

from asyncdp_sim.units import LAST_TICK

Activity = Generator[Event, None, None]
"""What a process runs: a generator that yields the events it waits for."""


class Priority(IntEnum):
    """Order of events at one tick; smaller goes first."""

    SIMPY_URGENT = 0
    """SimPy's own starts and interrupts."""
    SIMPY_NORMAL = 1
    """SimPy's own triggered events."""
    ANSWER_END = 2
    """An answer has arrived: it frees the learner and the channel before anybody asks for them."""
    GRADIENT_READY = 3
    """A computation ends before new work reaches the owner."""
    QUERY_ARRIVES = 4
    """A query reaches its owner."""
    REQUEST_ARRIVES = 5
    """A request meets the learner after everything that may have freed it."""
    PRESENCE = 6
    """An owner goes on or off line: what was under way has ended, its clock has not ticked yet."""
    CLOCK_TICK = 7
    """A clock ticks last: it sees the state that all else at this tick has left."""


class Moment(Event):
    """An event that happens at a given tick with a given priority."""

    _value = None
    _ok = True

    def __init__(self, kernel: "Kernel", tick: int, priority: int) -> None:
        self.env = kernel
        self.callbacks = []
        queue: list[Any] = kernel._queue
        heappush(queue, (tick, priority, next(kernel._eid), self))


class _Continued(Process):
    """A process whose generator has already run up to its first event."""

    def __init__(self, kernel: "Kernel", generator: Activity, target: Event) -> None:
        self.env = kernel
        self.callbacks = []
        self._generator = generator
        self._target = target
        target.callbacks.append(self._resume)


class Kernel(simpy.Environment):
    """A SimPy environment that counts integer ticks.

    Parameters
    ----------
    ties : numpy.random.Generator, optional
        Draws the order of events of one class at one tick. Without it, the event that was
        scheduled first happens first (the declared order).
    """

    def __init__(self, ties: np.random.Generator | None = None) -> None:
        super().__init__(initial_time=0)
        self._now: int = 0
        if ties is not None:
            self._eid: Any = _shuffled(ties)
        self._stopped = False

    @property
    def now(self) -> int:
        """The current tick."""
        return self._now

    def at(self, tick: int, priority: Priority) -> Moment:
        """Return an event that happens at ``tick`` (not before now)."""
        return Moment(self, tick, priority)

    def after(self, ticks: int, priority: Priority) -> Moment:
        """Return an event that happens ``ticks`` (≥ 0) from now."""
        return Moment(self, self._now + ticks, priority)

    def start(self, activity: Activity) -> None:
        """Run an activity now, up to its first event; it goes on as a SimPy process from there.

        What waits for nothing thus takes no event at all.
        """
        target = next(activity, None)
        if target is not None:
            _Continued(self, activity, target)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Schedule an event, except the end of a process that nobody waits for.

        Such a process has done its work, or has failed: then its exception is raised here, so
        that it cannot be lost to :meth:`stop`.
        """
        if isinstance(event, Process) and event.callbacks == []:
            if not event._ok:
                raise event._value
            event.callbacks = cast("Any", None)  # SimPy's mark of a processed event
            return
        super().schedule(event, priority, delay)

    def stop(self) -> None:
        """End the run after the event that is being processed."""
        self._stopped = True

    def run_before(self, horizon: int = LAST_TICK) -> bool:
        """Process events with tick < ``horizon`` until :meth:`stop`.

        Returns whether the run was stopped, rather than reaching the horizon.
        """
        queue: list[Any] = self._queue
        while queue and not self._stopped and queue[0][0] < horizon:
            self._now, _, _, event = heappop(queue)
            callbacks, event.callbacks = event.callbacks, None
            for callback in callbacks:
                callback(event)
            if not event._ok and not hasattr(event, "_defused"):
                raise event._value
        return self._stopped


def _shuffled(ties: np.random.Generator) -> Iterator[int]:
    """Yield distinct integers in random order: a random key above a running number."""
    for number in count():
        yield (int(ties.integers(2**31)) << 48) | number
