"""The simulation kernel: SimPy on an integer clock, with named priorities.

Events happen in the order ``(tick, priority, insertion)``; with ``ties``, those of one tick and
priority happen in random order. Intervals are half-open: what ends at a tick has ended before
anything starts at that tick.

A :class:`Processor` shares its speed among several jobs.
"""

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from enum import IntEnum
from functools import partial
from heapq import heappop, heappush
from itertools import count
from operator import index
from types import BuiltinMethodType
from typing import Any, TypeVar

import numpy as np
import simpy
from simpy.events import Event
from typing_extensions import override

from asyncdp_sim.core.units import LAST_TICK

_T = TypeVar("_T")
Wait = Event | tuple[int, int]
"""What a process waits for: an event, or a tick (not before now) and a priority.

(tick, priority) does what yielding ``Moment(kernel, tick, priority)`` does, at half the cost; use a
:class:`Moment` only where others must wait for it too.
"""
Waiting = Generator[Wait, None, _T]
"""A part of a process, which yields what it waits for and returns what came of it.

Unlike in SimPy, yield returns None, not the event's value; the event must not have happened yet,
and a failure is not thrown into the activity.
"""
Activity = Waiting[None]
"""What a process runs."""
Send = Callable[[None], Wait]
"""The ``send`` of an activity, which stands in the queue where SimPy has an event."""
OfEvents = Generator[Event, None, _T]
"""A part of a process that SimPy's own may run as well: it yields events alone."""


class Priority(IntEnum):
    """Order of events at one tick; smaller goes first."""

    SIMPY_URGENT = 0
    """SimPy's own starts and interrupts."""
    SIMPY_NORMAL = 1
    """SimPy's own triggered events."""
    ANSWER_END = 2
    """A transmission ends: it frees the learner and the channel before anybody asks for them."""
    TURN = 3
    """The learner turns to the request that waited longest, before new ones arrive."""
    GRADIENT_READY = 4
    """A computation ends before new work reaches the owner."""
    BROADCAST = 5
    """The learner sends its model with all that has arrived by now."""
    QUERY_ARRIVES = 6
    """A query reaches its owner."""
    TIMEOUT = 7
    """The learner's patience ends after all that arrives just in time."""
    REQUEST_ARRIVES = 8
    """A request meets the learner after everything that may have freed it."""
    TRANSMISSION_BEGINS = 9
    """A slot begins, or a wait for the channel is over, after all that ends."""
    PRESENCE = 10
    """An owner goes on or off line: what was under way has ended, its clock has not ticked yet."""
    CLOCK_TICK = 11
    """A clock ticks last: it sees the state that all else at this tick has left."""


# Those that the network names at every event: looking one up in its enumeration takes 0.3 µs in
# Python 3.11, a tenth of the event.
ANSWER_END = Priority.ANSWER_END
GRADIENT_READY = Priority.GRADIENT_READY
QUERY_ARRIVES = Priority.QUERY_ARRIVES
REQUEST_ARRIVES = Priority.REQUEST_ARRIVES
TRANSMISSION_BEGINS = Priority.TRANSMISSION_BEGINS
AT_TICK = Priority.CLOCK_TICK  # CLOCK_TICK is the kind of the event that the trace notes then


class Moment(Event):
    """An event that happens at a given tick with a given priority."""

    _value = None
    _ok = True

    def __init__(self, kernel: "Kernel", tick: int, priority: int) -> None:
        self.env = kernel
        self.callbacks = []
        kernel.schedule(self, priority, tick - kernel.tick)


class Signal(Event):
    """An event that happens when somebody fires it, at a tick and priority of its choice."""

    _value = None
    _ok = True

    def __init__(self, kernel: "Kernel") -> None:
        self.env = kernel
        self.callbacks = []

    def fire(self, tick: int, priority: int) -> None:
        """Let it happen at ``tick`` (not before now), once."""
        kernel: Any = self.env
        kernel.schedule(self, priority, tick - kernel.tick)


