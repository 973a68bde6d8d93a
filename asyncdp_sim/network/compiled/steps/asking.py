"""Attempts, from a clock's tick to the learner: each step returns what comes next.

As :func:`~asyncdp_sim.network.owner.live` and
:class:`~asyncdp_sim.network.protocols.request.Request` have it.
"""

from typing import Any

from asyncdp_sim.network.compiled.steps.notes import NO_DETAIL, finish, note
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import ASK, REQUEST, REST, RETRY, TURN
from asyncdp_sim.trace import Detail, EventKind

# Numbers, as numba knows no enumerations of this kind.
CLOCK_DROPPED = int(EventKind.clock_dropped)
CLOCK_TICK = int(EventKind.clock_tick)
REQUEST_LOST = int(EventKind.request_lost)
REQUEST_QUEUED = int(EventKind.request_queued)
REQUEST_REFUSED = int(EventKind.request_refused)
REQUEST_SENT = int(EventKind.request_sent)
RETRIED = int(EventKind.retry)
AWAY, BUSY, NOISE = int(Detail.offline), int(Detail.busy), int(Detail.noise)


@step
def tick(s: Any, mine: Any, events: Any, owner: int, attends: bool) -> int:
    """Let a tick meet its owner, who asks if it is online and free."""
    if s.drawn_per_tick:
        mine.met += attends
        mine.missed += not attends
    if mine.away > 0 or (s.drawn_per_tick and not attends):
        note(s, events, CLOCK_DROPPED, owner, 0, 0, AWAY)
    elif mine.busy:
        note(s, events, CLOCK_DROPPED, owner, 0, 0, BUSY)
    else:
        note(s, events, CLOCK_TICK, owner, 0, 0, NO_DETAIL)
        return ASK
    return REST


@step
def ask(s: Any, mine: Any, events: Any, owner: int, lost: bool) -> int:
    """Begin an attempt: send a request."""
    s.pending += 1
    s.messages += 1
    mine.attempts += 1
    mine.message, mine.asked, mine.busy = s.messages, s.now, True
    note(s, events, REQUEST_SENT, owner, mine.message, 0, NO_DETAIL)
    if not lost:
        return REQUEST
    mine.unheard += 1
    note(s, events, REQUEST_LOST, owner, mine.message, 0, NOISE)
    return denied(s, mine, events, owner, NO_DETAIL)


@step
def arrive(s: Any, mine: Any, events: Any, line: Any, owner: int) -> int:
    """Let a request reach the learner, who serves, refuses, or lets it wait."""
    if not s.locked:
        return TURN
    if s.queues:
        note(s, events, REQUEST_QUEUED, owner, mine.message, 0, NO_DETAIL)
        line[(s.first_in_line + s.in_line) % len(line)] = owner
        s.in_line += 1
        return REST
    mine.refused += 1
    note(s, events, REQUEST_REFUSED, owner, mine.message, 0, NO_DETAIL)
    return denied(s, mine, events, owner, BUSY)


@step
def denied(s: Any, mine: Any, events: Any, owner: int, detail: int) -> int:
    """End an attempt that was refused or lost, unless it is to be made once more."""
    if s.retries:
        note(s, events, RETRIED, owner, mine.message, 0, detail)
        return RETRY
    mine.busy = False
    finish(s)
    return REST


@step
def ask_again(mine: Any) -> int:
    """Ask once more, unless the owner has gone or spent its budget."""
    mine.busy = False
    return ASK if mine.away == 0 and mine.answers_left > 0 else REST
