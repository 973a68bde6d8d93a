"""The event loop of protocol ``request`` on an ideal channel, as numba compiles it.

The same events in the same order as :mod:`asyncdp_sim.kernel` and the activities of owners and
learner give them, from the same numbers: same bits. What happens is told there; here each step is
a function of the :class:`~.world.World`, and an event says which of them comes next.

Draws are NumPy's own: the one generator takes the state of a stream, draws, and hands it back.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from asyncdp_sim.kernel import Priority
from asyncdp_sim.network.compiled.world import (
    ANSWER,
    ASK_AGAIN,
    CLOCK,
    COMPUTE,
    CONSTANT,
    DONE,
    EVENTS_EACH,
    EXPONENTIAL,
    GAMMA,
    INSTANT,
    LOGNORMAL,
    OFFLINE,
    ONLINE,
    ORDER,
    PRESENCE,
    QUERY,
    REQUEST,
    RETRY,
    ROOM,
    STREAMS,
    TICKS,
    TURN,
    WATCH,
)
from asyncdp_sim.trace import Detail, EventKind, ExchangeOutcome
from asyncdp_sim.units import LAST_TICK, TICKS_PER_UNIT

# Numbers, as numba knows no enumerations of this kind.
ANSWER_DELIVERED = int(EventKind.answer_delivered)
ANSWER_RELEASED = int(EventKind.answer_released)
BUDGET_EXHAUSTED = int(EventKind.budget_exhausted)
CLOCK_DROPPED = int(EventKind.clock_dropped)
CLOCK_TICK = int(EventKind.clock_tick)
QUERY_RECEIVED = int(EventKind.query_received)
QUERY_SENT = int(EventKind.query_sent)
REQUEST_QUEUED = int(EventKind.request_queued)
REQUEST_REFUSED = int(EventKind.request_refused)
REQUEST_SENT = int(EventKind.request_sent)
RETRIED = int(EventKind.retry)
UPDATE_APPLIED = int(EventKind.update_applied)
WENT_OFFLINE = int(EventKind.went_offline)
WENT_ONLINE = int(EventKind.went_online)
NO_DETAIL, BUSY, AWAY = int(Detail.none), int(Detail.busy), int(Detail.offline)
APPLIED = int(ExchangeOutcome.applied)
AT_ANSWER_END = int(Priority.ANSWER_END)
AT_CLOCK_TICK = int(Priority.CLOCK_TICK)
AT_GRADIENT_READY = int(Priority.GRADIENT_READY)
AT_PRESENCE = int(Priority.PRESENCE)
AT_QUERY_ARRIVES = int(Priority.QUERY_ARRIVES)
AT_REQUEST_ARRIVES = int(Priority.REQUEST_ARRIVES)
AT_TRANSMISSION_BEGINS = int(Priority.TRANSMISSION_BEGINS)
AT_TURN = int(Priority.TURN)


F = TypeVar("F", bound=Callable[..., Any])


def step(function: F) -> F:
    """Compile a step of the loop, into the loop."""
    made = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")
    return cast("F", made(function))


def entered(function: F) -> F:
    """Compile the loop, which Python calls, and keep it on the disk where that can be.

    Unpacking a world is slow to compile, so that there is one of these.
    """
    try:
        return cast("F", njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # nowhere to keep what was compiled
        return cast("F", njit(error_model="numpy")(function))


@entered
def run(w: Any, generator: Any) -> int:
    """Let events happen until the run is over (DONE), or tables lack room (ROOM, STREAMS)."""
    s, owners = w.state[0], w.owners
    if s.scheduled == 0:
        begin(w, generator)
    while not s.stopped and s.queued > 0 and w.heap[0].tick < s.horizon:
        if lacks_room(w):
            return ROOM
        what, owner = w.heap[0].what, w.heap[0].owner
        if what == CLOCK and not owners[owner].seeded:
            s.wanting = owner
            return STREAMS
        if what == CLOCK and s.superposed and s.crowd_at + 1 == len(w.crowd_ticks):
            return TICKS
        s.now = w.heap[0].tick
        pop(w)
        if what == CLOCK:
            tick(w, generator, owner)
        elif what == REQUEST:
            arrive(w, generator, owner)
        elif what == TURN:
            serve(w, generator, owner)
        elif what == QUERY:
            hear(w, generator, owner)
        elif what == COMPUTE:
            release(w, generator, owner)
        elif what == ANSWER:
            apply(w, owner)
        elif what == ASK_AGAIN:
            ask_again(w, generator, owner)
        elif what == PRESENCE:
            come_or_go(w, generator, owner)
        else:
            look(w)
    return DONE


@step
def lacks_room(w: Any) -> bool:
    """Whether a table may be too short for what happens next."""
    s = w.state[0]
    full = s.n_rows == len(w.rows) or s.updates == len(w.update_ticks)
    return bool(full or (s.keeps_events and s.n_events + EVENTS_EACH > len(w.events)))


@step
def begin(w: Any, generator: Any) -> None:
    """Start what brings owners on and off line, the clocks, and the watch over them."""
    s, owners = w.state[0], w.owners
    for owner in range(1, len(owners)):
        if owners[owner].away > 0:
            s.presence_changes += 1
            note(w, WENT_OFFLINE, owner, 0, 0, NO_DETAIL)
        if s.alternates:
            push(w, owners[owner].next_change, AT_PRESENCE, PRESENCE, owner)
    if s.superposed:
        push(w, w.crowd_ticks[0], AT_CLOCK_TICK, CLOCK, w.crowd_owners[0])
    else:
        for owner in range(1, len(owners)):
            gap = owners[owner].phase + drawn(w, generator, CLOCK, owner)
            push(w, gap, AT_CLOCK_TICK, CLOCK, owner)
    if s.look_period > 0:
        look(w)


@step
def push(w: Any, ticks: int, priority: int, what: int, owner: int) -> None:
    """Let something happen so many ticks from now."""
    s, heap = w.state[0], w.heap
    tick = min(s.now + ticks, LAST_TICK)
    order = (priority << ORDER) | s.scheduled
    s.scheduled += 1
    place = s.queued
    s.queued += 1
    while place > 0:
        above = (place - 1) >> 1
        if heap[above].tick < tick or (heap[above].tick == tick and heap[above].order < order):
            break
        heap[place] = heap[above]
        place = above
    heap[place].tick, heap[place].order = tick, order
    heap[place].what, heap[place].owner = what, owner


@step
def pop(w: Any) -> None:
    """Take the first event away."""
    s, heap = w.state[0], w.heap
    s.queued -= 1
    last = s.queued
    tick, order = heap[last].tick, heap[last].order
    place = 0
    while True:
        below = 2 * place + 1
        if below >= last:
            break
        other = below + 1
        if other < last and (
            heap[other].tick < heap[below].tick
            or (heap[other].tick == heap[below].tick and heap[other].order < heap[below].order)
        ):
            below = other
        if tick < heap[below].tick or (tick == heap[below].tick and order < heap[below].order):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = heap[last]


@step
def drawn(w: Any, generator: Any, stage: int, owner: int) -> int:
    """Return the next duration of an owner's stage, in ticks."""
    place = column(w, owner)
    law = w.laws[stage, place]
    if law.code <= CONSTANT:
        return int(law.extra)
    words = w.streams[stage, place]
    copy(words, w.memory)
    if law.code == EXPONENTIAL:
        units = generator.exponential(law.first)
    elif law.code == LOGNORMAL:
        units = generator.lognormal(law.first, law.second)
    elif law.code == GAMMA:
        units = generator.gamma(law.first, law.second)
    else:
        units = generator.uniform(law.first, law.second)
    copy(w.memory, words)
    return int(law.extra) + int(min(np.rint(min(units, 1e10) * TICKS_PER_UNIT), LAST_TICK))


