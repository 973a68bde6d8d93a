"""Losses and the learner's patience, which ends the wait for an answer.

As :class:`~asyncdp_sim.network.delivery.timeout.Patience` has it.
"""

from typing import Any

from asyncdp_sim.kernel import Priority
from asyncdp_sim.network.compiled.steps.ending import unlock
from asyncdp_sim.network.compiled.steps.heap import push
from asyncdp_sim.network.compiled.steps.notes import NO_DETAIL, note, note_exchange
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import (
    AGAIN,
    AT_WORK,
    COMPUTE,
    ENDING,
    GIVE_UP,
    LEARNING,
    NUMBER,
    REST,
    SEND,
    TIMER,
)
from asyncdp_sim.trace import EventKind, ExchangeOutcome

TIMEOUT = int(EventKind.timeout)
ABANDONED = int(ExchangeOutcome.abandoned)
LOST = int(ExchangeOutcome.lost)
AT_TIMEOUT = int(Priority.TIMEOUT)


@step
def time_out(s: Any, mine: Any, heap: Any, owner: int) -> None:
    """Start the learner's patience, where it has an end."""
    if s.timeout > 0:
        mine.timer = s.scheduled
        push(s, heap, s.timeout, AT_TIMEOUT, TIMER, owner)


@step
def last_wait(s: Any, mine: Any) -> int:
    """Wait until the learner's patience ends, where it has not, and give up."""
    if s.timeout > 0 and not mine.ended:
        mine.waiting = ENDING
        return REST
    return GIVE_UP


@step
def after_loss(s: Any, mine: Any) -> int:
    """Try again if that may be, as soon as the sender knows; else give up."""
    if mine.tries == s.attempts:
        return last_wait(s, mine)
    if s.timeout == 0:
        return AGAIN
    if mine.ended:
        return GIVE_UP
    mine.waiting = LEARNING
    return REST


@step
def again(s: Any, mine: Any, heap: Any, rows: Any, owner: int) -> int:
    """Send the answer again, or begin a fresh one, where the budget has another."""
    time_out(s, mine, heap, owner)
    if not s.fresh:
        return SEND
    if mine.answers_left == 0:
        return last_wait(s, mine)
    s.messages += 1
    s.recomputed += 1
    note_exchange(s, mine, rows, owner, LOST)
    mine.message, mine.asked, mine.transmissions = s.messages, s.now, 0
    mine.outcome = ABANDONED
    return COMPUTE


@step
def ring(s: Any, mine: Any, events: Any, heap: Any, line: Any, owner: int) -> int:
    """End the learner's patience: a sender learns of a loss, or the learner is free."""
    if not mine.open or mine.timer != s.order & NUMBER:
        return REST
    note(s, events, TIMEOUT, owner, mine.message, 0, NO_DETAIL)
    waited, mine.waiting = mine.waiting, AT_WORK
    if waited == LEARNING:
        return AGAIN
    mine.ended, mine.ended_tick, mine.ended_k = True, s.now, s.updates
    unlock(s, heap, line)
    return GIVE_UP if waited == ENDING else REST
