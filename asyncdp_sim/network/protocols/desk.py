"""The desk at which a learner hands tasks out, and to which they come back."""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from asyncdp_sim.kernel import Activity, Priority, Signal
from asyncdp_sim.network.laws.drawn import uniforms
from asyncdp_sim.network.learner import ATTEMPTS, Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.policies import Known, Policy, chosen
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Detail, EventKind, Exchange


class Desk:
    """Where tasks are handed out and come back.

    Parameters
    ----------
    owners : sequence of Owner
    learner : Learner
    streams : Scope
        The replicate's.
    to : str
        "drawn", "in-turn" or "same".
    policy : Policy or None
        What chooses whom the next task goes to, instead.
    chances : tuple of float
        p_i.
    one_by_one : bool
        Whether an owner works at one task after the other.
    """

    def __init__(
        self,
        owners: Sequence[Owner],
        learner: Learner,
        streams: Scope,
        *,
        to: str,
        policy: Policy | None,
        chances: tuple[float, ...],
        one_by_one: bool,
    ) -> None:
        self._owners = owners
        self._learner = learner
        self._to = to
        self._policy = policy
        self._under_way = [0] * len(owners)
        self._ended = [0] * len(owners)
        self._chances = chances
        self._upto = list(accumulate(self._chances))
        self._draws = uniforms(partial(streams.generator, "dispatch"))
        self._last = 0
        self._former = 0
        self._kept = 0
        self._handing_out = False
        self._failed = 0
        self._one_by_one = one_by_one
        self._lines: dict[int, deque[Signal]] = {owner.number: deque() for owner in owners}

    def hand_out(self, former: int = 0) -> None:
        """Hand the next task out, and those for which nobody had budget left before."""
        self._kept += 1
        self._former = former
        if self._handing_out:  # a task that failed at once: the loop below goes on with the next
            return
        self._handing_out = True
        while self._kept > 0 and not self._learner.stalled:
            owner = self._choose(self._former)
            if owner is None:
                break
            self._kept -= 1
            owner.answers_reserved += 1
            self._under_way[owner.number - 1] += 1
            learner = self._learner
            message = learner.begin(owner.number)
            exchange = learner.read(owner.number, message, learner.kernel.tick)
            learner.kernel.start(self._carry(owner, exchange))
        self._handing_out = False

    def _choose(self, former: int) -> Owner | None:
        """Return whom the next task goes to; None where nobody can take one."""
        wanted = self._wanted(former)
        if wanted is not None and self._has_room(wanted):
            return wanted
        free = [owner for owner in self._owners if self._has_room(owner)]
        if self._policy is not None and len(free) > 0:
            known = self._known(former, tuple(owner.number for owner in free))
            return self._owners[chosen(self._policy, known, self._draws) - 1]
        if self._to == "drawn":
            upto = list(accumulate(self._chances[owner.number - 1] for owner in free))
            return self._drawn(free, upto)
        following = next((owner for owner in free if owner.number > self._last), None)
        found = following or next(iter(free), None)
        self._last = self._last if found is None else found.number
        return found

    def _known(self, former: int, free: tuple[int, ...]) -> Known:
        """Return what the learner knows now."""
        k, tasks = self._learner.updates, (tuple(self._under_way), tuple(self._ended))
        return Known(k, former, *tasks, free)

    def _wanted(self, former: int) -> Owner | None:
        """Return who is next, were all free to take a task; None where those that are decide."""
        if self._policy is not None:
            return None
        if self._to == "drawn":
            return self._drawn(self._owners, self._upto)
        return self._owners[former - 1] if self._to == "same" and former > 0 else None

    def _drawn(self, owners: Sequence[Owner], upto: list[float]) -> Owner | None:
        """Draw one of some owners, in proportion to the steps of ``upto``; None of nothing."""
        if len(upto) == 0 or upto[-1] == 0:
            return None
        return owners[bisect_right(upto, next(self._draws) * upto[-1], hi=len(upto) - 1)]

    def _has_room(self, owner: Owner) -> bool:
        """Return whether an owner may release one more answer than it has been asked for."""
        learner, number = self._learner, owner.number
        return learner.awaits(number) and owner.answers_reserved < learner.answers_left[number]

    def _carry(self, owner: Owner, exchange: Exchange) -> Activity:
        """Carry a task to its owner and the answer back, and hand the next one out."""
        learner, link, number = self._learner, owner.link, owner.number
        kernel, message = learner.kernel, exchange.message
        if owner.query is not None:
            yield kernel.tick + next(owner.query), Priority.QUERY_ARRIVES
        if owner.listens is not None and not owner.listens(kernel.tick):
            learner.event(EventKind.query_lost, number, message, detail=Detail.offline)
            heard = False
        else:
            heard = link is not None and link.hears(message, owner.query is not None)
        mine = heard and self._one_by_one
        if mine:
            yield from self._wait(owner)
        while heard and owner.offline_reasons > 0:
            if learner.awaits(number):
                yield learner.absences.end(number)
            else:  # it has left for good
                learner.event(EventKind.query_lost, number, message, detail=Detail.offline)
                heard = False
        if link is not None:
            yield from link.answer(exchange) if heard else link.unheard(exchange, None)
        if mine:
            self._go_on(owner)
        self._under_way[number - 1] -= 1
        self._ended[number - 1] += 1
        self._failed = 0 if exchange.transmissions > 0 else self._failed + 1
        if self._failed == ATTEMPTS:
            learner.stall()
        self.hand_out(number)
        learner.finish()

    def _wait(self, owner: Owner) -> Activity:
        """Wait until an owner has done what it was asked before."""
        if owner.busy:
            turn = Signal(self._learner.kernel)
            self._lines[owner.number].append(turn)
            yield turn
        owner.busy = True

    def _go_on(self, owner: Owner) -> None:
        """Let an owner turn to what it was asked next."""
        line = self._lines[owner.number]
        owner.busy = len(line) > 0
        if owner.busy:
            line.popleft().fire(self._learner.kernel.tick, Priority.TURN)