@step
def column(w: Any, owner: int) -> int:
    """Return where an owner's laws and streams stand."""
    return 0 if w.state[0].superposed else owner


@step
def instant(w: Any, stage: int, owner: int) -> bool:
    """Whether an owner's stage takes no event."""
    return bool(w.laws[stage, column(w, owner)].code == INSTANT)


@step
def copy(source: Any, target: Any) -> None:
    """Copy the state of a generator."""
    for i in range(4):
        target[i] = source[i]


@step
def note(w: Any, kind: int, owner: int, message: int, attempt: int, detail: int) -> None:
    """Note an event at this tick, where events are kept."""
    s = w.state[0]
    if s.keeps_events:
        row = w.events[s.n_events]
        row.tick, row.kind, row.owner = s.now, kind, owner
        row.message, row.attempt, row.detail = message, attempt, detail
        s.n_events += 1


@step
def tick(w: Any, generator: Any, owner: int) -> None:
    """Let an owner's clock tick: :func:`~asyncdp_sim.network.owner.live`."""
    if w.state[0].superposed:
        tick_for_all(w, generator)
        return
    mine = w.owners[owner]
    if mine.active:
        meet(w, generator, owner)
    if mine.active:
        push(w, drawn(w, generator, CLOCK, owner), AT_CLOCK_TICK, CLOCK, owner)


