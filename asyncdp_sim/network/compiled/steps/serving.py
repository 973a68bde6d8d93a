"""Exchanges, from the learner's lock to their end: each step returns what comes next.

As :class:`~asyncdp_sim.network.delivery.link.Link` and the learner have it.
"""

from typing import Any

from asyncdp_sim.network.compiled.steps.ending import end, update
from asyncdp_sim.network.compiled.steps.notes import NO_DETAIL, note, note_exchange
from asyncdp_sim.network.compiled.steps.patience import after_loss, last_wait, time_out
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import ANSWER, AT_WORK, COMPUTE, GIVE_UP, QUERY, REST
from asyncdp_sim.trace import Detail, EventKind, ExchangeOutcome

# Numbers, as numba knows no enumerations of this kind.
ANSWER_DELIVERED = int(EventKind.answer_delivered)
ANSWER_DISCARDED = int(EventKind.answer_discarded)
ANSWER_LOST = int(EventKind.answer_lost)
ANSWER_RELEASED = int(EventKind.answer_released)
ANSWER_RESENT = int(EventKind.answer_resent)
BUDGET_EXHAUSTED = int(EventKind.budget_exhausted)
QUERY_LOST = int(EventKind.query_lost)
QUERY_RECEIVED = int(EventKind.query_received)
QUERY_SENT = int(EventKind.query_sent)
AWAY, LATE, NOISE = int(Detail.offline), int(Detail.late), int(Detail.noise)
ABANDONED = int(ExchangeOutcome.abandoned)
APPLIED = int(ExchangeOutcome.applied)
DISCARDED = int(ExchangeOutcome.discarded)
LOST = int(ExchangeOutcome.lost)


@step
def serve(s: Any, mine: Any, events: Any, heap: Any, owner: int) -> int:
    """Lock, read the model for an owner, and send it the query."""
    s.locked = True
    mine.open, mine.ended, mine.waiting = True, False, AT_WORK
    mine.tries, mine.transmissions, mine.outcome = 0, 0, ABANDONED
    mine.read_tick, mine.read_k = s.now, s.updates
    note(s, events, QUERY_SENT, owner, mine.message, 0, NO_DETAIL)
    time_out(s, mine, heap, owner)
    return QUERY


@step
def hear(s: Any, mine: Any, events: Any, owner: int, lost: bool, travelled: bool) -> int:
    """Let a query reach its owner, if it does and the owner listens."""
    if lost:
        note(s, events, QUERY_LOST, owner, mine.message, 0, NOISE)
        return last_wait(s, mine)
    if s.vanishes and mine.away > 0:
        note(s, events, QUERY_LOST, owner, mine.message, 0, AWAY)
        return last_wait(s, mine)
    if travelled:
        note(s, events, QUERY_RECEIVED, owner, mine.message, 0, NO_DETAIL)
    return COMPUTE


@step
def send(s: Any, mine: Any, events: Any, owner: int) -> int:
    """Begin a transmission of the answer; the first is charged."""
    mine.tries += 1
    if mine.ended or (s.vanishes and mine.away > 0):
        return last_wait(s, mine)
    mine.transmissions += 1
    if mine.transmissions > 1:
        note(s, events, ANSWER_RESENT, owner, mine.message, mine.transmissions, NO_DETAIL)
        return ANSWER
    mine.release_tick = s.now
    note(s, events, ANSWER_RELEASED, owner, mine.message, 1, NO_DETAIL)
    s.released += 1
    mine.answers_left -= 1
    if mine.answers_left == 0:
        note(s, events, BUDGET_EXHAUSTED, owner, 0, 0, NO_DETAIL)
        mine.active = False
        s.awaited -= mine.awaited
        mine.awaited = False
    return ANSWER


@step
def land(w: Any, s: Any, mine: Any, owner: int, lost: bool) -> int:
    """Let a transmission end: lost, too late, or with the learner."""
    if lost:
        note(s, w.events, ANSWER_LOST, owner, mine.message, mine.transmissions, NOISE)
        mine.outcome = LOST
        return after_loss(s, mine)
    if mine.ended:
        note(s, w.events, ANSWER_DISCARDED, owner, mine.message, mine.transmissions, LATE)
        mine.outcome = DISCARDED
        return GIVE_UP
    note(s, w.events, ANSWER_DELIVERED, owner, mine.message, mine.transmissions, NO_DETAIL)
    mine.outcome = APPLIED
    s.lacking -= 1
    note_exchange(s, mine, w.rows, owner, APPLIED)
    if s.lacking == 0:
        update(s, w.events, w.update_ticks, owner, mine.message)
    end(s, mine, w.heap, w.line)
    return REST
