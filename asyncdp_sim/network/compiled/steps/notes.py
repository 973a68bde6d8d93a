"""Notes of the loop: events, exchanges that have ended, and attempts that are over."""

from typing import Any

from asyncdp_sim.network.compiled.steps.step import step
from asyncdp_sim.trace import Detail

NO_DETAIL = int(Detail.none)


@step
def note(
    s: Any, events: Any, kind: int, owner: int, message: int, attempt: int, detail: int
) -> None:
    """Note an event at this tick, where events are kept."""
    if s.keeps_events:
        row = events[s.n_events]
        row.tick, row.kind, row.owner = s.now, kind, owner
        row.message, row.attempt, row.detail = message, attempt, detail
        s.n_events += 1


@step
def note_exchange(s: Any, mine: Any, rows: Any, owner: int, outcome: int) -> None:
    """Note an owner's exchange, which ends now, or has when the learner gave it up."""
    row = rows[s.n_rows]
    s.n_rows += 1
    row.end_tick, row.end_k = s.now, s.updates
    if mine.ended:
        row.end_tick, row.end_k = mine.ended_tick, mine.ended_k
    row.message, row.owner, row.peer, row.outcome = mine.message, owner, 0, outcome
    row.request_tick, row.read_tick, row.read_k = mine.asked, mine.read_tick, mine.read_k
    row.release_tick, row.transmissions = mine.release_tick, mine.transmissions
    if mine.transmissions == 0:
        row.release_tick = row.end_tick


@step
def finish(s: Any) -> None:
    """Note that what a message began is over; end the run where nothing can follow."""
    s.pending -= 1
    if s.pending == 0 and s.awaited == 0:
        s.stopped = True
