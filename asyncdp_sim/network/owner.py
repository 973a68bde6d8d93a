"""An owner: a clock that ticks, and the durations that are its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asyncdp_sim.core.kernel import AT_TICK, Activity, Kernel
from asyncdp_sim.network.exchanges import BroadcastQuery
from asyncdp_sim.network.learner import ATTEMPTS, Learner
from asyncdp_sim.trace.vocabulary import BUSY, CLOCK_DROPPED, CLOCK_TICK, OFFLINE

if TYPE_CHECKING:
    from asyncdp_sim.network.channels.uplink import Link


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
