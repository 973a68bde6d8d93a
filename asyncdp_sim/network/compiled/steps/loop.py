"""The event loop of protocol ``request`` on an ideal channel, as numba compiles it.

The same events in the same order as :mod:`asyncdp_sim.kernel` and the activities of owners and
learner give them, from the same numbers: same bits. What happens is told there; here each step says
what comes next, and the loop lets it happen: at once, or when its time by a law is over.
"""

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim import kernel, units
from asyncdp_sim.network.compiled import world
from asyncdp_sim.network.compiled.steps.asking import arrive, ask, ask_again, tick
from asyncdp_sim.network.compiled.steps.course import (
    PRIORITIES,
    begin,
    goes_on,
    lacks_room,
    take_first,
)
from asyncdp_sim.network.compiled.steps.draws import chance, drawn, is_instant
from asyncdp_sim.network.compiled.steps.ending import give_up
from asyncdp_sim.network.compiled.steps.heap import push
from asyncdp_sim.network.compiled.steps.patience import again, ring
from asyncdp_sim.network.compiled.steps.presence import come, leave, look, together
from asyncdp_sim.network.compiled.steps.serving import hear, land, send, serve
from asyncdp_sim.network.compiled.steps.step import entered, step
from asyncdp_sim.network.compiled.world import (
    AGAIN,
    ANSWER,
    ANSWER_LOST,
    ASK,
    ATTENDS,
    CLOCK,
    COMPUTE,
    DONE,
    GAP,
    GIVE_UP,
    LENGTH,
    NOT_YET,
    OFFLINE,
    ONLINE,
    QUERY,
    QUERY_LOST,
    REQUEST,
    REQUEST_LOST,
    REST,
    RETRY,
    ROOM,
    SEND,
    TICKS,
    TIMER,
    TURN,
)
from asyncdp_sim.streams import seeding
from asyncdp_sim.trace import vocabulary

_BY = {CLOCK: ATTENDS, ASK: REQUEST_LOST, QUERY: QUERY_LOST, ANSWER: ANSWER_LOST}
CHANCES = np.array([_BY.get(what, -1) for what in range(REST)])
"""Which chance is drawn when something happens; -1 is none."""


@step
def advance(w: Any, generator: Any) -> int:
    """Let events happen until the run is over (DONE), or a table lacks room (ROOM, TICKS)."""
    s, owners, heap, d = w.state[0], w.owners, w.heap, w.draws
    while True:
        # A step that there is room for now, or what goes on.
        following = s.what if s.what != REST else goes_on(w, s)
        if following == REST:
            if s.stopped or s.queued == 0 or heap[0].tick >= s.horizon:
                return DONE
            if heap[0].what == CLOCK and s.superposed and s.crowd_at + 1 == w.crowd.shape[1]:
                return TICKS
            take_first(w, s)
        if s.what != REST:
            if lacks_room(w, s):
                return ROOM
            chances = CHANCES[s.what]
            happens = chances >= 0 and chance(d, generator, chances, s.owner)
            following = happen(w, s, s.what, s.owner, happens)
        if following <= LENGTH and not is_instant(d, following, s.owner):
            wait = drawn(d, generator, following, s.owner)
            if following == CLOCK:
                wait += owners[s.owner].phase
                owners[s.owner].phase = 0
            push(s, heap, wait, PRIORITIES[following], following, s.owner)
            following = REST
        s.what = following


@step
def happen(w: Any, s: Any, what: int, owner: int, happens: bool) -> int:
    """Let something happen; return what comes next."""
    if what in (GAP, LENGTH):
        return together(w, s, what, owner)
    mine, events, heap = w.owners[owner], w.events, w.heap
    if what == CLOCK:
        return tick(s, mine, events, owner, happens)
    if what == ASK:
        return ask(s, mine, events, owner, happens)
    if what == REQUEST:
        return arrive(s, mine, events, w.line, owner)
    if what == TURN:
        return serve(s, mine, events, heap, owner)
    if what == QUERY:
        return hear(s, mine, events, owner, happens, not is_instant(w.draws, QUERY, owner))
    if what in (COMPUTE, SEND):
        return send(s, mine, events, owner)
    if what == ANSWER:
        return land(w, s, mine, owner, happens)
    if what == AGAIN:
        return again(s, mine, heap, w.rows, owner)
    if what == TIMER:
        return ring(s, mine, events, heap, w.line, owner)
    if what == RETRY:
        return ask_again(mine)
    if what == GIVE_UP:
        give_up(s, mine, w.rows, heap, w.line, owner)
    elif what == ONLINE:
        leave(s, mine, events, owner)
        return OFFLINE
    elif what == OFFLINE:
        come(s, mine, events, owner)
        return ONLINE
    else:
        look(s, heap)
    return REST


def _kept(sources: str) -> Any:
    """Return the loop; numba keeps it on the disk by what it encloses, a digest of all sources."""

    def run(w: Any, generator: Any) -> int:
        if w.state[0].began == NOT_YET and len(sources) > 0:
            begin(w)
        return advance(w, generator)

    return entered(run)


def sources() -> list[Path]:
    """Return the files of all that is compiled: numba looks at this one alone."""
    others = (kernel, seeding, units, vocabulary, world)
    return sorted([*Path(__file__).parent.glob("*.py"), *(Path(str(m.__file__)) for m in others)])


run = _kept(blake2b(b"".join(file.read_bytes() for file in sources())).hexdigest())
