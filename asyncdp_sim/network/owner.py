"""An owner: a clock that ticks, and the durations that are its own."""

from collections.abc import Callable, Iterator

from asyncdp_sim.kernel import Activity, Kernel, Priority
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.trace import EventKind

# Bound once: looking a member up in its enumeration costs as much as a function call.
CLOCK_DROPPED = EventKind.clock_dropped
CLOCK_TICK = EventKind.clock_tick
AT_TICK = Priority.CLOCK_TICK


class Owner:
    """One owner's place in the network.

    Attributes
    ----------
    number : int
        From 1, as in the tables.
    busy : bool
        Whether it is sending, waiting or being served; its clock's ticks are dropped meanwhile.
    request, query, compute, answer : iterator of int, or None
        Durations in ticks of its messages and of one gradient; None takes no event.
    """

    __slots__ = ("answer", "busy", "compute", "number", "query", "request")

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
        self.request = request
        self.query = query
        self.compute = compute
        self.answer = answer


def live(
    owner: Owner,
    ticks: Iterator[int],
    kernel: Kernel,
    learner: Learner,
    attempt: Callable[[Owner], Activity],
) -> Activity:
    """Run an owner's clock: each tick that finds the owner free begins an attempt.

    The owner falls silent when its budget is spent or its clock has no further tick.
    """
    number = owner.number
    event, left = learner.recorder.event, learner.answers_left
    for tick in ticks:
        yield kernel.at(tick, AT_TICK)
        if left[number] == 0:
            return
        if owner.busy:
            event(CLOCK_DROPPED, number)
        else:
            event(CLOCK_TICK, number)
            kernel.start(attempt(owner))
            if left[number] == 0:
                return
    learner.leave(number)
