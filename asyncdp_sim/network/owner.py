"""An owner: a clock that ticks, and the durations that are its own."""

from collections.abc import Callable, Iterator

from asyncdp_sim.kernel import Activity, Kernel, Moment, Priority
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.trace import Detail, EventKind

# Bound once: looking a member up in its enumeration costs as much as a function call.
CLOCK_DROPPED = EventKind.clock_dropped
CLOCK_TICK = EventKind.clock_tick
BUSY = Detail.busy
OFFLINE = Detail.offline
AT_TICK = Priority.CLOCK_TICK


class Owner:
    """One owner's place in the network.

    Attributes
    ----------
    number : int
        From 1, as in the tables.
    busy : bool
        Whether it is sending, waiting or being served; its clock's ticks are dropped meanwhile.
    dark : int
        For how many reasons it is offline; 0 is online.
    attends : callable, optional
        Whether it attends to a tick, drawn for each tick; None attends to all.
    promised : int
        Jobs under way whose answer is not released yet, where jobs may overlap.
    request, query, compute, answer : iterator of int, or None
        Durations in ticks of its messages and of one gradient; None takes no event.
    """

    __slots__ = (
        "answer",
        "attends",
        "busy",
        "compute",
        "dark",
        "number",
        "promised",
        "query",
        "request",
    )

    def __init__(
        self,
        number: int,
        request: Iterator[int] | None,
        query: Iterator[int] | None,
        compute: Iterator[int] | None,
        answer: Iterator[int] | None,
    ) -> None:
        self.number = number
        self.busy = False
        self.dark = 0
        self.promised = 0
        self.attends: Callable[[int], bool] | None = None
        self.request = request
        self.query = query
        self.compute = compute
        self.answer = answer

    def go_offline(self, learner: Learner) -> None:
        """Take one more reason to be offline; ticks of its clock are dropped."""
        self.dark += 1
        if self.dark == 1:
            learner.recorder.offline(self.number)

    def go_online(self, learner: Learner) -> None:
        """Take one reason to be offline away."""
        self.dark -= 1
        if self.dark == 0:
            learner.recorder.online(self.number)


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
    event, active, start = learner.recorder.event, learner.active, kernel.start
    for tick in ticks:
        yield Moment(kernel, tick, AT_TICK)
        if number not in active:
            return
        if owner.dark > 0 or (owner.attends is not None and not owner.attends(tick)):
            event(CLOCK_DROPPED, number, detail=OFFLINE)
        elif owner.busy:
            event(CLOCK_DROPPED, number, detail=BUSY)
        else:
            event(CLOCK_TICK, number)
            start(attempt(owner, learner))
            if number not in active:
                return
    learner.leave(number)


def saturate(
    owner: Owner, learner: Learner, attempt: Callable[[Owner, Learner], Activity]
) -> Activity:
    """Run an owner that begins its next job the moment the last one ends."""
    while owner.number in learner.active and not learner.done:
        yield from attempt(owner, learner)