@step
def tick_for_all(w: Any, generator: Any) -> None:
    """Let the one clock of all owners tick until something else is to happen first."""
    s, heap = w.state[0], w.heap
    while True:
        owner = w.crowd_owners[s.crowd_at]
        mine = w.owners[owner]
        if s.locked and s.refuses_unseen:
            if mine.active and not mine.busy:  # all that comes of it, and nobody is told
                s.messages += 1
                mine.attempts += 1
                mine.refused += 1
        elif mine.active:
            meet(w, generator, owner)
        s.crowd_at += 1
        following = w.crowd_ticks[s.crowd_at]
        first = s.queued == 0 or following < heap[0].tick
        last = s.crowd_at + 1 == len(w.crowd_ticks)
        if s.stopped or last or not first or following >= s.horizon or lacks_room(w):
            break
        s.now = following
    push(w, following - s.now, AT_CLOCK_TICK, CLOCK, w.crowd_owners[s.crowd_at])


@step
def meet(w: Any, generator: Any, owner: int) -> None:
    """Let a tick meet its owner, who asks if it is online and free."""
    mine = w.owners[owner]
    if mine.away > 0 or not attends(w, generator, owner):
        note(w, CLOCK_DROPPED, owner, 0, 0, AWAY)
    elif mine.busy:
        note(w, CLOCK_DROPPED, owner, 0, 0, BUSY)
    else:
        note(w, CLOCK_TICK, owner, 0, 0, NO_DETAIL)
        ask(w, generator, owner)


@step
def attends(w: Any, generator: Any, owner: int) -> bool:
    """Whether an owner attends to a tick, where that is drawn for each."""
    s, mine = w.state[0], w.owners[owner]
    if not s.drawn_per_tick:
        return True
    words = w.streams[PRESENCE, owner]
    copy(words, w.memory)
    met = bool(generator.random() < w.laws[PRESENCE, owner].first)
    copy(w.memory, words)
    if met:
        mine.met += 1
    else:
        mine.missed += 1
    return met


@step
def ask(w: Any, generator: Any, owner: int) -> None:
    """Begin an attempt: :meth:`~asyncdp_sim.network.protocols.request.Request.attempt`."""
    s, mine = w.state[0], w.owners[owner]
    s.pending += 1
    s.messages += 1
    mine.attempts += 1
    mine.message, mine.asked, mine.busy = s.messages, s.now, True
    note(w, REQUEST_SENT, owner, mine.message, 0, NO_DETAIL)
    if instant(w, REQUEST, owner):
        arrive(w, generator, owner)
    else:
        push(w, drawn(w, generator, REQUEST, owner), AT_REQUEST_ARRIVES, REQUEST, owner)


@step
def arrive(w: Any, generator: Any, owner: int) -> None:
    """Let a request reach the learner, who serves, refuses, or lets it wait."""
    s, mine = w.state[0], w.owners[owner]
    if not s.locked:
        serve(w, generator, owner)
    elif s.queues:
        note(w, REQUEST_QUEUED, owner, mine.message, 0, NO_DETAIL)
        w.line[(s.first_in_line + s.in_line) % len(w.line)] = owner
        s.in_line += 1
    else:
        mine.refused += 1
        note(w, REQUEST_REFUSED, owner, mine.message, 0, NO_DETAIL)
        if s.retries:
            note(w, RETRIED, owner, mine.message, 0, BUSY)
            wait = drawn(w, generator, RETRY, owner)
            push(w, wait, AT_TRANSMISSION_BEGINS, ASK_AGAIN, owner)
        else:
            mine.busy = False
            finish(w)


@step
def ask_again(w: Any, generator: Any, owner: int) -> None:
    """Ask once more, unless the owner has gone or spent its budget."""
    mine = w.owners[owner]
    mine.busy = False
    if mine.away == 0 and mine.answers_left > 0:
        ask(w, generator, owner)
    finish(w)


@step
def serve(w: Any, generator: Any, owner: int) -> None:
    """Lock, read the model for an owner, and send it the query."""
    s, mine = w.state[0], w.owners[owner]
    s.locked = True
    s.serving = owner
    mine.read_tick, mine.read_k, mine.transmissions = s.now, s.updates, 0
    note(w, QUERY_SENT, owner, mine.message, 0, NO_DETAIL)
    if instant(w, QUERY, owner):
        compute(w, generator, owner)
    else:
        push(w, drawn(w, generator, QUERY, owner), AT_QUERY_ARRIVES, QUERY, owner)


