"""A processor that works at several jobs, sharing its speed among them."""

from bisect import bisect_left
from heapq import heappop, heappush

from asyncdp_sim.core.kernel import Activity, Kernel, Priority, Signal


class Processor:
    """Works at all jobs that it has, a tick at each in turn, in the order in which they came.

    So n jobs go at 1/n of its speed, to within a tick, and no work is lost or made: while it has
    any, it does a tick of work in each tick of time.

    Parameters
    ----------
    kernel : Kernel
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._numbers: list[int] = []
        """Of jobs, in their order."""
        self._ends: list[tuple[int, int, Signal]] = []
        """Of each job: the turn in which it ends, its number, whom to tell; a heap."""
        self._came = 0
        self._turn = 0
        """Turns that are over; each had a tick for every job."""
        self._place = 0
        """Jobs that have had their tick in the turn under way."""
        self._since = 0

    def work(self, ticks: int) -> Activity:
        """Do a job that would take so many ticks alone."""
        if ticks == 0:
            yield self._kernel.tick, Priority.GRADIENT_READY
            return
        self._pass()
        done = Signal(self._kernel)
        self._came += 1
        self._numbers.append(self._came)
        heappush(self._ends, (self._turn + ticks - 1, self._came, done))
        self._kernel.start(self._wait())
        yield done

    def _wait(self) -> Activity:
        """Wait until the next job ends, and so on, unless another has come or gone before."""
        while len(self._ends) > 0:
            yield self._next_end(), Priority.GRADIENT_READY
            if not self._pass():
                return

    def _next_end(self) -> int:
        """Return the tick at which the next job ends if no other comes."""
        turn, number, _ = self._ends[0]
        place = bisect_left(self._numbers, number)
        return self._since + (turn - self._turn) * len(self._numbers) + place + 1 - self._place

    def _pass(self) -> bool:
        """Do what there is to do up to now; return whether a job has ended at this tick."""
        tick = self._kernel.tick
        ended = len(self._ends) > 0 and self._next_end() == tick
        if len(self._ends) > 0:
            turns, self._place = divmod(self._place + tick - self._since, len(self._numbers))
            self._turn += turns
        self._since = tick
        if ended:
            self._leave()
        return ended

    def _leave(self) -> None:
        """Let a job go that has just had its last tick."""
        _, number, done = heappop(self._ends)
        del self._numbers[bisect_left(self._numbers, number)]
        self._place = max(self._place - 1, 0)
        done.fire(self._since, Priority.GRADIENT_READY)
