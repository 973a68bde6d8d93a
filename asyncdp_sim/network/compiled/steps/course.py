"""The course of a run: its start, the next event, and what goes on after one."""

from typing import Any

import numpy as np

from asyncdp_sim.kernel import Priority
from asyncdp_sim.network.compiled.steps.heap import pop, push
from asyncdp_sim.network.compiled.steps.notes import finish
from asyncdp_sim.network.compiled.steps.presence import leave, look
from asyncdp_sim.network.compiled.steps.seeds import seed_all
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import (
    ANSWER,
    CLOCK,
    COMPUTE,
    GAP,
    LENGTH,
    OFFLINE,
    ONLINE,
    QUERY,
    REQUEST,
    REST,
    RETRY,
    ROOM_EACH,
    START,
)

_AT = {
    CLOCK: Priority.CLOCK_TICK,
    REQUEST: Priority.REQUEST_ARRIVES,
    QUERY: Priority.QUERY_ARRIVES,
    COMPUTE: Priority.GRADIENT_READY,
    ANSWER: Priority.ANSWER_END,
    RETRY: Priority.TRANSMISSION_BEGINS,
    ONLINE: Priority.PRESENCE,
    OFFLINE: Priority.PRESENCE,
    GAP: Priority.PRESENCE,
    LENGTH: Priority.PRESENCE,
}
PRIORITIES = np.array([int(_AT[stage]) for stage in range(len(_AT))])
"""Of the ends of stages."""


@step
def begin(w: Any) -> None:
    """Let owners be where they are at first, and follow them from there."""
    s = w.state[0]
    s.what, s.began = REST, START
    if not s.superposed:
        seed_all(w.draws, CLOCK, len(w.owners) - 1)  # each of their clocks begins with the run
    for owner in range(1, len(w.owners)):
        mine = w.owners[owner]
        if mine.away > 0:
            mine.away = 0
            leave(s, mine, w.events, owner)
        if s.alternates:
            stage = ONLINE if mine.away == 0 else OFFLINE
            push(s, w.heap, mine.next_change, PRIORITIES[stage], stage, owner)


@step
def starts(w: Any, s: Any) -> int:
    """Return the stages that begin with the run, of one after another; then watch."""
    groups = w.members.shape[0]
    place = s.started
    s.started += 1
    if place < groups:
        s.began, s.owner = START, place
        return GAP
    if s.superposed and place == groups:
        push(s, w.heap, w.crowd[0, 0], PRIORITIES[CLOCK], CLOCK, w.crowd[1, 0])
    elif not s.superposed and place - groups + 1 < len(w.owners):
        s.began, s.owner = START, place - groups + 1
        return CLOCK
    if s.look_period > 0:
        look(s, w.heap)
    return REST


@step
def goes_on(w: Any, s: Any) -> int:
    """Return which stage begins before the next event: that of a clock, or of a group at first."""
    began, s.began = s.began, REST
    if began == START:
        return starts(w, s)
    if began == CLOCK and s.superposed:
        following = w.crowd[0, s.crowd_at] - s.now
        push(s, w.heap, following, PRIORITIES[CLOCK], CLOCK, w.crowd[1, s.crowd_at])
    elif began == CLOCK and w.owners[s.owner].active:
        return CLOCK
    elif began == RETRY:
        finish(s)
    return REST


@step
def take_first(w: Any, s: Any) -> None:
    """Turn to the next event, if its clock still matters."""
    first = w.heap[0]
    s.now, s.order, s.owner = first.tick, first.order, first.owner
    s.what = s.began = first.what
    pop(s, w.heap)
    if s.what == CLOCK and s.superposed:
        pass_over(w, s)
    if s.what == CLOCK and not w.owners[s.owner].active:
        s.what = REST


@step
def pass_over(w: Any, s: Any) -> None:
    """Count the ticks of the one clock of all owners that are refused, until something else is due.

    While the learner is locked, refuses at once, and nobody is told.
    """
    while True:
        s.owner = w.crowd[1, s.crowd_at]
        s.crowd_at += 1
        if not (s.locked and s.refuses_unseen):
            return
        mine = w.owners[s.owner]
        if mine.active and not mine.busy:
            s.messages += 1
            mine.attempts += 1
            mine.refused += 1
        following = w.crowd[0, s.crowd_at]
        due = s.queued > 0 and w.heap[0].tick <= following
        if due or following >= s.horizon or s.crowd_at + 1 == w.crowd.shape[1]:
            s.what = REST
            return
        s.now = following


@step
def lacks_room(w: Any, s: Any) -> bool:
    """Whether a table may be too short for what happens next."""
    full = s.n_rows == len(w.rows) or s.updates == len(w.update_ticks)
    full |= s.queued + ROOM_EACH > len(w.heap)
    return bool(full or (s.keeps_events and s.n_events + s.most_noted > len(w.events)))
