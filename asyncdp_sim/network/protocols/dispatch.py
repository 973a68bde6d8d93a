"""Dispatch: the learner hands tasks out, a few at a time, and each that returns begins the next."""

from abc import abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import fsum
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.kernel import Activity, Priority, Signal, Waiting
from asyncdp_sim.core.specification import EACH_OWNER, FAMILY, Several, Variant, trait, wrong_length
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.network.laws import uniforms
from asyncdp_sim.network.learner import ATTEMPTS, Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.kind import ProtocolKind, one_every
from asyncdp_sim.trace import Detail, EventKind, Exchange


@dataclass(frozen=True)
class Known:
    """What the learner knows when it hands a task out.

    Attributes
    ----------
    updates : int
        k, updates so far.
    former : int
        Owner (from 1) whose task has just ended; 0 where none has, as at the start.
    under_way : tuple of int (N,)
        Tasks of each owner that have been handed out and have not ended.
    ended : tuple of int (N,)
        Tasks of each owner that have ended, with an answer or without.
    free : tuple of int
        Owners (from 1, ascending) that may be asked: their budgets are neither spent nor promised
        to tasks under way, and they were asked enough updates ago. There is one at least.
    """

    updates: int
    former: int
    under_way: tuple[int, ...]
    ended: tuple[int, ...]
    free: tuple[int, ...]


class PolicyKind(Variant):
    """A rule by which the learner chooses the owner of a task; it keeps nothing between tasks."""

    @abstractmethod
    def choose(self, known: Known, draws: Iterator[float]) -> int:
        """Return the owner (from 1) that the next task goes to, one of those that are free.

        Parameters
        ----------
        known : Known
        draws : iterator of float
            From U[0, 1), without end: the replicate's own stream ``dispatch``.
        """

    @abstractmethod
    def describe(self) -> str:
        """Return the choice of owners in words."""


class ShortestQueue(PolicyKind):
    """The owner with the fewest tasks under way; ties are drawn."""

    kind: Literal["shortest-queue"] = "shortest-queue"

    @override
    def choose(self, known: Known, draws: Iterator[float]) -> int:
        least = min(known.under_way[owner - 1] for owner in known.free)
        short = [owner for owner in known.free if known.under_way[owner - 1] == least]
        return short[int(next(draws) * len(short))] if len(short) > 1 else short[0]

    @override
    def describe(self) -> str:
        return "with the fewest tasks under way"


Policy = Annotated[ShortestQueue, FAMILY]
"""Every policy; a new one joins by its line here."""


def checked_choice(policy: PolicyKind, known: Known, draws: Iterator[float]) -> int:
    """Return the owner (from 1) that a policy chooses.

    Raises
    ------
    SpecError
        If it is none of the owners that are free: a policy from outside may return anything.
    """
    owner = policy.choose(known, draws)
    if isinstance(owner, int | np.integer) and owner in known.free:
        return int(owner)
    rule = "allowed is an owner that may be asked: one of known.free"
    raise SpecError([Fault("protocol.policy", f"{owner!r} by {policy.kind}", rule)])


