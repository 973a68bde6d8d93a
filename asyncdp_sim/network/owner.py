"""An owner: a clock that ticks, the durations that are its own, and its processor."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from asyncdp_sim.core.kernel import AT_TICK, Activity, Kernel, Priority, Signal
from asyncdp_sim.network.exchanges import BroadcastQuery
from asyncdp_sim.network.learner import ATTEMPTS, Learner
from asyncdp_sim.trace.vocabulary import BUSY, CLOCK_DROPPED, CLOCK_TICK, OFFLINE

if TYPE_CHECKING:
    from asyncdp_sim.network.channels.uplink import Link


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


Durations = Iterator[int] | None
Attends = Callable[[int], bool]


@dataclass(eq=False, slots=True)
class Owner:
    """One owner's place in the network.

    Attributes
    ----------
    number : int
        From 1, as in the tables.
    busy : bool
        Whether it is sending, waiting or being served; its clock's ticks are dropped meanwhile.
    offline_reasons : int
        For how many reasons it is offline; 0 is online.
    attends : callable, optional
        Whether it attends to a tick, drawn for each tick; None attends to all.
    listens : callable, optional
        The same for each query that is sent to all owners.
    answers_reserved : int
        Answers under way that are not released yet, where there may be several.
    unanswered : BroadcastQuery, optional
        The newest query received that it has not begun to answer.
    heard : int
        Message number of the newest query to all owners that it received; 0 is none yet.
    distance : int
        Ticks that each of its messages takes through the network, besides its law.
    link : Link, optional
        Carries its messages where they can go wrong; None where all arrive.
    processor : Processor, optional
        Where it computes for several exchanges at once, sharing its speed among them; None where
        one does not slow another.
    request, query, compute, answer, acknowledgement, retry, delay : iterator of int, or None
        Durations in ticks of its messages, of one gradient, and of its waits; None takes no event.
    """

    number: int
    request: Durations = None
    query: Durations = None
    compute: Durations = None
    answer: Durations = None
    acknowledgement: Durations = None
    busy: bool = False
    offline_reasons: int = 0
    answers_reserved: int = 0
    distance: int = 0
    heard: int = 0
    online_at_tick: Attends | None = None
    online_for_query: Attends | None = None
    unanswered: BroadcastQuery | None = None
    link: "Link | None" = None
    processor: Processor | None = None
    retry: Durations = None
    delay: Durations = None

    def go_offline(self, learner: Learner) -> None:
        """Take one more reason to be offline; ticks of its clock are dropped."""
        self.offline_reasons += 1
        learner.presence_changes += 1
        if self.offline_reasons == 1:
            learner.recorder.offline(self.number)

    def go_online(self, learner: Learner) -> None:
        """Take one reason to be offline away."""
        self.offline_reasons -= 1
        learner.presence_changes += 1
        if self.offline_reasons == 0:
            learner.recorder.online(self.number)
            learner.absences.over(self.number)


def live(
    owner: Owner,
    ticks: Iterator[int],
    kernel: Kernel,
    learner: Learner,
    attempt: Callable[[Owner, Learner], Activity],
) -> Activity:
    """Run an owner's clock: each tick that finds the owner free begins an attempt.

    The owner falls silent when its budget is spent or its clock has no further tick.
    """
    number = owner.number
    event, active, start = learner.event, learner.active, kernel.start
    keeps_events = learner.keeps_events
    for tick in ticks:
        yield tick, AT_TICK
        if number not in active:
            return
        if owner.offline_reasons > 0 or (
            owner.online_at_tick is not None and not owner.online_at_tick(tick)
        ):
            event(CLOCK_DROPPED, number, detail=OFFLINE)
        elif owner.busy:
            event(CLOCK_DROPPED, number, detail=BUSY)
        else:
            if keeps_events:
                event(CLOCK_TICK, number)
            start(attempt(owner, learner))
            if number not in active:
                return
    learner.leave(number)


def one_answer_per_sum(attempt: Callable[[Owner, Learner], Activity]) -> Callable[..., Activity]:
    """Return attempts of owners that begin no other while an answer of theirs is in a sum.

    So no sum has two answers of one owner.
    """

    def begun(owner: Owner, learner: Learner) -> Activity:
        yield from attempt(owner, learner)
        while learner.sums is not None and (opens := learner.sums.of(owner.number)) is not None:
            owner.busy = True
            yield opens
        owner.busy = False

    return begun


def saturate(
    owner: Owner, learner: Learner, attempt: Callable[[Owner, Learner], Activity]
) -> Activity:
    """Run an owner that begins its next job the moment the last one ends.

    A query that is lost may take no time: so many in a row that the run has stalled end it.
    """
    at_once = 0
    while owner.number in learner.active and not learner.done and at_once < ATTEMPTS:
        tick = learner.kernel.tick
        yield from attempt(owner, learner)
        at_once = at_once + 1 if learner.kernel.tick == tick else 0
    if at_once == ATTEMPTS:
        learner.stall()
