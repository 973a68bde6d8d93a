"""Ends of exchanges: owner and learner are free, and perhaps an update is made."""

from typing import Any

from asyncdp_sim.kernel import Priority
from asyncdp_sim.network.compiled.steps.heap import push
from asyncdp_sim.network.compiled.steps.notes import NO_DETAIL, finish, note, note_exchange
from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.network.compiled.world import TURN
from asyncdp_sim.trace import EventKind

UPDATE_APPLIED = int(EventKind.update_applied)
AT_TURN = int(Priority.TURN)


@step
def give_up(s: Any, mine: Any, rows: Any, heap: Any, line: Any, owner: int) -> None:
    """End an exchange without an update."""
    note_exchange(s, mine, rows, owner, mine.outcome)
    end(s, mine, heap, line)


@step
def end(s: Any, mine: Any, heap: Any, line: Any) -> None:
    """Free the owner, and the learner unless it has freed itself."""
    mine.open = mine.busy = False
    if not mine.ended:
        unlock(s, heap, line)
    finish(s)


@step
def unlock(s: Any, heap: Any, line: Any) -> None:
    """Turn to the request that has waited longest, or be free."""
    if s.in_line > 0:
        s.in_line -= 1
        push(s, heap, 0, AT_TURN, TURN, line[s.first_in_line])
        s.first_in_line = (s.first_in_line + 1) % len(line)
    else:
        s.locked = False


@step
def update(s: Any, events: Any, update_ticks: Any, owner: int, message: int) -> None:
    """Make one more update of the answers that have come; the last of them came from owner."""
    s.lacking = s.per_update
    update_ticks[s.updates] = s.now
    s.updates += 1
    note(s, events, UPDATE_APPLIED, owner, message, 0, NO_DETAIL)
    if s.updates == s.target:
        s.stopped = True
