"""The heap of events, in the order of :mod:`asyncdp_sim.kernel`: tick, priority, insertion."""

from typing import Any

from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import ORDER
from asyncdp_sim.units import LAST_TICK


@step
def push(s: Any, heap: Any, ticks: int, priority: int, what: int, owner: int) -> None:
    """Let something happen so many ticks from now."""
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
def pop(s: Any, heap: Any) -> None:
    """Take the first event away."""
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