class Kernel(simpy.Environment):
    """A SimPy environment that counts integer ticks.

    Parameters
    ----------
    ties : numpy.random.Generator, optional
        Draws the order of events of one priority at one tick. Without it, the event that was
        scheduled first happens first (the declared order).

    Attributes
    ----------
    tick : int
        The current tick; what happens at every event reads it, and nobody else sets it.
    """

    def __init__(self, ties: np.random.Generator | None = None) -> None:
        self.tick = 0
        super().__init__(initial_time=0)
        if ties is not None:
            self._eid: Any = _shuffled(ties)
        self._stopped = False
        self._horizon = LAST_TICK

    @property
    def now(self) -> int:
        """The current tick, as SimPy's own events and processes ask for it."""
        return self.tick

    # SimPy's own name of the time: one number under three names, of which ours is the fastest.
    @property
    def _now(self) -> int:
        return self.tick

    @_now.setter
    def _now(self, tick: int) -> None:
        self.tick = tick

    def at(self, tick: int, priority: Priority) -> Moment:
        """Return an event that happens at ``tick`` (not before now)."""
        return Moment(self, tick, priority)

    def after(self, ticks: int, priority: Priority) -> Moment:
        """Return an event that happens ``ticks`` (≥ 0) from now."""
        return Moment(self, self.tick + ticks, priority)

    @override
    def schedule(self, event: Event, priority: Any = Priority.SIMPY_NORMAL, delay: Any = 0) -> None:
        """Let an event happen ``delay`` ticks from now.

        Raises
        ------
        TypeError
            If that is no whole number, as of time units: :func:`~asyncdp_sim.core.units.to_ticks`.
        """
        try:
            tick = self.tick + index(delay)
        except TypeError:
            raise TypeError(
                f"given a delay of {delay!r}; allowed is a whole number of ticks: "
                f"to_ticks({delay!r}) is {delay!r} time units"
            ) from None
        queue: list[Any] = self._queue
        heappush(queue, (tick, priority, next(self._eid), event))

    def start(self, activity: Activity) -> None:
        """Run an activity now, up to its first event; its events carry it on from there.

        What waits for nothing thus takes no event at all.
        """
        target = next(activity, None)
        if target is not None:
            self._await(target, activity.send)

    def _await(self, target: Wait, send: Send) -> None:
        """Continue an activity when what it waits for happens."""
        if isinstance(target, tuple):
            tick, priority = target
            queue: list[Any] = self._queue
            heappush(queue, (tick, priority, next(self._eid), send))
        else:
            target.callbacks.append(partial(self._continue, send))

    def _continue(self, send: Send, _: object = None) -> None:
        """Run an activity up to what it waits for next."""
        try:
            target = send(None)
        except StopIteration:  # an activity that has done its work
            return
        self._await(target, send)

    @override
    def step(self) -> None:
        """Process the next event, or continue the activity whose turn is next."""
        # A bound ``send`` (of an activity that yielded a tuple) stands in the queue itself; all
        # else in it are events.
        queue: list[Any] = self._queue
        if len(queue) > 0 and type(queue[0][3]) is BuiltinMethodType:
            self.tick, _, _, send = heappop(queue)
            self._continue(send)
        else:
            super().step()

    def stop(self) -> None:
        """End :meth:`run_before` after the event that is being processed."""
        self._stopped = True
        self._horizon = self.tick

    def run_before(self, horizon: int = LAST_TICK) -> bool:
        """Process events with tick < ``horizon`` until :meth:`stop`.

        Returns whether the run was stopped, rather than reaching the horizon.
        """
        queue: list[Any] = self._queue
        if not self._stopped:
            self._horizon = horizon
        while len(queue) > 0 and queue[0][0] < self._horizon:
            self.step()
        return self._stopped


def _shuffled(ties: np.random.Generator) -> Iterator[int]:
    """Yield distinct integers in random order: a random key above a running number."""
    for number in count():
        yield (int(ties.integers(2**31)) << 48) | number


class Processor:
    """A processor that works at all its jobs in turn: one tick at each, in the order of arrival.

    So n jobs proceed at 1/n of its speed, to within a tick, and no work is lost or made: while it
    has any job, it does a tick of work in each tick of time.

    Parameters
    ----------
    kernel : Kernel
    ends : Priority
        The priority of the end of a job.
    """

    def __init__(self, kernel: Kernel, ends: Priority = Priority.GRADIENT_READY) -> None:
        self._kernel = kernel
        self._priority = ends
        self._jobs: list[int] = []
        """Numbers of the jobs, from 1, in the order of arrival."""
        self._ends: list[tuple[int, int, Signal]] = []
        """A heap of jobs: the pass over all jobs in which it ends, its number, its end."""
        self._came = 0
        """Number of jobs that have arrived."""
        self._passes = 0
        """Finished passes over all jobs; each took a tick for every job."""
        self._place = 0
        """Number of jobs that have had their tick in the present pass."""
        self._since = 0
        """The tick up to which the work is counted."""

    def work(self, ticks: int) -> Activity:
        """Do a job that would take so many ticks alone."""
        if ticks == 0:
            yield self._kernel.tick, self._priority
            return
        self._advance()
        done = Signal(self._kernel)
        self._came += 1
        self._jobs.append(self._came)
        heappush(self._ends, (self._passes + ticks - 1, self._came, done))
        self._kernel.start(self._wait())
        yield done

    def _wait(self) -> Activity:
        """Wait until the next job ends, and so on.

        Every arrival starts a wait of its own, from the new end. A former wait that comes too early
        or too late finds no job that ends at its tick, and is over.
        """
        while len(self._ends) > 0:
            yield self._next_end(), self._priority
            if not self._advance():
                return

    def _next_end(self) -> int:
        """Return the tick at which the next job ends if no other comes."""
        last_pass, number, _ = self._ends[0]
        place = bisect_left(self._jobs, number)
        return self._since + (last_pass - self._passes) * len(self._jobs) + place + 1 - self._place

    def _advance(self) -> bool:
        """Count the work up to now; return whether a job has ended at this tick."""
        tick = self._kernel.tick
        ended = len(self._ends) > 0 and self._next_end() == tick
        if len(self._ends) > 0:
            passes, self._place = divmod(self._place + tick - self._since, len(self._jobs))
            self._passes += passes
        self._since = tick
        if ended:
            self._leave()
        return ended

    def _leave(self) -> None:
        """Remove the job that has just had its last tick, and fire its end."""
        _, number, done = heappop(self._ends)
        del self._jobs[bisect_left(self._jobs, number)]
        self._place = max(self._place - 1, 0)
        done.fire(self._since, self._priority)