@step
def hear(w: Any, generator: Any, owner: int) -> None:
    """Let a query reach its owner."""
    note(w, QUERY_RECEIVED, owner, w.owners[owner].message, 0, NO_DETAIL)
    compute(w, generator, owner)


@step
def compute(w: Any, generator: Any, owner: int) -> None:
    """Begin a gradient."""
    if instant(w, COMPUTE, owner):
        release(w, generator, owner)
    else:
        push(w, drawn(w, generator, COMPUTE, owner), AT_GRADIENT_READY, COMPUTE, owner)


@step
def release(w: Any, generator: Any, owner: int) -> None:
    """Begin to send the answer, which is charged."""
    s, mine = w.state[0], w.owners[owner]
    mine.release_tick, mine.transmissions = s.now, 1
    note(w, ANSWER_RELEASED, owner, mine.message, 1, NO_DETAIL)
    s.released += 1
    mine.answers_left -= 1
    if mine.answers_left == 0:
        note(w, BUDGET_EXHAUSTED, owner, 0, 0, NO_DETAIL)
        mine.active = False
        if mine.awaited:
            mine.awaited = False
            s.awaited -= 1
    if instant(w, ANSWER, owner):
        apply(w, owner)
    else:
        push(w, drawn(w, generator, ANSWER, owner), AT_ANSWER_END, ANSWER, owner)


@step
def apply(w: Any, owner: int) -> None:
    """Take the answer that has arrived; the last of B makes one more update."""
    s, mine = w.state[0], w.owners[owner]
    note(w, ANSWER_DELIVERED, owner, mine.message, 1, NO_DETAIL)
    row = w.rows[s.n_rows]
    s.n_rows += 1
    fill(w, row, owner, s.now)
    row.outcome = APPLIED
    s.lacking -= 1
    if s.lacking == 0:
        s.lacking = s.per_update
        w.update_ticks[s.updates] = s.now
        s.updates += 1
        note(w, UPDATE_APPLIED, owner, mine.message, 0, NO_DETAIL)
        if s.updates == s.target:
            s.stopped = True
    if s.in_line > 0:
        s.in_line -= 1
        push(w, 0, AT_TURN, TURN, w.line[s.first_in_line])
        s.first_in_line = (s.first_in_line + 1) % len(w.line)
    else:
        s.locked = False
    s.serving = 0
    mine.busy = False
    finish(w)


@step
def fill(w: Any, row: Any, owner: int, end_tick: int) -> None:
    """Fill in the row of an owner's exchange that ends now."""
    s, mine = w.state[0], w.owners[owner]
    row.message, row.owner, row.peer = mine.message, owner, 0
    row.request_tick, row.read_tick, row.read_k = mine.asked, mine.read_tick, mine.read_k
    row.release_tick, row.end_tick, row.end_k = mine.release_tick, end_tick, s.updates
    row.transmissions = mine.transmissions


@step
def finish(w: Any) -> None:
    """Note that what a message began is over; end the run where nothing can follow."""
    s = w.state[0]
    s.pending -= 1
    if s.pending == 0 and s.awaited == 0:
        s.stopped = True


@step
def come_or_go(w: Any, generator: Any, owner: int) -> None:
    """Let an owner come online or leave, until its next change."""
    s, mine = w.state[0], w.owners[owner]
    s.presence_changes += 1
    if mine.away > 0:
        mine.away = 0
        mine.offline_ticks += s.now - mine.offline_since
        note(w, WENT_ONLINE, owner, 0, 0, NO_DETAIL)
        length = drawn(w, generator, ONLINE, owner)
    else:
        mine.away, mine.offline_since = 1, s.now
        note(w, WENT_OFFLINE, owner, 0, 0, NO_DETAIL)
        length = drawn(w, generator, OFFLINE, owner)
    push(w, length, AT_PRESENCE, PRESENCE, owner)


@step
def look(w: Any) -> None:
    """Look whether answers are still released: :func:`~asyncdp_sim.network.stall.watch`."""
    s = w.state[0]
    tried = s.messages - s.tried_before
    came = s.presence_changes - s.came_before
    if s.released != s.released_before:
        s.released_before, s.looks = s.released, 0
        s.tried_before += tried
        s.came_before += came
    elif tried >= s.most_tried or came >= s.most_came or (s.looks >= s.most_looks and came == 0):
        s.stalled = s.stopped = True
        return
    s.looks += 1
    push(w, s.look_period, AT_PRESENCE, WATCH, 0)