class Desk:
    """Where tasks are handed out and come back.

    Parameters
    ----------
    owners : sequence of Owner
    learner : Learner
    streams : Scope
        The replicate's.
    protocol : Dispatch
    """

    def __init__(
        self, owners: Sequence[Owner], learner: Learner, streams: Scope, protocol: "Dispatch"
    ) -> None:
        self._owners = owners
        self._learner = learner
        self._protocol = protocol
        self._under_way = [0] * len(owners)
        self._ended = [0] * len(owners)
        self._chances = protocol.chances(len(owners))
        self._upto = list(accumulate(self._chances))
        self._draws = uniforms(partial(streams.generator, "dispatch"))
        self._last_in_turn = 0  # owner, from 1
        self._former = 0  # owner, from 1, whose task has just ended
        self._to_hand_out = 0  # tasks
        self._handing_out = False
        self._failed = 0  # tasks in a row that have ended without a released answer
        # by owner: the turns that tasks wait for while it works on earlier ones
        self._waiting: dict[int, deque[Signal]] = {owner.number: deque() for owner in owners}

    def hand_out(self, former: int = 0) -> None:
        """Hand out one more task, and those that no owner had room for before.

        What no owner has room for waits until a task ends. ``former`` is the owner (from 1) whose
        task has just ended, 0 at the start; the policy takes all these tasks to follow it.
        """
        self._to_hand_out += 1
        self._former = former
        if self._handing_out:  # a task that failed at once: the loop below continues with the next
            return
        self._handing_out = True
        while self._to_hand_out > 0 and not self._learner.stalled:
            owner = self._choose(self._former)
            if owner is None:
                break
            self._to_hand_out -= 1
            owner.answers_reserved += 1  # until its link releases the answer, or gives it up
            self._under_way[owner.number - 1] += 1
            learner = self._learner
            message = learner.begin(owner.number)
            exchange = learner.read(owner.number, message, learner.kernel.tick)
            learner.kernel.start(self._carry(owner, exchange))
        self._handing_out = False

    def _choose(self, former: int) -> Owner | None:
        """Return the owner of the next task; None if no owner has room for one."""
        if self._protocol.policy is not None:
            return self._by_policy(self._protocol.policy, former)
        if self._protocol.to == "drawn":
            return self._by_chance()
        back = self._protocol.to == "same" and former > 0
        if back and self._has_room(self._owners[former - 1]):
            return self._owners[former - 1]
        return self._in_turn()

    def _by_policy(self, policy: PolicyKind, former: int) -> Owner | None:
        free = tuple(owner.number for owner in self._owners if self._has_room(owner))
        if len(free) == 0:
            return None
        tasks = tuple(self._under_way), tuple(self._ended)
        known = Known(self._learner.updates, former, *tasks, free)
        return self._owners[checked_choice(policy, known, self._draws) - 1]

    def _by_chance(self) -> Owner | None:
        """Draw one of all owners; if it has no room, draw again, of those that have.

        An owner is drawn as often as by one draw among those with room; most draws do without
        a list of these, which takes a time that grows with N.
        """
        owner = self._drawn(self._owners, self._upto)
        if owner is not None and self._has_room(owner):
            return owner
        free = [owner for owner in self._owners if self._has_room(owner)]
        return self._drawn(free, list(accumulate(self._chances[each.number - 1] for each in free)))

    def _in_turn(self) -> Owner | None:
        """Return the next owner with room, by number, after the last one of this rule."""
        free = [owner for owner in self._owners if self._has_room(owner)]
        following = [owner for owner in free if owner.number > self._last_in_turn]
        owner = next(iter([*following, *free]), None)
        if owner is not None:
            self._last_in_turn = owner.number
        return owner

    def _drawn(self, owners: Sequence[Owner], upto: list[float]) -> Owner | None:
        """Draw an owner with probabilities whose cumulative sums are ``upto``; None of nothing."""
        if len(upto) == 0 or upto[-1] == 0:
            return None
        return owners[bisect_right(upto, next(self._draws) * upto[-1], hi=len(upto) - 1)]

    def _has_room(self, owner: Owner) -> bool:
        """Return whether one more task may go to an owner.

        It has budget left beyond its tasks under way, has not left, and was asked long enough ago.
        """
        learner, number = self._learner, owner.number
        unspent = owner.answers_reserved < learner.answers_left[number]
        return unspent and learner.awaits(number) and learner.due(number)

    def _carry(self, owner: Owner, exchange: Exchange) -> Activity:
        """Carry a task to its owner and the answer back, and hand the next one out."""
        learner, link, number = self._learner, owner.link, owner.number
        delivered = yield from link.deliver(exchange.message)
        queued = delivered and self._protocol.queue == "fifo"
        if queued:
            yield from self._wait(owner)
        if delivered and (yield from self._comes_online(owner, exchange.message)):
            yield from link.answer(exchange)
        else:
            yield from link.query_lost(exchange)
        if queued:
            self._go_on(owner)
        self._under_way[number - 1] -= 1
        self._ended[number - 1] += 1
        self._failed = 0 if exchange.transmissions > 0 else self._failed + 1
        if self._failed == ATTEMPTS:  # tasks that fail at once would take no time for ever
            learner.stall()
        self.hand_out(number)
        learner.finish()

    def _wait(self, owner: Owner) -> Activity:
        """Wait until an owner has done what it was asked before."""
        if owner.busy:
            turn = Signal(self._learner.kernel)
            self._waiting[owner.number].append(turn)
            yield turn
        owner.busy = True

    def _comes_online(self, owner: Owner, message: int) -> Waiting[bool]:
        """Wait until an owner is online; return False if it has left for good."""
        learner, number = self._learner, owner.number
        while owner.offline_reasons > 0:
            if not learner.awaits(number):
                learner.event(EventKind.query_lost, number, message, detail=Detail.offline)
                return False
            yield learner.absences.end(number)
        return True

    def _go_on(self, owner: Owner) -> None:
        """Let an owner turn to what it was asked next."""
        waiting = self._waiting[owner.number]
        owner.busy = len(waiting) > 0
        if owner.busy:
            waiting.popleft().fire(self._learner.kernel.tick, Priority.TURN)


