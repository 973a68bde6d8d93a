"""An owner: a clock that ticks, and the durations that are its own."""

from collections.abc import Callable, Iterator
from typing import Protocol

from asyncdp_sim.kernel import AT_TICK, Activity, Kernel, Waiting
from asyncdp_sim.network.delivery.policy import LostMessages, Patience
from asyncdp_sim.network.delivery.processor import Processor
from asyncdp_sim.network.learner import ATTEMPTS, BroadcastQuery, Learner
from asyncdp_sim.trace import Exchange
from asyncdp_sim.trace.vocabulary import BUSY, CLOCK_DROPPED, CLOCK_TICK, OFFLINE

Durations = Iterator[int] | None
Attends = Callable[[int], bool]


class Carrier(Protocol):
    """Carries an owner's messages where they can go wrong: a :class:`~.link.Link`."""

    carries_requests: bool
    losses: LostMessages

    def ask(self, message: int) -> Waiting[bool]:
        """Send a request; return whether it is on its way to the learner."""

    def patience(self, exchange: Exchange) -> Patience | None:
        """Return the learner's timer for an exchange that begins now, if it has one."""

    def hears(self, message: int, travelled: bool) -> bool:
        """Return whether a query that arrives now finds its owner, and note it."""

    def answer(self, exchange: Exchange, patience: Patience | None = None) -> Activity:
        """Compute and send until the answer has arrived or nothing is left to try."""

    def unheard(self, exchange: Exchange, patience: Patience | None) -> Activity:
        """End an exchange whose query did not find its owner."""


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
        The newest query that it heard and has not begun to answer.
    heard : int
        Message number of the newest query sent to all that it heard; 0 is none yet.
    distance : int
        Ticks that each of its messages takes through the network, besides its law.
    link : Carrier, optional
        Carries its messages where they can go wrong; None where all arrive.
    processor : Processor, optional
        Where it computes for several exchanges at once, sharing its speed among them; None where
        one does not slow another.
    request, query, compute, answer, acknowledgement, retry, delay : iterator of int, or None
        Durations in ticks of its messages, of one gradient, and of its waits; None takes no event.
    """

    __slots__ = (
        "acknowledgement",
        "answer",
        "answers_reserved",
        "attends",
        "busy",
        "compute",
        "delay",
        "distance",
        "heard",
        "link",
        "listens",
        "number",
        "offline_reasons",
        "processor",
        "query",
        "request",
        "retry",
        "unanswered",
    )

    def __init__(
        self,
        number: int,
        request: Durations = None,
        query: Durations = None,
        compute: Durations = None,
        answer: Durations = None,
        acknowledgement: Durations = None,
    ) -> None:
        self.number = number
        self.busy = False
        self.offline_reasons = 0
        self.answers_reserved = 0
        self.distance = 0
        self.heard = 0
        self.attends: Attends | None = None
        self.listens: Attends | None = None
        self.unanswered: BroadcastQuery | None = None
        self.link: Carrier | None = None
        self.processor: Processor | None = None
        self.request = request
        self.query = query
        self.compute = compute
        self.answer = answer
        self.acknowledgement = acknowledgement
        self.retry: Durations = None
        self.delay: Durations = None

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
        if owner.offline_reasons > 0 or (owner.attends is not None and not owner.attends(tick)):
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


def once_a_sum(attempt: Callable[[Owner, Learner], Activity]) -> Callable[..., Activity]:
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
