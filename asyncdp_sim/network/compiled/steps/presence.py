"""Owners that come and go, each by itself or in groups; and the watch over all of them."""

from typing import Any

from asyncdp_sim.kernel import Priority
from asyncdp_sim.network.compiled.steps.heap import push
from asyncdp_sim.network.compiled.steps.notes import NO_DETAIL, note
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import GAP, LENGTH, WATCH
from asyncdp_sim.trace import EventKind

WENT_OFFLINE = int(EventKind.went_offline)
WENT_ONLINE = int(EventKind.went_online)
AT_PRESENCE = int(Priority.PRESENCE)


@step
def leave(s: Any, mine: Any, events: Any, owner: int) -> None:
    """Take one more reason to be offline."""
    mine.away += 1
    s.presence_changes += 1
    if mine.away == 1:
        mine.offline_since = s.now
        note(s, events, WENT_OFFLINE, owner, 0, 0, NO_DETAIL)


@step
def come(s: Any, mine: Any, events: Any, owner: int) -> None:
    """Take one reason to be offline away."""
    mine.away -= 1
    s.presence_changes += 1
    if mine.away == 0:
        mine.offline_ticks += s.now - mine.offline_since
        note(s, events, WENT_ONLINE, owner, 0, 0, NO_DETAIL)


@step
def look(s: Any, heap: Any) -> None:
    """Look whether answers are still released: :func:`~asyncdp_sim.network.stall.watch`."""
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
    push(s, heap, s.look_period, AT_PRESENCE, WATCH, 0)


@step
def together(w: Any, s: Any, what: int, group: int) -> int:
    """Let a group go dark, or come back."""
    for place in range(w.members.shape[1]):
        owner = w.members[group, place]
        if owner > 0 and what == GAP:
            leave(s, w.owners[owner], w.events, owner)
        elif owner > 0:
            come(s, w.owners[owner], w.events, owner)
    return LENGTH if what == GAP else GAP
