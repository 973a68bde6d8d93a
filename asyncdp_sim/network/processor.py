"""A processor that works at several jobs, sharing its speed among them."""

from bisect import bisect_left
from heapq import heappop, heappush

from asyncdp_sim.core.kernel import Activity, Kernel, Priority, Signal


class Processor:
    """Works at all jobs that it has: a tick at each, in the order in which they came, repeatedly.

    So n jobs go at 1/n of its speed, to within a tick, and no work is lost or made: while it has
    any, it does a tick of work in each tick of time.

    Parameters
    ----------
    kernel : Kernel
    ends : Priority
        What the end of a job is among the events of its tick.
    """

    def __init__(self, kernel: Kernel, ends: Priority = Priority.GRADIENT_READY) -> None:
        self._kernel = kernel
        self._priority = ends
        self._jobs: list[int] = []
        """Of jobs, in their order."""
        self._ends: list[tuple[int, int, Signal]] = []
        """Of each job: the pass over all jobs in which it ends, its number, its end; a heap."""
        self._came = 0
        self._passes = 0
        """Passes over all jobs that are done; each had a tick for every job."""
        self._place = 0
        """Jobs that have had their tick in the pass under way."""
        self._since = 0

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
        """Wait until the next job ends, and so on, unless another has come or gone before."""
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
        """Do what there is to do up to now; return whether a job has ended at this tick."""
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
        """Let a job go that has just had its last tick."""
        _, number, done = heappop(self._ends)
        del self._jobs[bisect_left(self._jobs, number)]
        self._place = max(self._place - 1, 0)
        done.fire(self._since, self._priority)