Queue = Literal["fifo", "shared", "none"]
"""How owners work on several tasks: one after the other; on all, at a shared speed; or on all, each
at full speed."""


class Dispatch(ProtocolKind):
    """m tasks under way at a time, each at an owner that the learner has chosen.

    A task carries the model at the time when it is sent. An owner works on its tasks one after the
    other, first come first served, or on all of them at once, either at a shared speed or at full
    speed each. An answer that arrives makes an update; an answer that fails does not. In both cases
    the learner sends the next task at once. An owner that is offline starts on its tasks when it is
    online again; if availability is drawn, it is drawn for each task. Clocks are not used.

    The next task goes to an owner that is drawn, to the next one in turn, or to the same owner as
    the task that has ended; at the start, and if that owner has no budget left, to the next one in
    turn.
    """

    acts_on_ticks = False
    reads_early = True
    restarts_immediately = True
    paced_by = ("compute", "owners whose jobs end")
    at_mean = True
    keeps_apart = True
    update_of = "answer"
    one_each = False
    may_idle = False  # the desk counts tasks that fail
    shares_work = trait(lambda self: self.queue == "shared")
    left_open = trait(lambda self: self.tasks - 1)

    kind: Literal["dispatch"] = "dispatch"
    tasks: Annotated[int, Field(ge=1, le=10**6)]
    """m, tasks under way at a time."""
    to: Literal["drawn", "in-turn", "same"] = "drawn"
    """The owner of the next task, where no policy chooses it."""
    probabilities: Annotated[Several[Annotated[float, Field(gt=0, le=1)]], EACH_OWNER] | None = None
    """Weights with which owners are drawn; None: all alike."""
    policy: Policy | None = None
    """Chooses the owner of the next task instead of ``to``."""
    queue: Queue = "fifo"
    """How an owner works on several tasks."""

    @override
    def own_faults(self) -> Iterator[Fault]:
        if self.probabilities is not None and self.to != "drawn":
            yield Fault("probabilities", "a list", 'allowed only with to = "drawn"')
        elif self.policy is not None and (self.to != "drawn" or self.probabilities is not None):
            rule = 'allowed only without probabilities, and with to = "drawn"'
            yield Fault("policy", "a table", rule)

    def chances(self, n_owners: int) -> tuple[float, ...]:
        """Return p_i, or each owner's share of the tasks where none is drawn."""
        weights = (1.0,) * n_owners if self.probabilities is None else self.probabilities
        total = fsum(weights)
        return tuple(weight / total for weight in weights)

    @override
    def selection_probabilities(self, n_owners: int) -> tuple[float, ...] | None:
        follows_owners = self.to == "same" or self.policy is not None
        return None if follows_owners else self.chances(n_owners)

    @override
    def rates(self, network: Any) -> tuple[float, ...] | None:
        """Return the rate of tasks at most: that of the fastest owner."""
        return one_every(min(network.exchange_times()) / self.tasks)

    @override
    def faults_of_network(self, network: Any) -> list[Fault]:
        return wrong_length("protocol.probabilities", self.probabilities, network.n_owners, "")

    @override
    def describe(self, network: Any, duration: str, mean: float) -> Iterator[str]:
        owner = {
            "drawn": "owners drawn at random",
            "in-turn": "owners in turn",
            "same": "the owner whose task has just ended",
        }
        chosen = owner[self.to] if self.policy is None else f"owners {self.policy.describe()}"
        yield f"network: {self.tasks} tasks at a time, to {chosen}, {duration}"

    @override
    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            owner.draw_for_queries()
        desk = Desk(owners, learner, streams, self)
        for _ in range(self.tasks):
            desk.hand_out()
